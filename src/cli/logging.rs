//! The log of a command.

use super::exit::Failure;
use crate::config::LogConfig;

/// Writes log lines to standard error from now on.
pub(crate) fn start_log(config: &LogConfig) -> Result<(), Failure> {
    crate::base::log::init(config.level, config.format)
        .map_err(|error| Failure::Failed(format!("cannot start the log: {error}")))
}
