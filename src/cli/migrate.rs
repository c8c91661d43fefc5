//! `migrate`.

use std::io::Write;

use clap::Args;

use super::exit::{Exit, Failure};
use crate::config::StorageConfig;
use crate::store;

/// Update the schema of the database, as `serve` does when it starts
///
/// For deployments that want this as a separate step. It is safe to run at any time and several times at
/// once. Each migration is one transaction. Make a backup first. An SQLite file must not be in use by a
/// server of an older version. A missing file is created.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 the schema is up to date, 1 with --dry-run: it is not, 2 usage, 3 failed or refused (the
schema is newer than this program, or was changed).

Examples:
  sightline migrate --dry-run     says what would be done
  sightline migrate")]
pub(crate) struct MigrateArgs {
    /// Print the migrations that would run, change and create nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(crate) fn run(args: &MigrateArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let url = &args.storage.database;
    let refused = |error: store::OpenError| Failure::Failed(error.to_string());
    let (names, verb) = if args.dry_run {
        (store::pending_migrations(url).map_err(refused)?, "would run")
    } else {
        (store::migrate(url).map_err(refused)?, "ran")
    };
    for name in &names {
        writeln!(out, "{verb} {name}")?;
    }
    if args.dry_run && !names.is_empty() {
        return Ok(Exit::NothingFound);
    }
    writeln!(out, "{url} is up to date")?;
    Ok(Exit::Done)
}
