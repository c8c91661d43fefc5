//! Opens the database of a command; `migrate`, `backup`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::exit::{Exit, Failure};
use crate::account::plan::PlanTable;
use crate::account::service::{Accounts, no_account};
use crate::base::clock::SystemClock;
use crate::config::StorageConfig;
use crate::model::account::Account;
use crate::store::{self, BackupError, Store, back_up};

/// Opens the accounts of an existing database. A server may be using it.
pub(crate) fn open_accounts(storage: &StorageConfig, plans: PlanTable) -> Result<Accounts, Failure> {
    Ok(Accounts::new(open_store(storage)?, plans, Arc::new(SystemClock)))
}

/// Opens an existing database. A server may be using it.
pub(crate) fn open_store(storage: &StorageConfig) -> Result<Arc<Store>, Failure> {
    let url = &storage.database;
    if let Some(path) = url.sqlite_file().filter(|path| matches!(path.try_exists(), Ok(false))) {
        // Most likely the wrong folder. An empty database there would hide the mistake.
        return Err(Failure::Failed(format!(
            "no database at {}: name that of the service with --database or SIGHTLINE_DATABASE (an installed service has \
             its settings in /etc/default/sightline or /etc/sightline: see `sightline manual operations`); `sightline \
             serve` and `sightline migrate` create a new one",
            std::path::absolute(path).as_deref().unwrap_or(path).display()
        )));
    }
    store::open(url, store::Role::Command).map_err(Failure::failed)
}

/// Returns the account with that email address, or all accounts.
pub(crate) fn accounts_in(store: &Store, email: Option<&str>) -> Result<Vec<Account>, Failure> {
    let Some(email) = email else { return Ok(store.accounts()?) };
    let account = store.account_by_email(&email.trim().to_lowercase())?;
    Ok(vec![account.ok_or_else(|| no_account(email))?])
}

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

pub(crate) fn migrate(args: &MigrateArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let url = &args.storage.database;
    let names = if args.dry_run { store::pending_migrations(url) } else { store::migrate(url) };
    let names = names.map_err(Failure::failed)?;
    let verb = if args.dry_run { "would run" } else { "ran" };
    names.iter().try_for_each(|name| writeln!(out, "{verb} {name}"))?;
    if args.dry_run && !names.is_empty() {
        return Ok(Exit::NothingFound);
    }
    writeln!(out, "{url} is up to date")?;
    Ok(Exit::Done)
}

/// Copy an SQLite database while a server uses it
///
/// The copy shows the database at one point in time. Restore it by replacing the old file while no server
/// runs (also remove the old -wal and -shm files), or name it in --database. It is checked before it gets its
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

pub(crate) fn backup(args: &BackupArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    back_up(&args.storage.database, &args.file).map_err(|error| match error {
        BackupError::NotHere | BackupError::Exists(_) => Failure::usage(error),
        _ => Failure::failed(error),
    })?;
    writeln!(out, "{} is a copy of {}", args.file.display(), args.storage.database)?;
    Ok(Exit::Done)
}
