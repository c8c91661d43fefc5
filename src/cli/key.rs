//! `key create`, `list`, `revoke`.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::Subcommand;
use serde_json::json;

use super::database::{accounts_in, open_accounts};
use super::exit::{Exit, Failure};
use super::table::ListArgs;
use crate::account::plan::PlanTable;
use crate::base::ids::{AccountId, KeyId};
use crate::config::{StorageConfig, checked};
use crate::model::account::KeyRecord;
use crate::model::audit::Origin;

/// Create API keys, list them, revoke them
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum KeyAction {
    /// Create a key; only the key goes to standard output, and it is never shown again
    #[command(after_help = "\
Examples:
  sightline key create --account me@example.org --label laptop
  KEY=$(sightline key create --account me@example.org)")]
    Create {
        /// Email address of the account
        #[arg(long, value_name = "EMAIL")]
        account: String,
        /// Name of the key in lists, at most 100 characters
        #[arg(long, default_value = "", hide_default_value = true)]
        label: String,
        #[command(flatten)]
        storage: StorageConfig,
    },
    /// List keys, oldest first, with their ids and last four characters
    #[command(after_help = "\
Example:
  sightline key list --account me@example.org")]
    List {
        /// Only the keys of the account with this email address
        #[arg(long, value_name = "EMAIL")]
        account: Option<String>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Revoke a key; a running server refuses it within seconds
    #[command(after_help = "\
Example:
  sightline key revoke 01980000-0000-7000-8000-000000000000")]
    Revoke {
        /// Id of the key, as in `key list`
        #[arg(value_parser = checked(key_id))]
        id: KeyId,
        #[command(flatten)]
        storage: StorageConfig,
    },
}

fn key_id(text: &str) -> Result<KeyId, String> {
    text.parse().map_err(|_| "expected the id (a UUID) that `key list` shows".to_owned())
}

pub(crate) fn run(action: KeyAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        KeyAction::Create { account, label, storage } => create(&account, &label, &storage, out)?,
        KeyAction::List { account, list } => write_keys(account.as_deref(), &list, out)?,
        KeyAction::Revoke { id, storage } => {
            open_accounts(&storage, PlanTable::default())?.revoke_key(id, &Origin::CLI)?;
            writeln!(out, "revoked {id}")?;
        }
    }
    Ok(Exit::Done)
}

fn create(account: &str, label: &str, storage: &StorageConfig, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open_accounts(storage, PlanTable::default())?;
    let account = accounts.open_account(account)?;
    let (key, record) = accounts.create_key(&account, label, &Origin::CLI)?;
    writeln!(out, "{}", key.expose())?;
    out.flush()?;
    // The key is already printed. A failure to print the explanation is not an error.
    let _ = writeln!(
        io::stderr(),
        "This is the key of {} (id {}). It is not shown again. Send it as `Authorization: Bearer KEY`.",
        account.email,
        record.id
    );
    Ok(())
}

fn write_keys(account: Option<&str>, list: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let members = ["id", "account", "label", "last_four", "created_at", "last_used_at", "revoked_at"];
    list.write(out, &members, |store| {
        let owners = accounts_in(&store, account)?;
        let only = owners.first().filter(|_| account.is_some()).map(|owner| owner.id);
        let emails: HashMap<AccountId, String> =
            owners.into_iter().map(|owner| (owner.id, owner.email)).collect();
        let line = |key: &KeyRecord| {
            let mut line = json!(key);
            line["account"] = json!(emails.get(&key.account));
            line
        };
        Ok(store.keys(only)?.iter().map(line).collect())
    })
}
