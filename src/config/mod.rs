//! The configuration: flags and `SIGHTLINE_*` environment variables, typed and checked.
//!
//! Each option has a flag, a variable and a documented default. A flag overrules its variable. An empty
//! variable counts as not set. The message for a bad value names the option and what is allowed, and repeats
//! the value unless it is a secret. The structs are plain data: [`crate::app`] builds the parts from them.
//!
//! | file | holds |
//! |---|---|
//! | `serve` | the options of `serve`, in all groups |
//! | `groups` | the options, one struct for each group |
//! | `browsers` | the options of browsers |
//! | `value` | parsers for kinds of values |
//! | `keys` | keys that modules need |
//! | `environment` | environment variables |
//! | `checked` | value parsers for clap with our error messages |
//! | `fixed` | times that only tests set, and options that are gone |
//!
//! To add an option: add a field in `groups`, a line to the refused values in `tests.rs`, and its row in the
//! table of `src/manual/configuration.md`. A test compares that table with the fields.

mod browsers;
mod checked;
mod environment;
mod fixed;
mod groups;
mod keys;
mod serve;
mod value;

pub use browsers::BrowserSettings;
pub use checked::ConfigError;
pub(crate) use checked::{checked, secret};
pub use environment::{unknown_variables, with_environment};
pub use fixed::Time;
pub use groups::{
    AccountConfig, CatalogConfig, EngineConfig, FeedConfig, LogConfig, PrivacyConfig, ServerConfig,
    StorageConfig, SuppressionConfig, WebhookConfig,
};
pub use keys::{KeySetting, ModuleKeys, VARIABLE_PREFIX};
pub use serve::ServeConfig;
pub use value::SandboxMode;
pub(crate) use value::{base_url_option, duration, readable_file, suppress_key};

#[cfg(test)]
mod tests;
