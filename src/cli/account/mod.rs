//! `account create`, `list`, `set-plan`, `link`, `set-role`, `export`, `delete`; and how accounts are opened.

mod export;
mod sign_in;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::table::write_table;
use crate::account::account::Account;
use crate::account::audit::Origin;
use crate::account::plan::PlanTable;
use crate::account::service::Accounts;
use crate::base::clock::{SystemClock, millis, rfc3339_millis};
use crate::base::ids::AccountId;
use crate::base::text::write_json;
use crate::config::{AccountConfig, StorageConfig};
use crate::store::{self, DatabaseUrl, Store};

/// Create accounts, list them, change plan and role, make set-up links, hand out or delete all their data
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct AccountArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Create(CreateArgs),
    List(ListArgs),
    SetPlan(SetPlanArgs),
    Link(sign_in::LinkArgs),
    SetRole(sign_in::SetRoleArgs),
    Export(export::ExportArgs),
    Delete(DeleteArgs),
}

/// Create an account; its first billing cycle starts now
///
/// Prints a link by which its owner chooses a password for the web app.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account create --email me@example.org --plan pro")]
struct CreateArgs {
    /// Email address of its owner: the account's name in other commands
    #[arg(long)]
    email: String,
    /// Name of a plan: free, basic, pro or unlimited, unless --plans says otherwise
    #[arg(long)]
    plan: String,
    #[command(flatten)]
    base_url: sign_in::BaseUrl,
    #[command(flatten)]
    accounts: AccountConfig,
    #[command(flatten)]
    storage: StorageConfig,
}

/// List all accounts, oldest first
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account list --format json | jq -r '.[].email'")]
struct ListArgs {
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    storage: StorageConfig,
}

/// Change an account's plan; a running server follows within seconds
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account set-plan --email me@example.org --plan unlimited")]
struct SetPlanArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    /// Name of the new plan
    #[arg(long)]
    plan: String,
    #[command(flatten)]
    accounts: AccountConfig,
    #[command(flatten)]
    storage: StorageConfig,
}

/// Delete an account: its email address, keys, searches and their results
///
/// It is closed first: running servers refuse its keys within 2 seconds, and its searches under way stop. Then all of
/// it is removed, bit by bit, so that servers can go on meanwhile; where that is interrupted, a running server goes on
/// with it, and so does the same command. What was booked stays, under the account's id, which leads to nobody any more.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account export --email me@example.org --output me.json
  sightline account delete --email me@example.org --yes")]
struct DeleteArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    /// It cannot be undone: without this nothing is done
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    Table,
    /// One JSON array
    Json,
}

/// An account as `--format json` shows it.
#[derive(Serialize)]
struct AccountLine<'a> {
    id: AccountId,
    email: &'a str,
    plan: &'a str,
    role: &'static str,
    #[serde(with = "millis")]
    created_at: jiff::Timestamp,
}

pub(crate) fn run(args: AccountArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.action {
        Action::Create(args) => create(args, out)?,
        Action::List(args) => list(&args, out)?,
        Action::SetPlan(args) => {
            let accounts = open(&args.storage, args.accounts.plans)?;
            let account = accounts.set_plan(&args.email, &args.plan, &Origin::CLI)?;
            writeln!(out, "{} is on plan {} now", account.email, account.plan)?;
        }
        Action::Link(args) => sign_in::link(&args, out)?,
        Action::SetRole(args) => sign_in::set_role(&args, out)?,
        Action::Export(args) => export::run(&args, out)?,
        Action::Delete(args) => delete(&args, out)?,
    }
    Ok(Exit::Done)
}

fn create(args: CreateArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = create_store(&args.storage)?;
    let accounts = Accounts::new(store.clone(), args.accounts.plans, Arc::new(SystemClock));
    let account = accounts.create_account(&args.email, &args.plan, &Origin::CLI)?;
    let place = &args.storage.database;
    writeln!(out, "created {} on plan {} ({}) in {place}", account.email, account.plan, account.id)?;
    sign_in::write_link(out, &store, &account, &args.base_url)
}

/// The accounts of a database that exists. A server may be running on it.
pub(crate) fn open(storage: &StorageConfig, plans: PlanTable) -> Result<Accounts, Failure> {
    Ok(Accounts::new(open_store(storage)?, plans, Arc::new(SystemClock)))
}

/// A database that exists. A server may be running on it.
pub(crate) fn open_store(storage: &StorageConfig) -> Result<Arc<Store>, Failure> {
    if let Some(path) = storage.database.expose().strip_prefix("sqlite:")
        && !Path::new(path).exists()
    {
        // Most likely the wrong folder; an empty database there would only hide it.
        return Err(Failure::Failed(format!(
            "there is no database at {path}: run the command where the service runs, or say where it is \
             with --database"
        )));
    }
    create_store(storage)
}

/// The same, of a database that is created where it does not exist.
fn create_store(storage: &StorageConfig) -> Result<Arc<Store>, Failure> {
    store::open(&database_url(storage)?, store::Options::command())
        .map_err(|error| Failure::Failed(error.to_string()))
}

/// The database that the options name.
pub(crate) fn database_url(storage: &StorageConfig) -> Result<DatabaseUrl, Failure> {
    storage.database.expose().parse().map_err(|error| {
        Failure::Usage(format!("invalid value for --database (SIGHTLINE_DATABASE): {error}"))
    })
}

fn delete(args: &DeleteArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open(&args.storage, PlanTable::default())?;
    if !args.yes {
        let account = accounts.account_by_email(&args.email)?;
        return Err(Failure::Usage(format!(
            "this deletes {} ({}) with its keys and searches, for good: say --yes if that is meant",
            account.email, account.id
        )));
    }
    let (account, erased) = accounts.delete_account(&args.email, &Origin::CLI)?;
    writeln!(
        out,
        "deleted {} ({}) with {} keys and {} searches; what was booked stays under that id",
        account.email, account.id, erased.keys, erased.runs
    )?;
    Ok(())
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open(&args.storage, PlanTable::default())?.accounts()?;
    match args.format {
        ListFormat::Json => {
            let lines: Vec<AccountLine<'_>> = accounts.iter().map(line).collect();
            write_json(out, &lines)?;
        }
        ListFormat::Table => {
            let rows: Vec<Vec<String>> = accounts.iter().map(row).collect();
            write_table(out, &["EMAIL", "PLAN", "ROLE", "CREATED", "ID"], &rows)?;
        }
    }
    Ok(())
}

fn line(account: &Account) -> AccountLine<'_> {
    AccountLine {
        id: account.id,
        email: &account.email,
        plan: &account.plan,
        role: account.role.as_str(),
        created_at: account.created_at,
    }
}

fn row(account: &Account) -> Vec<String> {
    vec![
        account.email.clone(),
        account.plan.clone(),
        account.role.as_str().to_owned(),
        rfc3339_millis(account.created_at),
        account.id.to_string(),
    ]
}
