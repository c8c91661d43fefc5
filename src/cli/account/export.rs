//! `account export`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use crate::account::service::AccountError;
use crate::base::clock::{Clock as _, SystemClock};
use crate::base::text::plain;
use crate::cli::database::open_store;
use crate::cli::exit::Failure;
use crate::cli::replace::{Replacement, cannot_write};
use crate::config::StorageConfig;
use crate::model::account::Account;
use crate::model::audit::Origin;
use crate::report::account::{ExportError, write_account};
use crate::store::Store;

/// Write everything that is stored about an account as JSON: itself, keys, sessions, ledger, searches with
/// results, audit
///
/// Keys appear as in `key list`, passwords not at all. The export is recorded in the audit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline account export --email me@example.org --output me.json
  sightline account export --email me@example.org | jq -r '.runs[].query'")]
pub(super) struct ExportArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    /// File to write, instead of standard output; an existing file is replaced, a new one is readable only by
    /// its owner
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(super) fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let email = args.email.trim().to_lowercase();
    let account = store.account_by_email(&email)?.ok_or(AccountError::UnknownAccount)?;
    if account.is_being_deleted() {
        return Err(AccountError::BeingDeleted.into());
    }
    let Some(path) = &args.output else { return write(&store, &account, out) };
    let mut file = Replacement::begin_private(path)?;
    let mut buffered = io::BufWriter::new(&mut file);
    write(&store, &account, &mut buffered)?;
    buffered.flush().map_err(|error| cannot_write(path, &error))?;
    drop(buffered);
    file.finish()?;
    writeln!(out, "exported {} to {}", account.email, plain(&path.display().to_string()))?;
    Ok(())
}

fn write(store: &Arc<Store>, account: &Account, out: &mut dyn Write) -> Result<(), Failure> {
    write_account(store, account, SystemClock.now(), &Origin::CLI, out).map_err(|error| match error {
        ExportError::Storage(error) => error.into(),
        ExportError::Io(error) => error.into(),
        ExportError::Json(error) => error.into(),
    })
}
