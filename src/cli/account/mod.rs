//! `account create`, `list`, `set-plan`, `link`, `set-role`, `export`, `delete`.

mod export;
mod sign_in;

use std::io::Write;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::database::{open_accounts, open_store};
use super::exit::{Exit, Failure};
use super::table::{ListFormat, write_list};
use crate::account::plan::PlanTable;
use crate::account::service::Accounts;
use crate::base::clock::{SystemClock, rfc3339_millis};
use crate::base::text::plain;
use crate::config::{AccountConfig, StorageConfig};
use crate::model::account::Account;
use crate::model::audit::Origin;
use crate::modules::near::nearest;

/// Create, list, export and delete accounts, change plan and role, make set-up links
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
/// Prints a link with which the owner chooses a password for the web app.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account create --email me@example.org --plan pro")]
struct CreateArgs {
    /// Email address of the owner: the account's name in other commands
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
    /// Format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    storage: StorageConfig,
}

/// Change an account's plan; a running server applies it within seconds
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
/// The account is closed first: running servers refuse its keys within 2 seconds, and its running searches
/// stop. Then its data is removed in small steps, so that servers keep working. If that is interrupted, a
/// running server or the same command continues it. Bookings stay under the account's id, without any
/// personal data.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account export --email me@example.org --output me.json
  sightline account delete --email me@example.org --yes")]
struct DeleteArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    /// Confirm: this cannot be undone, and nothing happens without this option
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(crate) fn run(args: AccountArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.action {
        Action::Create(args) => create(args, out)?,
        Action::List(args) => list(&args, out)?,
        Action::SetPlan(args) => {
            check_plan(&args.accounts.plans, &args.plan)?;
            let accounts = open_accounts(&args.storage, args.accounts.plans)?;
            let account = accounts.set_plan(&args.email, &args.plan, &Origin::CLI)?;
            writeln!(out, "{} is now on plan {}", account.email, account.plan)?;
        }
        Action::Link(args) => sign_in::link(&args, out)?,
        Action::SetRole(args) => sign_in::set_role(&args, out)?,
        Action::Export(args) => export::run(&args, out)?,
        Action::Delete(args) => delete(&args, out)?,
    }
    Ok(Exit::Done)
}

fn check_plan(plans: &PlanTable, name: &str) -> Result<(), Failure> {
    let names = || plans.all().iter().map(|plan| plan.name.as_str());
    if names().any(|known| known == name) {
        return Ok(());
    }
    let meant = nearest(name, names()).map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
    let (name, names) = (plain(name), names().collect::<Vec<_>>().join(", "));
    Err(Failure::Usage(format!("unknown plan {name:?}: {names} are allowed{meant}")))
}

fn create(args: CreateArgs, out: &mut dyn Write) -> Result<(), Failure> {
    check_plan(&args.accounts.plans, &args.plan)?;
    let store = open_store(&args.storage)?;
    let accounts = Accounts::new(store.clone(), args.accounts.plans, Arc::new(SystemClock));
    let account = accounts.create_account(&args.email, &args.plan, &Origin::CLI)?;
    let place = &args.storage.database;
    writeln!(out, "created {} on plan {} ({}) in {place}", account.email, account.plan, account.id)?;
    sign_in::write_link(out, &store, &account, &args.base_url)
}

fn delete(args: &DeleteArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open_accounts(&args.storage, PlanTable::default())?;
    if !args.yes {
        let account = accounts.account_by_email(&args.email)?;
        return Err(Failure::Usage(format!(
            "this deletes {} ({}) with its keys and searches and cannot be undone: confirm with --yes",
            account.email, account.id
        )));
    }
    let (account, erased) = accounts.delete_account(&args.email, &Origin::CLI)?;
    writeln!(
        out,
        "deleted {} ({}) with {} keys and {} searches; its bookings stay under that id",
        account.email, account.id, erased.keys, erased.runs
    )?;
    Ok(())
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open_accounts(&args.storage, PlanTable::default())?.store.accounts()?;
    let line = |account: &Account| {
        json!({
            "id": account.id, "email": account.email, "plan": account.plan, "role": account.role.as_str(),
            "created_at": rfc3339_millis(account.created_at),
        })
    };
    let lines: Vec<Value> = accounts.iter().map(line).collect();
    let columns = ["email", "plan", "role", "created_at", "id"];
    let row = |line: &Value| columns.map(|name| line[name].as_str().unwrap_or_default().to_owned()).to_vec();
    Ok(write_list(out, args.format, &lines, &["EMAIL", "PLAN", "ROLE", "CREATED", "ID"], row)?)
}
