//! `key create`, `list`, `revoke`.

use std::collections::HashMap;
use std::io::{self, Write};

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;

use super::database::open_accounts;
use super::exit::{Exit, Failure};
use super::table::{ListFormat, write_list};
use crate::account::plan::PlanTable;
use crate::base::clock::millis;
use crate::base::ids::{AccountId, KeyId};
use crate::config::{StorageConfig, checked};
use crate::model::account::KeyRecord;
use crate::model::audit::Origin;

/// Create API keys, list them, revoke them
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Create(CreateArgs),
    List(ListArgs),
    Revoke(RevokeArgs),
}

/// Create a key; only the key goes to standard output, and it is never shown again
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline key create --account me@example.org --label laptop
  KEY=$(sightline key create --account me@example.org)")]
struct CreateArgs {
    /// Email address of the account
    #[arg(long, value_name = "EMAIL")]
    account: String,
    /// Name of the key in lists, at most 100 characters
    #[arg(long, default_value = "", hide_default_value = true)]
    label: String,
    #[command(flatten)]
    storage: StorageConfig,
}

/// List keys, oldest first, with their ids and last four characters
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline key list --account me@example.org")]
struct ListArgs {
    /// Only the keys of the account with this email address
    #[arg(long, value_name = "EMAIL")]
    account: Option<String>,
    /// Format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    storage: StorageConfig,
}

/// Revoke a key; a running server refuses it within seconds
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline key revoke 01980000-0000-7000-8000-000000000000")]
struct RevokeArgs {
    /// Id of the key, as in `key list`
    #[arg(value_parser = checked(key_id))]
    id: KeyId,
    #[command(flatten)]
    storage: StorageConfig,
}

fn key_id(text: &str) -> Result<KeyId, String> {
    text.parse().map_err(|_| "the id (a UUID) that `key list` shows is allowed".to_owned())
}

/// A key in the form of `--format json`.
#[derive(Serialize)]
struct KeyLine<'a> {
    id: KeyId,
    account: &'a str,
    label: &'a str,
    last_four: &'a str,
    #[serde(with = "millis")]
    created_at: Timestamp,
    #[serde(with = "millis::option")]
    last_used_at: Option<Timestamp>,
    #[serde(with = "millis::option")]
    revoked_at: Option<Timestamp>,
}

pub(crate) fn run(args: KeyArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.action {
        Action::Create(args) => create(&args, out)?,
        Action::List(args) => list(&args, out)?,
        Action::Revoke(args) => {
            open_accounts(&args.storage, PlanTable::default())?.revoke_key(args.id, &Origin::CLI)?;
            writeln!(out, "revoked {}", args.id)?;
        }
    }
    Ok(Exit::Done)
}

fn create(args: &CreateArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open_accounts(&args.storage, PlanTable::default())?;
    let account = accounts.open_account(&args.account)?;
    let (key, record) = accounts.create_key(&account, &args.label, &Origin::CLI)?;
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

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open_accounts(&args.storage, PlanTable::default())?;
    let only = args.account.as_deref().map(|email| accounts.account_by_email(email)).transpose()?;
    let keys = accounts.store.keys(only.as_ref().map(|account| account.id))?;
    let owners: HashMap<AccountId, String> =
        accounts.store.accounts()?.into_iter().map(|account| (account.id, account.email)).collect();
    let lines: Vec<KeyLine<'_>> = keys.iter().map(|key| line(key, &owners)).collect();
    let columns = [
        ("ID", "id"),
        ("ACCOUNT", "account"),
        ("LABEL", "label"),
        ("ENDS IN", "last_four"),
        ("CREATED", "created_at"),
        ("LAST USED", "last_used_at"),
        ("REVOKED", "revoked_at"),
    ];
    Ok(write_list(out, args.format, &lines, &columns)?)
}

fn line<'a>(key: &'a KeyRecord, owners: &'a HashMap<AccountId, String>) -> KeyLine<'a> {
    KeyLine {
        id: key.id,
        account: owners.get(&key.account).map_or("", String::as_str),
        label: &key.label,
        last_four: &key.last_four,
        created_at: key.created_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    }
}
