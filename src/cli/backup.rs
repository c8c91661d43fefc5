//! `backup`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::account::database_url;
use super::exit::{Exit, Failure};
use crate::config::StorageConfig;
use crate::store::backup::{BackupError, back_up};

/// Copy an SQLite database, of one moment, while a server works on it
///
/// The copy is a database like any other: put it in the place of the old one while no server runs (without
/// the old one's -wal and -shm files), or name it in --database. It is checked before it gets its name, and
/// no file is overwritten. It holds all that the database holds: keep it as private. PostgreSQL has
/// pg_dump and pg_restore.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline backup /var/backups/sightline-$(date +%F).db")]
pub(crate) struct BackupArgs {
    /// The copy, a new file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(crate) fn run(args: &BackupArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    back_up(&database_url(&args.storage)?, &args.file).map_err(|error| match error {
        BackupError::NotHere | BackupError::Exists(_) => Failure::Usage(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    })?;
    writeln!(out, "{} is a copy of {}", args.file.display(), args.storage.database)?;
    Ok(Exit::Done)
}
