//! Configuration: flags and `SIGHTLINE_*` environment variables, typed and checked.
//!
//! Each option has a flag, a variable and a documented default; a flag overrules its variable; an empty
//! variable counts as not set. A bad value is refused with the option's name and what is allowed, and is
//! repeated unless it is a secret. Plain data: the composition root turns it into parts.
//!
//! | file | holds |
//! |---|---|
//! | `groups` | the options, one struct a group |
//! | `browsers` | the options of browsers |
//! | `value` | kinds of values: what each allows |
//! | `keys` | keys that modules need |
//! | `checked` | the refusal's wording, for clap |
//!
//! To add an option: a field in `groups`, a line in `tests/cli.rs`' table of refusals; the README's table
//! is held against the fields by a test there.

mod browsers;
mod checked;
mod groups;
mod keys;
mod value;

use std::ffi::{OsStr, OsString};
use std::fmt;

use clap::builder::TypedValueParser;
use clap::{Args, Command, FromArgMatches};

pub use browsers::{BrowserSettings, GuardSetting, WebdriverSetting};
pub(crate) use checked::checked;
pub(crate) use checked::secret;
pub use groups::{
    AccountConfig, CatalogConfig, EngineConfig, LogConfig, PrivacyConfig, RateLimitConfig, SandboxMode,
    ServerConfig, StorageConfig, SuppressionConfig, WebAppConfig,
};
pub use keys::{KeySetting, ModuleKeys, VARIABLE_PREFIX};
pub use value::DatabaseAddress;
pub(crate) use value::{readable_file, suppress_key};

/// Options that do not fit together, or a module key's variable that holds no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(String);

impl ConfigError {
    fn new(message: String) -> Self {
        Self(message)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// Everything that `serve` can be told.
#[derive(Debug, Clone, Args)]
pub struct ServeConfig {
    /// Sockets in.
    #[command(flatten)]
    pub server: ServerConfig,
    /// Where the data is kept.
    #[command(flatten)]
    pub storage: StorageConfig,
    /// Runs, checks, sockets out.
    #[command(flatten)]
    pub engine: EngineConfig,
    /// Who may do how much.
    #[command(flatten)]
    pub accounts: AccountConfig,
    /// How long what is found is kept, and what is never searched.
    #[command(flatten)]
    pub privacy: PrivacyConfig,
    /// The web app.
    #[command(flatten)]
    pub web: WebAppConfig,
    /// Requests a minute.
    #[command(flatten)]
    pub rate_limits: RateLimitConfig,
    /// The log.
    #[command(flatten)]
    pub log: LogConfig,
}

impl ServeConfig {
    /// Reads flags (without a program's name) and defaults, and no environment: for tests and tools.
    ///
    /// # Errors
    /// As on the command line.
    pub fn from_flags<T: Into<OsString> + Clone>(
        flags: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let command = ServeConfig::augment_args(Command::new("serve").no_binary_name(true))
            .mut_args(|arg| arg.env(None::<&str>));
        let mut config = Self::from_arg_matches(&command.try_get_matches_from(flags)?)?;
        config
            .engine
            .check([])
            .map_err(|error| clap::Error::raw(clap::error::ErrorKind::ValueValidation, error))?;
        Ok(config)
    }
}

impl EngineConfig {
    /// Takes the module keys of `environment` (all variables of the process), then checks what no
    /// option shows alone. To be called once, after parsing.
    ///
    /// # Errors
    /// Options that do not fit together, or a variable that holds no key.
    pub fn check(
        &mut self,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), ConfigError> {
        self.collect_keys(environment)?;
        if self.check_timeout > self.run_timeout {
            return Err(ConfigError(format!(
                "--check-timeout {} is longer than --run-timeout {}: at most the same is allowed",
                value::show_duration(self.check_timeout),
                value::show_duration(self.run_timeout)
            )));
        }
        self.browsers.check()?;
        self.catalog.check()
    }
}

impl CatalogConfig {
    /// Checks what no option shows alone.
    ///
    /// # Errors
    /// Nothing would be loaded.
    pub fn check(&self) -> Result<(), ConfigError> {
        if self.no_builtin && self.files.is_empty() {
            return Err(ConfigError(
                "--no-builtin leaves no modules: it is allowed together with --catalog FILE".to_owned(),
            ));
        }
        Ok(())
    }
}

/// `command` and all below it with what every option has in common: an empty variable counts as not set,
/// and no help text shows a variable's value.
pub fn with_environment(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let variable = arg.get_env().map(OsStr::to_owned);
            let is_empty = variable.and_then(std::env::var_os).is_some_and(|value| value.is_empty());
            let arg = arg.hide_env_values(true);
            if is_empty { arg.env(None::<&str>) } else { arg }
        })
        .mut_subcommands(with_environment)
}

/// For an option that holds a database's address: never repeated in a refusal.
pub(crate) fn database_option() -> impl TypedValueParser<Value = DatabaseAddress> {
    secret(value::database)
}

/// For an option that holds the address that clients use.
pub(crate) fn base_url_option() -> impl TypedValueParser<Value = String> {
    checked(value::base_url)
}

/// Variables of the process that begin like ours and belong to no option of `command`: misspelt ones,
/// most likely. Names only.
pub fn unknown_variables(command: &Command) -> Vec<String> {
    let mut known = Vec::new();
    collect_variables(command, &mut known);
    let mut unknown: Vec<String> = std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("SIGHTLINE_") && !name.starts_with(VARIABLE_PREFIX))
        // The tests' own: they stand in the environment of the servers that tests start.
        .filter(|name| !name.starts_with("SIGHTLINE_TEST_"))
        // Those of the clients in scripts/examples, which may be run from the same shell.
        .filter(|name| !["SIGHTLINE_URL", "SIGHTLINE_API_KEY"].contains(&name.as_str()))
        .filter(|name| !known.contains(name))
        .collect();
    unknown.sort();
    unknown
}

fn collect_variables(command: &Command, known: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str().map(str::to_owned));
    known.extend(variables);
    command.get_subcommands().for_each(|command| collect_variables(command, known));
}

#[cfg(test)]
mod tests;
