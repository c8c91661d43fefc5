//! The configuration: flags and `SIGHTLINE_*` environment variables, typed and checked.
//!
//! Each option has a flag, a variable and a documented default. A flag overrules its variable. An empty
//! variable counts as not set. The message for a bad value names the option and what was expected, and repeats
//! the value unless it is a secret. The structs are plain data: [`crate::app`] builds the parts from them.
//!
//! | file | holds |
//! |---|---|
//! | `groups` | the options, one struct for each group |
//! | `value` | parsers for kinds of values |
//! | `keys` | keys that modules need |
//! | `checked` | value parsers for clap with our error messages |
//! | `fixed` | times that only tests set, and options that are gone |
//!
//! To add an option: add a field in `groups`, a line to the refused values in `tests.rs`, and its row in the
//! table of `src/manual/configuration.md`. A test compares that table with the fields.

mod checked;
mod fixed;
mod groups;
mod keys;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Arg, Args, Command, FromArgMatches};

use crate::base::signature::PublicKey;
pub(crate) use checked::{checked, secret};
pub use fixed::Time;
pub(crate) use fixed::gone;
pub use groups::{
    AccountConfig, BrowserSettings, CatalogConfig, EngineConfig, LogConfig, ServerConfig, StorageConfig,
    SuppressionConfig,
};
pub use keys::{KeySetting, ModuleKeys, VARIABLE_PREFIX};
pub use value::{FeedSource, SandboxMode};
pub(crate) use value::{base_url, duration, readable_file, suppress_key};
use value::{feed_source, number};

/// All options of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeConfig {
    /// The HTTP server.
    #[command(flatten)]
    pub server: ServerConfig,
    /// The options of the storage.
    #[command(flatten)]
    pub storage: StorageConfig,
    /// File with the key that encrypts the secrets of webhooks, 32 random bytes in Base64; the same for all instances;
    /// with SQLite, a key beside the database is created by default
    #[arg(long, value_name = "FILE", help_heading = "Webhooks", value_parser = checked(readable_file))]
    pub secret_key_file: Option<PathBuf>,
    /// Runs, checks and outgoing requests.
    #[command(flatten)]
    pub engine: EngineConfig,
    /// Signed catalogue that is fetched at the start and daily: an address or a file, as `catalog sign` writes
    /// it; needs --catalog-key
    #[arg(long, value_name = "SOURCE", help_heading = "Catalogue", requires = "catalog_keys")]
    #[arg(value_parser = checked(feed_source))]
    pub catalog_feed: Option<FeedSource>,
    /// Public key that signs the feed, as `catalog sign` prints it (repeatable; variable: separated by commas)
    #[arg(long = "catalog-key", value_name = "KEY", help_heading = "Catalogue")]
    #[arg(value_delimiter = ',', value_parser = secret(PublicKey::parse))]
    pub catalog_keys: Vec<PublicKey>,
    /// Plans.
    #[command(flatten)]
    pub accounts: AccountConfig,
    /// Days after its end that a search is kept; then its query and results are removed and its charge stays
    /// booked; 0 keeps searches without limit
    #[arg(long, value_name = "DAYS", default_value = "90")]
    #[arg(help_heading = "Privacy", value_parser = checked(number(0_u32, 36_500)))]
    pub retain_days: u32,
    /// The identifiers that are never searched.
    #[command(flatten)]
    pub suppression: SuppressionConfig,
    /// The log.
    #[command(flatten)]
    pub log: LogConfig,
}

impl ServeConfig {
    /// Parses flags, without a program name, over the defaults. Ignores the environment. For tests and tools.
    ///
    /// # Errors
    /// Fails as the command line does.
    pub fn from_flags<T: Into<OsString> + Clone>(flags: impl IntoIterator<Item = T>) -> Result<Self, String> {
        let command = ServeConfig::augment_args(Command::new("serve").no_binary_name(true));
        let found = command.try_get_matches_from(flags);
        let config = found.and_then(|found| Self::from_arg_matches(&found));
        let mut config = config.map_err(|error| error.to_string())?;
        config.engine.check([])?;
        Ok(config)
    }
}

/// The options of `serve` that have a variable, each with its name: `SIGHTLINE_MAX_RUNS` for `--max-runs`.
static VARIABLES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let options = ServeConfig::augment_args(Command::new("serve"));
    // Each module key has its own variable.
    let names = options.get_arguments().filter_map(Arg::get_long).filter(|long| *long != "key");
    let variable = |long: &str| format!("SIGHTLINE_{}", long.to_uppercase().replace('-', "_"));
    names.map(|long| (long.to_owned(), variable(long))).collect()
});

/// Gives each option of `serve` its variable, in `command` and its subcommands. An empty variable counts as not set. Help
/// texts do not show the values of variables.
pub fn with_environment(command: Command) -> Command {
    let is_set = |name: &&String| std::env::var_os(name).is_none_or(|value| !value.is_empty());
    let with_variable = |arg: Arg| match arg.get_long().and_then(|long| VARIABLES.get(long)).filter(is_set) {
        Some(variable) => arg.hide_env_values(true).env(variable),
        None => arg,
    };
    command.mut_args(with_variable).mut_subcommands(with_environment)
}

/// Returns the names of set variables that start with `SIGHTLINE_` and belong to no option. They are most likely
/// misspelt.
pub fn unknown_variables() -> BTreeSet<String> {
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("SIGHTLINE_") && !name.starts_with(VARIABLE_PREFIX))
        // Tests set these for the servers that they start.
        .filter(|name| !name.starts_with("SIGHTLINE_TEST_"))
        // The clients in scripts/examples read these, and may run in the same shell.
        .filter(|name| !["SIGHTLINE_URL", "SIGHTLINE_API_KEY"].contains(&name.as_str()))
        .filter(|name| !VARIABLES.values().any(|known| known == name))
        .collect()
}

#[cfg(test)]
mod tests;
