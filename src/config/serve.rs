//! The options of `serve`, in all groups.

use std::ffi::OsString;

use clap::{Args, Command, FromArgMatches};

use super::groups::{
    AccountConfig, EngineConfig, FeedConfig, LogConfig, PrivacyConfig, ServerConfig, StorageConfig,
    WebhookConfig,
};

/// All options of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeConfig {
    /// The HTTP server.
    #[command(flatten)]
    pub server: ServerConfig,
    /// The options of the storage.
    #[command(flatten)]
    pub storage: StorageConfig,
    /// Webhooks.
    #[command(flatten)]
    pub webhooks: WebhookConfig,
    /// The catalogue feed.
    #[command(flatten)]
    pub feed: FeedConfig,
    /// Runs, checks and outgoing requests.
    #[command(flatten)]
    pub engine: EngineConfig,
    /// Plans.
    #[command(flatten)]
    pub accounts: AccountConfig,
    /// Retention, and identifiers that are never searched.
    #[command(flatten)]
    pub privacy: PrivacyConfig,
    /// The log.
    #[command(flatten)]
    pub log: LogConfig,
}

impl ServeConfig {
    /// Parses flags, without a program name, over the defaults. Ignores the environment. For tests and tools.
    ///
    /// # Errors
    /// Fails as the command line does.
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
