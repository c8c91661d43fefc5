//! `backup`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Failure};
use crate::config::StorageConfig;
use crate::store::{BackupError, back_up};

/// Copy an SQLite database while a server uses it
///
/// The copy shows the database at one point in time. Restore it by replacing the old file while no server
/// runs (remove the old -wal and -shm files too), or name it in --database. It is checked before it gets its
/// name, and no file is overwritten. It contains all data of the database: keep it private. For PostgreSQL
/// use pg_dump and pg_restore.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline backup /var/backups/sightline-$(date +%F).db")]
pub(crate) struct BackupArgs {
    /// Path of the copy, a new file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(crate) fn run(args: &BackupArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    back_up(&args.storage.database, &args.file).map_err(|error| match error {
        BackupError::NotHere | BackupError::Exists(_) => Failure::Usage(error.to_string()),
        _ => Failure::Failed(error.to_string()),
    })?;
    writeln!(out, "{} is a copy of {}", args.file.display(), args.storage.database)?;
    Ok(Exit::Done)
}
