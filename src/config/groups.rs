//! The options, group by group: what clap reads is what the parts are built from.
//!
//! The first paragraph of a field's doc is its help text and its line in the README's table.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use log::LevelFilter;

use super::browsers::BrowserSettings;
use super::checked::{checked, secret};
use super::keys::{self, KeySetting, ModuleKeys};
use super::value::{self, DatabaseAddress};
use crate::account::plan::PlanTable;
use crate::base::log::LogFormat;
use crate::base::secret::Secret;
use crate::http::Network;

const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; Sightline/", env!("CARGO_PKG_VERSION"), ")");

/// Sockets in.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerConfig {
    /// Address and port to listen on; port 0 takes a free one; a socket that a service manager hands over
    /// (LISTEN_FDS) is taken instead
    #[arg(long, env = "SIGHTLINE_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    #[arg(value_parser = checked(value::listen))]
    pub listen: SocketAddr,
    /// Address and port for metrics, liveness and readiness, which ask for no key: keep it private; off by
    /// default
    #[arg(long, env = "SIGHTLINE_ADMIN_LISTEN", value_name = "ADDRESS", value_parser = checked(value::listen))]
    pub admin_listen: Option<SocketAddr>,
    /// Address that clients use: what the capabilities, the OpenAPI document and its pages name; by default the one that
    /// is listened on
    #[arg(long, env = "SIGHTLINE_BASE_URL", value_name = "URL", value_parser = checked(value::base_url))]
    pub base_url: Option<String>,
    /// Threads that answer requests
    #[arg(long, env = "SIGHTLINE_REQUEST_WORKERS", value_name = "N", default_value = "16")]
    #[arg(value_parser = checked(value::number(1, 1024)))]
    pub request_workers: usize,
    /// Streams and waiting requests at once; more are answered 503
    #[arg(long, env = "SIGHTLINE_MAX_STREAMS", value_name = "N", default_value = "2000")]
    #[arg(value_parser = checked(value::number(1, 12_000)))]
    pub max_streams: usize,
    /// Searches under way at once; more wait their turn
    #[arg(long, env = "SIGHTLINE_MAX_RUNS", value_name = "N", default_value = "64")]
    #[arg(value_parser = checked(value::number(1, 4096)))]
    pub max_runs: usize,
    /// After this time the searches of an instance that is gone are continued by another one on the same
    /// database
    #[arg(long, env = "SIGHTLINE_LEASE", value_name = "DURATION", default_value = "20s")]
    #[arg(value_parser = checked(value::duration("5s", "10m")))]
    pub lease: Duration,
    /// The longest that a request with wait=true is kept waiting
    #[arg(long, env = "SIGHTLINE_WAIT_TIMEOUT", value_name = "DURATION", default_value = "30s")]
    #[arg(value_parser = checked(value::duration("100ms", "10m")))]
    pub wait_timeout: Duration,
    /// After this time a stream ends with a reconnect frame
    #[arg(long, env = "SIGHTLINE_STREAM_TIMEOUT", value_name = "DURATION", default_value = "180s")]
    #[arg(value_parser = checked(value::duration("100ms", "1d")))]
    pub stream_timeout: Duration,
    /// A stream that has nothing to say for this long gets a comment, so that no proxy takes it for dead
    #[arg(long, env = "SIGHTLINE_KEEP_ALIVE", value_name = "DURATION", default_value = "15s")]
    #[arg(value_parser = checked(value::duration("10ms", "10m")))]
    pub keep_alive: Duration,
    /// The longest that a shutdown takes: answers are finished, searches let go of for the next start
    #[arg(long, env = "SIGHTLINE_DRAIN_TIMEOUT", value_name = "DURATION", default_value = "10s")]
    #[arg(value_parser = checked(value::duration("0s", "1h")))]
    pub drain_timeout: Duration,
    /// Origin of web pages that may call the API (repeatable; variable: separated by commas; * for all)
    #[arg(long = "cors-origin", env = "SIGHTLINE_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    #[arg(value_parser = checked(value::cors_origin))]
    pub cors_origins: Vec<String>,
    /// Address or network of a reverse proxy whose X-Forwarded-For is believed (repeatable; variable:
    /// separated by commas)
    #[arg(long = "trusted-proxy", env = "SIGHTLINE_TRUSTED_PROXY", value_name = "NETWORK")]
    #[arg(value_delimiter = ',', value_parser = checked(value::network))]
    pub trusted_proxies: Vec<Network>,
}

impl ServerConfig {
    /// The address that clients use, once it is known where the server listens.
    pub fn base_url_at(&self, bound: SocketAddr) -> String {
        match &self.base_url {
            Some(url) => url.clone(),
            // "All addresses" is nothing that a client could connect to.
            None if bound.ip().is_unspecified() => format!("http://localhost:{}", bound.port()),
            None => format!("http://{bound}"),
        }
    }
}

/// Where the data is kept.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Storage")]
pub struct StorageConfig {
    /// sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME (TLS by ?sslmode=require or verify-full), or
    /// @FILE, a file that holds it
    #[arg(long, env = "SIGHTLINE_DATABASE", value_name = "URL", default_value = "sqlite:data/sightline.db")]
    #[arg(value_parser = secret(value::database))]
    pub database: DatabaseAddress,
}

/// Which modules are loaded.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Catalogue")]
pub struct CatalogConfig {
    /// File with more modules, in Sightline's own format or a list of WhatsMyName, Sherlock or Maigret
    /// (repeatable; variable: separated by colons)
    #[arg(
        id = "catalog_files",
        long = "catalog",
        env = "SIGHTLINE_CATALOG",
        value_name = "FILE",
        value_delimiter = ':'
    )]
    #[arg(value_parser = checked(value::readable_file))]
    pub files: Vec<PathBuf>,
    /// Leave out the built-in modules
    #[arg(long, env = "SIGHTLINE_NO_BUILTIN", value_parser = checked(value::switch))]
    pub no_builtin: bool,
}

/// Whether and how the web is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// The real web is asked.
    Off,
    /// Delays and faults as on the real web.
    Realistic,
    /// Every site answers as its module expects, at once.
    Perfect,
}

/// The runs and checks, and sockets out.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Searches")]
pub struct EngineConfig {
    /// Which modules are loaded.
    #[command(flatten)]
    pub catalog: CatalogConfig,
    /// Answer from a simulated web, nothing outside is asked: `realistic` (also without a value) has delays
    /// and faults as the real one, `perfect` has neither
    #[arg(long, env = "SIGHTLINE_SANDBOX", value_name = "WEB", default_value = "off")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "realistic")]
    #[arg(help_heading = "Searches", value_parser = checked(value::sandbox))]
    pub sandbox: SandboxMode,
    /// Use modules that touch a sign-in page too (never with a password)
    #[arg(long, env = "SIGHTLINE_DISCOVERY", value_parser = checked(value::switch))]
    #[arg(help_heading = "Searches")]
    pub discovery: bool,
    /// Let checks reach private and loopback addresses: for labs only
    #[arg(long, env = "SIGHTLINE_ALLOW_PRIVATE_TARGETS", value_parser = checked(value::switch))]
    #[arg(help_heading = "Searches")]
    pub allow_private_targets: bool,
    /// Threads that run checks, shared by all searches
    #[arg(long, env = "SIGHTLINE_CHECK_WORKERS", value_name = "N", default_value = "512")]
    #[arg(help_heading = "Searches", value_parser = checked(value::number(1, 4096)))]
    pub check_workers: usize,
    /// The longest that one check may take; the control check of a hit is given 3s beyond it where less is left
    #[arg(long, env = "SIGHTLINE_CHECK_TIMEOUT", value_name = "DURATION", default_value = "10s")]
    #[arg(help_heading = "Searches", value_parser = checked(value::duration("100ms", "10m")))]
    pub check_timeout: Duration,
    /// The longest that a search may take; modules that are left then end as timeout
    #[arg(long, env = "SIGHTLINE_RUN_TIMEOUT", value_name = "DURATION", default_value = "120s")]
    #[arg(help_heading = "Searches", value_parser = checked(value::duration("100ms", "1h")))]
    pub run_timeout: Duration,
    /// How long the verdict of a control check holds
    #[arg(long, env = "SIGHTLINE_CONTROL_TTL", value_name = "DURATION", default_value = "1h")]
    #[arg(help_heading = "Searches", value_parser = checked(value::duration("0s", "30d")))]
    pub control_ttl: Duration,
    /// User-Agent of outgoing requests
    #[arg(long, env = "SIGHTLINE_USER_AGENT", value_name = "TEXT", default_value = USER_AGENT)]
    #[arg(help_heading = "Searches", value_parser = checked(value::user_agent))]
    pub user_agent: String,
    /// Proxy for outgoing requests.
    #[arg(help = "Proxy for outgoing requests: http:// or socks5://[USER:PASSWORD@]HOST:PORT")]
    #[arg(long, env = "SIGHTLINE_OUTBOUND_PROXY", value_name = "URL")]
    #[arg(help_heading = "Searches", value_parser = secret(value::outbound_proxy))]
    pub outbound_proxy: Option<Secret<String>>,
    /// Key that modules need (repeatable; variable: SIGHTLINE_KEY_NAME, which other users of the machine
    /// cannot see)
    #[arg(id = "module_keys", long = "key", value_name = "NAME=VALUE", value_parser = secret(keys::setting))]
    #[arg(help_heading = "Searches")]
    key_settings: Vec<KeySetting>,
    /// Keys of modules, from both sources.
    #[arg(skip)]
    pub keys: ModuleKeys,
    /// Browsers, for premium searches.
    #[command(flatten)]
    pub browsers: BrowserSettings,
}

impl EngineConfig {
    /// The names of the keys that the command line gives, in lower case.
    pub fn key_flags(&self) -> impl Iterator<Item = &str> {
        self.key_settings.iter().map(|key| key.name.as_str())
    }

    /// Adds the keys of the environment to those of the command line.
    pub(super) fn collect_keys(
        &mut self,
        environment: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
    ) -> Result<(), super::ConfigError> {
        self.keys = keys::collect(&self.key_settings, environment)?;
        Ok(())
    }
}

/// Who may do how much.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Accounts")]
pub struct AccountConfig {
    /// What each plan gives.
    #[arg(help = "Plans: NAME=CREDITS[:api][:premium], separated by commas; CREDITS a month, or unlimited")]
    #[arg(long, env = "SIGHTLINE_PLANS", value_name = "TABLE", default_value_t)]
    #[arg(value_parser = checked(|text: &str| text.parse::<PlanTable>().map_err(|error| error.to_string())))]
    pub plans: PlanTable,
}

/// What is never searched.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Privacy")]
pub struct SuppressionConfig {
    /// File with hashes of identifiers that are never searched, as `sightline suppress hash` writes them; a
    /// server reads it again when it changes
    #[arg(id = "suppress_file", long = "suppress", env = "SIGHTLINE_SUPPRESS", value_name = "FILE")]
    #[arg(help_heading = "Privacy", value_parser = checked(value::suppress_file))]
    pub file: Option<PathBuf>,
    /// Key of these hashes
    #[arg(long, env = "SIGHTLINE_SUPPRESS_KEY", value_name = "KEY")]
    #[arg(help_heading = "Privacy", value_parser = secret(value::suppress_key))]
    pub suppress_key: Option<Secret<String>>,
}

/// How long what is found is kept, and what is never searched.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Privacy")]
pub struct PrivacyConfig {
    /// Days after its end that a search is kept; its query and results are removed then, its charge stays
    /// booked; 0 keeps searches for ever
    #[arg(long, env = "SIGHTLINE_RETAIN_DAYS", value_name = "DAYS", default_value = "90")]
    #[arg(value_parser = checked(value::days))]
    pub retain_days: u32,
    /// What is never searched.
    #[command(flatten)]
    pub suppression: SuppressionConfig,
}

/// The web app.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Web app")]
pub struct WebAppConfig {
    /// A session of the web app ends when it was not used for this long
    #[arg(long, env = "SIGHTLINE_SESSION_IDLE", value_name = "DURATION", default_value = "14d")]
    #[arg(value_parser = checked(value::duration("1s", "365d")))]
    pub session_idle: Duration,
    /// A session of the web app ends after this time in any case
    #[arg(long, env = "SIGHTLINE_SESSION_LONGEST", value_name = "DURATION", default_value = "90d")]
    #[arg(value_parser = checked(value::duration("1s", "365d")))]
    pub session_longest: Duration,
}

/// Requests a minute and account.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rate limits")]
pub struct RateLimitConfig {
    /// Searches a minute and account
    #[arg(
        id = "rate_limit_search",
        long = "rate-limit-search",
        env = "SIGHTLINE_RATE_LIMIT_SEARCH",
        value_name = "N"
    )]
    #[arg(default_value = "30", value_parser = checked(value::per_minute))]
    pub search: u32,
    /// Streams a minute and account
    #[arg(
        id = "rate_limit_stream",
        long = "rate-limit-stream",
        env = "SIGHTLINE_RATE_LIMIT_STREAM",
        value_name = "N"
    )]
    #[arg(default_value = "60", value_parser = checked(value::per_minute))]
    pub stream: u32,
    /// Reads a minute and account
    #[arg(
        id = "rate_limit_read",
        long = "rate-limit-read",
        env = "SIGHTLINE_RATE_LIMIT_READ",
        value_name = "N"
    )]
    #[arg(default_value = "120", value_parser = checked(value::per_minute))]
    pub read: u32,
}

/// The log, on standard error.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub struct LogConfig {
    /// Log lines of this level and above: off, error, warn, info, debug or trace
    #[arg(
        id = "log_level",
        long = "log-level",
        env = "SIGHTLINE_LOG_LEVEL",
        value_name = "LEVEL",
        default_value = "info"
    )]
    #[arg(value_parser = checked(log_level))]
    pub level: LevelFilter,
    /// How a log line is written: text or json
    #[arg(
        id = "log_format",
        long = "log-format",
        env = "SIGHTLINE_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text"
    )]
    #[arg(value_parser = checked(log_format))]
    pub format: LogFormat,
}

fn log_level(text: &str) -> Result<LevelFilter, String> {
    text.parse().map_err(|_| "off, error, warn, info, debug or trace is allowed".to_owned())
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("text or json is allowed".to_owned()),
    }
}
