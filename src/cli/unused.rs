//! Options that a command takes and does not need.

use clap::Args;

use crate::config::{DatabaseAddress, database_option};

/// `--database`, for commands that keep nothing.
#[derive(Debug, Args)]
pub(crate) struct UnusedDatabase {
    /// Accepted so that one set of options fits all commands; this one keeps nothing
    #[arg(long, env = "SIGHTLINE_DATABASE", value_name = "URL", hide = true)]
    #[arg(value_parser = database_option())]
    database: Option<DatabaseAddress>,
}
