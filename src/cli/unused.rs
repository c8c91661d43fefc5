//! Options that a command accepts and does not need.

use clap::Args;

use crate::config::database_option;
use crate::store::DatabaseUrl;

/// `--database`, for commands that store nothing.
#[derive(Debug, Args)]
pub(crate) struct UnusedDatabase {
    /// Accepted so that one set of options fits all commands; this one stores nothing
    #[arg(long, env = "SIGHTLINE_DATABASE", value_name = "URL", hide = true)]
    #[arg(value_parser = database_option())]
    database: Option<DatabaseUrl>,
}
