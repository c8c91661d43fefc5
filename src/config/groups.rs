//! The options in groups. clap parses them into the structs from which the parts are built.
//!
//! The first paragraph of a field's documentation is its help text and its line in the manual's table of
//! options.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use log::LevelFilter;
use ureq::http::HeaderValue;

use super::checked::{checked, secret};
use super::fixed::{Time, time_setting};
use super::keys::{self, KeySetting, ModuleKeys};
use super::value::{
    SandboxMode, base_url, browser, cors_origin, database, duration, egress_proxy, listen, number,
    rate_limit, readable_file, suppress_key, user_agent,
};
use crate::account::plan::{DEFAULT_PLANS, PlanTable};
use crate::base::address::is_loopback;
use crate::base::certificates::{Authorities, read_certificates};
use crate::base::log::LogFormat;
use crate::base::secret::Secret;
use crate::http::Network;
use crate::model::quota::Policy;
use crate::net::OutboundProxy;
use crate::net::browser::{BrowserSource, EgressProxyAddress};
use crate::net::config::USER_AGENT;
use crate::store::DatabaseUrl;

/// The options of the HTTP server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub struct ServerConfig {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", value_parser = checked(listen))]
    pub listen: SocketAddr,
    /// Address and port for metrics, liveness and readiness, which need no key: keep it private; off by
    /// default
    #[arg(long, value_name = "ADDRESS", value_parser = checked(listen))]
    pub admin_listen: Option<SocketAddr>,
    /// Address that clients use, with its path; appears in the capabilities, the OpenAPI document, its pages
    /// and `Location`; by default the listening address
    #[arg(long, value_name = "URL", value_parser = checked(base_url))]
    pub base_url: Option<String>,
    /// Streams and waiting requests at once; more get status 503
    #[arg(long, value_name = "N", default_value = "2000", value_parser = checked(number(1_usize, 12_000)))]
    pub max_streams: usize,
    /// Searches that run at once; more wait, and accounts take turns
    #[arg(long, value_name = "N", default_value = "64", value_parser = checked(number(1_usize, 4096)))]
    pub max_runs: usize,
    /// Longest time that a shutdown takes: answers are finished, searches are released for the next start
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = checked(duration("0s", "1h")))]
    pub drain_timeout: Duration,
    /// Origin of web pages that may call the API (repeatable; variable: separated by commas; * for all)
    #[arg(long = "cors-origin", value_name = "ORIGIN", value_delimiter = ',')]
    #[arg(value_parser = checked(cors_origin))]
    pub cors_origins: Vec<String>,
    /// Address or network of a reverse proxy whose X-Forwarded-For is trusted (repeatable; variable:
    /// separated by commas)
    #[arg(long = "trusted-proxy", value_name = "NETWORK")]
    #[arg(value_delimiter = ',', value_parser = checked(str::parse::<Network>))]
    pub trusted_proxies: Vec<Network>,
    /// Listen on an address that other machines can reach although no reverse proxy is named: without one,
    /// some requests can use up memory and connections
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub without_proxy: bool,
    /// Requests per minute and account
    #[arg(long, value_name = "TABLE", value_delimiter = ',')]
    #[arg(default_value = "search=30,stream=60,read=120", value_parser = checked(rate_limit))]
    pub rate_limits: Vec<(Policy, u32)>,
}

impl ServerConfig {
    /// Returns the address that clients use. `bound` is the address at which the server listens.
    pub fn base_url_at(&self, bound: SocketAddr) -> String {
        match &self.base_url {
            Some(url) => url.clone(),
            // Clients cannot connect to the unspecified address.
            None if bound.ip().is_unspecified() => format!("http://localhost:{}", bound.port()),
            None => format!("http://{bound}"),
        }
    }
}

/// The options of the storage.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Storage")]
pub struct StorageConfig {
    /// sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/NAME (TLS with ?sslmode=require or verify-full), or
    /// @FILE for a file that contains one of these
    #[arg(long, value_name = "URL", default_value = "sqlite:data/sightline.db")]
    #[arg(value_parser = secret(database))]
    pub database: DatabaseUrl,
}

/// The modules that are loaded.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Catalogue")]
pub struct CatalogConfig {
    /// File with more modules, in Sightline's own format or a list of WhatsMyName, Sherlock or Maigret
    /// (repeatable; variable: separated by colons)
    #[arg(id = "catalog_files", long = "catalog", value_name = "FILE")]
    #[arg(value_delimiter = ':', value_parser = checked(readable_file))]
    pub files: Vec<PathBuf>,
    /// Omit the built-in modules
    #[arg(long, value_parser = BoolishValueParser::new(), requires_if("true", "catalog_files"))]
    pub no_builtin: bool,
}

/// The options of runs, checks and outgoing requests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Searches")]
pub struct EngineConfig {
    /// Search a simulated web, without outgoing requests: `realistic` (also without a value) has the delays
    /// and faults of the real one, `perfect` has neither
    #[arg(long, value_name = "WEB", default_value = "off")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "realistic")]
    #[arg(ignore_case = true, hide_possible_values = true)]
    pub sandbox: SandboxMode,
    /// Also use modules that touch a sign-in page (never with a password)
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub discovery: bool,
    /// Let checks reach private and loopback addresses: for labs only
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub allow_private_targets: bool,
    /// Threads that run checks, shared by all searches
    #[arg(long, value_name = "N", default_value = "512", value_parser = checked(number(1_usize, 4096)))]
    pub check_workers: usize,
    /// Most checks at once that ask one host, over all searches; it starts with 2, more are used while the
    /// host answers well
    #[arg(long, value_name = "N", default_value = "10", value_parser = checked(number(1_usize, 64)))]
    pub host_concurrency: usize,
    /// Longest time for one check; the control check of a hit gets at least 3s
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    #[arg(value_parser = checked(duration("100ms", "10m")))]
    pub check_timeout: Duration,
    /// Longest time for a search from its first start, including restarts; the remaining modules then end as
    /// timeout
    #[arg(long, value_name = "DURATION", default_value = "120s")]
    #[arg(value_parser = checked(duration("100ms", "1h")))]
    pub run_timeout: Duration,
    /// User-Agent of outgoing requests
    #[arg(long, value_name = "TEXT", default_value = USER_AGENT, value_parser = checked(user_agent))]
    pub user_agent: HeaderValue,
    /// Proxy for outgoing requests.
    #[arg(
        help = "Proxy for outgoing requests: http:// or socks5://[USER:PASSWORD@]HOST:PORT, or httph:// or \
                  socks5h:// if the proxy resolves names"
    )]
    #[arg(long, value_name = "URL", value_parser = secret(str::parse::<OutboundProxy>))]
    pub outbound_proxy: Option<OutboundProxy>,
    /// PEM file of certificate authorities to trust for outgoing requests, in addition to the built-in ones
    #[arg(id = "ca_file", long = "ca-file", value_name = "FILE")]
    #[arg(value_parser = checked(|file: &str| read_certificates(file)))]
    pub authorities: Option<Authorities>,
    /// Key that modules need (repeatable; variable: SIGHTLINE_KEY_NAME, which other users of the machine
    /// cannot see)
    #[arg(id = "module_keys", long = "key", value_name = "NAME=VALUE", value_parser = secret(keys::setting))]
    pub key_settings: Vec<KeySetting>,
    /// The keys of modules, from flags and variables.
    #[arg(skip)]
    pub keys: ModuleKeys,
    /// Times that only tests set
    #[arg(long, hide = true, value_delimiter = ',', value_parser = checked(time_setting))]
    times: Vec<(String, Duration)>,
    /// The browsers for premium searches.
    #[command(flatten)]
    pub browsers: BrowserSettings,
    /// The modules that are loaded.
    #[command(flatten)]
    pub catalog: CatalogConfig,
}

impl EngineConfig {
    /// Returns a time that is fixed, except in tests.
    pub fn time(&self, Time(name, seconds): Time) -> Duration {
        let set = self.times.iter().rev().find(|(of, _)| of == name);
        set.map_or(Duration::from_secs(seconds), |(_, duration)| *duration)
    }

    /// Sets a time that is fixed in servers.
    pub fn set_time(&mut self, Time(name, _): Time, duration: Duration) {
        self.times.push((name.to_owned(), duration));
    }

    /// Takes the module keys from `environment` (all variables of the process), then checks the options that
    /// depend on each other. Call this once after parsing.
    ///
    /// # Errors
    /// Fails if options contradict each other, or if the variable of a module key has no valid key.
    pub fn check(
        &mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), String> {
        self.keys = keys::collect(&self.key_settings, environment)?;
        if self.check_timeout > self.run_timeout {
            return Err(format!(
                "--check-timeout {:?} is longer than --run-timeout {:?}: expected at most that",
                self.check_timeout, self.run_timeout
            ));
        }
        let BrowserSettings { browser, browser_guard, .. } = &self.browsers;
        let is_elsewhere = matches!(browser, Some(BrowserSource::At(url)) if !is_loopback(url));
        if browser_guard.is_none() && is_elsewhere {
            return Err(
                "--browser names another machine: its pages reach the web through the egress proxy here, so \
                        --browser-guard IP:PORT is needed, an address of this machine that it can connect to"
                    .to_owned(),
            );
        }
        Ok(())
    }
}

/// The browser for premium searches and PDFs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Browser")]
pub struct BrowserSettings {
    /// Chromium for premium searches and PDFs: `auto` starts the one in the PATH, a path starts that program,
    /// http://HOST:PORT is one that runs with --remote-debugging-port
    #[arg(long, value_name = "BROWSER", value_parser = checked(browser))]
    pub browser: Option<BrowserSource>,
    /// Pages that the browser has open at once; each takes about 100 MB
    #[arg(long, value_name = "N", default_value = "2", value_parser = checked(number(1_usize, 64)))]
    pub browser_sessions: usize,
    /// Address of the egress proxy, which keeps pages from private addresses; by default free loopback
    /// ports. For a browser on another machine: IP:PORT (each further page takes the next port), followed by
    /// =HOST if it reaches it by another name
    #[arg(long, value_name = "ADDRESS", value_parser = checked(egress_proxy))]
    pub browser_guard: Option<EgressProxyAddress>,
}

/// The options of accounts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Accounts")]
pub struct AccountConfig {
    /// The limits of each plan.
    #[arg(help = "Plans: NAME=CREDITS[:api][:premium], separated by commas; CREDITS a month, or unlimited")]
    #[arg(long, value_name = "TABLE", default_value = DEFAULT_PLANS)]
    #[arg(value_parser = checked(|text: &str| text.parse::<PlanTable>()))]
    pub plans: PlanTable,
}

/// The identifiers that are never searched.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Privacy")]
pub struct SuppressionConfig {
    /// File with hashes of identifiers that are never searched, as `sightline suppress hash` writes them; a
    /// server reads it again when it changes
    #[arg(id = "suppress_file", long = "suppress", value_name = "FILE")]
    #[arg(value_parser = checked(readable_file))]
    pub file: Option<PathBuf>,
    /// Key of these hashes
    #[arg(long, value_name = "KEY", value_parser = secret(suppress_key))]
    pub suppress_key: Option<Secret<String>>,
}

/// The options of the log on standard error.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub struct LogConfig {
    /// Lowest level of log lines: off, error, warn, info, debug or trace
    #[arg(id = "log_level", long = "log-level", value_name = "LEVEL")]
    #[arg(default_value = "info", value_parser = checked(log_level))]
    pub level: LevelFilter,
    /// Format of log lines: text or json
    #[arg(id = "log_format", long = "log-format", value_name = "FORMAT")]
    #[arg(default_value = "text", hide_possible_values = true)]
    pub format: LogFormat,
}

fn log_level(text: &str) -> Result<LevelFilter, &'static str> {
    text.parse().map_err(|_| "expected off, error, warn, info, debug or trace")
}
