//! `account create`, `list`, `set-plan`, `link`, `set-role`, `export`, `delete`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::database::{open_accounts, open_store};
use super::exit::{Exit, Failure};
use super::replace::{Replacement, cannot_write};
use super::table::{ListFormat, write_list};
use crate::account::plan::PlanTable;
use crate::account::service::{AccountError, Accounts};
use crate::account::sign_in::SignIns;
use crate::base::clock::{Clock as _, SystemClock, rfc3339_millis};
use crate::base::text::plain;
use crate::config::{AccountConfig, StorageConfig, base_url_option};
use crate::model::account::{Account, Role};
use crate::model::audit::Origin;
use crate::model::sign_in::SessionLimits;
use crate::modules::near::nearest;
use crate::report::account::{ExportError, write_account};
use crate::store::Store;

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
    Link(LinkArgs),
    SetRole(SetRoleArgs),
    Export(ExportArgs),
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
    base_url: BaseUrl,
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
        Action::Link(args) => link(&args, out)?,
        Action::SetRole(args) => set_role(&args, out)?,
        Action::Export(args) => export(&args, out)?,
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
    write_link(out, &store, &account, &args.base_url)
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
    let columns =
        [("EMAIL", "email"), ("PLAN", "plan"), ("ROLE", "role"), ("CREATED", "created_at"), ("ID", "id")];
    Ok(write_list(out, args.format, &lines, &columns)?)
}

/// The address in set-up links.
#[derive(Debug, Clone, Args)]
struct BaseUrl {
    /// Address of the server in the set-up link
    #[arg(long, env = "SIGHTLINE_BASE_URL", value_name = "URL", default_value = "http://127.0.0.1:8080")]
    #[arg(value_parser = base_url_option())]
    base_url: String,
}

/// Make a link with which an account's owner chooses a password; earlier links become invalid
///
/// It works once, within 72 hours. Until then the current password and sessions stay valid.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account link --email me@example.org --base-url https://search.example.org")]
struct LinkArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    #[command(flatten)]
    base_url: BaseUrl,
    #[command(flatten)]
    storage: StorageConfig,
}

/// Set the role of an account in the web app; applies at once
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline account set-role --email me@example.org --role operator")]
struct SetRoleArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    /// The role: a user has own searches, keys and account, an operator also the operator's pages
    #[arg(long, value_parser = role_name())]
    role: Role,
    #[command(flatten)]
    storage: StorageConfig,
}

fn role_name() -> impl TypedValueParser<Value = Role> {
    let names = PossibleValuesParser::new(Role::ALL.map(Role::as_str));
    names.try_map(|name| Role::from_name(&name).ok_or("not a role"))
}

fn link(args: &LinkArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open_accounts(&args.storage, PlanTable::default())?;
    let account = accounts.open_account(&args.email)?;
    write_link(out, &accounts.store, &account, &args.base_url)
}

fn set_role(args: &SetRoleArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = open_accounts(&args.storage, PlanTable::default())?;
    let account = accounts.open_account(&args.email)?;
    sign_ins(&accounts.store).set_role(account.id, args.role, &Origin::CLI)?;
    writeln!(out, "{} is now {}", account.email, args.role.as_str())?;
    Ok(())
}

/// Creates a set-up link and writes it to the output.
fn write_link(
    out: &mut dyn Write,
    store: &Arc<Store>,
    account: &Account,
    base_url: &BaseUrl,
) -> Result<(), Failure> {
    let link = sign_ins(store).make_link(account.id, &Origin::CLI)?;
    writeln!(
        out,
        "the owner can choose a password here, once, within 72 hours:\n{}/app/set-up/{}",
        base_url.base_url,
        link.expose()
    )?;
    Ok(())
}

/// Opens the sign-ins. A command begins no session, so the lifetimes do not matter.
fn sign_ins(store: &Arc<Store>) -> SignIns {
    let limits = SessionLimits { idle: Duration::ZERO, longest: Duration::ZERO };
    SignIns::new(Arc::clone(store), Arc::new(SystemClock), limits)
}

/// Write everything that is stored about an account as JSON: itself, keys, sessions, ledger, searches with
/// results, audit
///
/// Keys appear as in `key list`, passwords not at all. The export is recorded in the audit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline account export --email me@example.org --output me.json
  sightline account export --email me@example.org | jq -r '.runs[].query'")]
struct ExportArgs {
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

fn export(args: &ExportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let email = args.email.trim().to_lowercase();
    let account = store.account_by_email(&email)?.ok_or(AccountError::UnknownAccount)?;
    if account.is_being_deleted() {
        return Err(AccountError::BeingDeleted.into());
    }
    let Some(path) = &args.output else { return write_export(&store, &account, out) };
    let mut file = Replacement::begin_private(path)?;
    let mut buffered = io::BufWriter::new(&mut file);
    write_export(&store, &account, &mut buffered)?;
    buffered.flush().map_err(|error| cannot_write(path, &error))?;
    drop(buffered);
    file.finish()?;
    writeln!(out, "exported {} to {}", account.email, plain(&path.display().to_string()))?;
    Ok(())
}

fn write_export(store: &Arc<Store>, account: &Account, out: &mut dyn Write) -> Result<(), Failure> {
    write_account(store, account, SystemClock.now(), &Origin::CLI, out).map_err(|error| match error {
        ExportError::Storage(error) => error.into(),
        ExportError::Io(error) => error.into(),
        ExportError::Json(error) => error.into(),
    })
}
