//! `account create`, `list`, `set-plan`, `link`, `set-role`, `export`, `delete`.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::database::open_accounts;
use super::exit::{Exit, Failure};
use super::files::{Replacement, cannot_write, shown};
use super::table::ListArgs;
use crate::account::plan::PlanTable;
use crate::account::service::Accounts;
use crate::account::sign_in::SignIns;
use crate::base::clock::{Clock as _, SystemClock};
use crate::config::{AccountConfig, StorageConfig, base_url, checked};
use crate::model::account::{Account, Role};
use crate::model::audit::Origin;
use crate::model::sign_in::SessionLimits;
use crate::report::account::write_account;

/// Create, list, export and delete accounts, change plan and role, make set-up links
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum AccountAction {
    /// Create an account; its first billing cycle starts now
    ///
    /// Prints a link with which the owner chooses a password for the web app.
    #[command(after_help = "\
Example:
  sightline account create --email me@example.org --plan pro")]
    Create {
        /// Name of a plan: free, basic, pro or unlimited, unless --plans says otherwise
        #[arg(long)]
        plan: String,
        #[command(flatten)]
        base_url: BaseUrl,
        #[command(flatten)]
        plans: AccountConfig,
        #[command(flatten)]
        owner: Owner,
    },
    /// List all accounts, oldest first
    #[command(after_help = "\
Example:
  sightline account list --format json | jq -r '.[].email'")]
    List(ListArgs),
    /// Change an account's plan; a running server applies it within seconds
    #[command(after_help = "\
Example:
  sightline account set-plan --email me@example.org --plan unlimited")]
    SetPlan {
        /// Name of the new plan
        #[arg(long)]
        plan: String,
        #[command(flatten)]
        plans: AccountConfig,
        #[command(flatten)]
        owner: Owner,
    },
    /// Make a link with which an account's owner chooses a password; earlier links become invalid
    ///
    /// It works once, within 72 hours. Until then the current password and sessions stay valid.
    #[command(after_help = "\
Example:
  sightline account link --email me@example.org --base-url https://search.example.org")]
    Link {
        #[command(flatten)]
        base_url: BaseUrl,
        #[command(flatten)]
        owner: Owner,
    },
    /// Set the role of an account in the web app; applies at once
    #[command(after_help = "\
Example:
  sightline account set-role --email me@example.org --role operator")]
    SetRole {
        /// The role: a user has own searches, keys and account, an operator also the operator's pages
        #[arg(long)]
        role: Role,
        #[command(flatten)]
        owner: Owner,
    },
    /// Write everything that is stored about an account as JSON: itself, keys, sessions, ledger, searches with
    /// results, audit
    ///
    /// Keys appear as in `key list`, passwords not at all. The export is recorded in the audit.
    #[command(after_help = "\
Examples:
  sightline account export --email me@example.org --output me.json
  sightline account export --email me@example.org | jq -r '.runs[].query'")]
    Export {
        /// File to write, instead of standard output; an existing file is replaced, a new one is readable only by
        /// its owner
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        #[command(flatten)]
        owner: Owner,
    },
    /// Delete an account: its email address, keys, searches and their results
    ///
    /// The account is closed first: running servers refuse its keys within 2 seconds, and its running searches
    /// stop. Then its data is removed in small steps, so that servers keep working. If that is interrupted, a
    /// running server or the same command continues it. Bookings stay under the account's id, without any
    /// personal data.
    #[command(after_help = "\
Example:
  sightline account export --email me@example.org --output me.json
  sightline account delete --email me@example.org --yes")]
    Delete {
        /// Confirm: this cannot be undone, and nothing happens without this option
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        owner: Owner,
    },
}

/// The account of a command.
#[derive(Debug, Args)]
pub(crate) struct Owner {
    /// Email address of the owner: the account's name in all commands
    // Without the heading of the options before it.
    #[arg(long, help_heading = None::<&str>)]
    email: String,
    #[command(flatten)]
    storage: StorageConfig,
}

impl Owner {
    fn accounts(&self) -> Result<Accounts, Failure> {
        open_accounts(&self.storage, PlanTable::default())
    }

    /// Opens an account that is not being deleted.
    fn account(&self) -> Result<(Accounts, Account), Failure> {
        let accounts = self.accounts()?;
        let account = accounts.open_account(&self.email)?;
        Ok((accounts, account))
    }
}

/// The address of the server, as it is printed.
#[derive(Debug, Args)]
pub(crate) struct BaseUrl {
    /// Address of the server in what is printed
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    #[arg(value_parser = checked(base_url))]
    pub(super) base_url: String,
}

pub(crate) fn run(action: AccountAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        AccountAction::Create { plan, base_url, plans: AccountConfig { plans }, owner } => {
            let accounts = open_accounts(&owner.storage, plans)?;
            let account = accounts.create_account(&owner.email, &plan, &Origin::CLI)?;
            let (Account { id, email, plan, .. }, place) = (&account, &owner.storage.database);
            writeln!(out, "created {email} on plan {plan} ({id}) in {place}")?;
            write_link(out, &accounts, &account, &base_url)?;
        }
        AccountAction::List(list) => {
            let members = ["email", "plan", "role", "created_at", "id"];
            list.write(out, &members, |store| Ok(store.accounts()?))?;
        }
        AccountAction::SetPlan { plan, plans: AccountConfig { plans }, owner } => {
            let accounts = open_accounts(&owner.storage, plans)?;
            let account = accounts.set_plan(&owner.email, &plan, &Origin::CLI)?;
            writeln!(out, "{} is now on plan {}", account.email, account.plan)?;
        }
        AccountAction::Link { base_url, owner } => {
            let (accounts, account) = owner.account()?;
            write_link(out, &accounts, &account, &base_url)?;
        }
        AccountAction::SetRole { role, owner } => {
            let (accounts, account) = owner.account()?;
            sign_ins(&accounts).set_role(account.id, role, &Origin::CLI).map_err(Failure::failed)?;
            writeln!(out, "{} is now {}", account.email, role.as_str())?;
        }
        AccountAction::Export { output, owner } => export(&owner, output.as_deref(), out)?,
        AccountAction::Delete { yes, owner } => delete(&owner, yes, out)?,
    }
    Ok(Exit::Done)
}

/// Makes a set-up link and writes it to the output.
fn write_link(
    out: &mut dyn Write,
    accounts: &Accounts,
    account: &Account,
    base_url: &BaseUrl,
) -> Result<(), Failure> {
    let link = sign_ins(accounts).make_link(account.id, &Origin::CLI).map_err(Failure::failed)?;
    let (base_url, token) = (&base_url.base_url, link.expose());
    writeln!(
        out,
        "the owner can choose a password here, once, within 72 hours:\n{base_url}/app/set-up/{token}"
    )?;
    Ok(())
}

/// Opens the sign-ins. A command begins no session, so the lifetimes do not matter.
fn sign_ins(accounts: &Accounts) -> SignIns {
    let limits = SessionLimits { idle: Duration::ZERO, longest: Duration::ZERO };
    SignIns::new(Arc::clone(&accounts.store), Arc::new(SystemClock), limits)
}

fn export(owner: &Owner, path: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let (accounts, account) = owner.account()?;
    let write = |out: &mut dyn Write| {
        Ok(write_account(&accounts.store, &account, SystemClock.now(), &Origin::CLI, out)?)
    };
    let Some(path) = path else { return write(out) };
    let mut file = BufWriter::new(Replacement::begin_private(path)?);
    write(&mut file)?;
    file.into_inner().map_err(|error| cannot_write(path, error.error()))?.finish()?;
    writeln!(out, "exported {} to {}", account.email, shown(path))?;
    Ok(())
}

fn delete(owner: &Owner, is_confirmed: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let accounts = owner.accounts()?;
    if !is_confirmed {
        let Account { email, id, .. } = accounts.account_by_email(&owner.email)?;
        return Err(Failure::Usage(format!(
            "this deletes {email} ({id}) with its keys and searches and cannot be undone: confirm with --yes"
        )));
    }
    let (Account { email, id, .. }, erased) = accounts.delete_account(&owner.email, &Origin::CLI)?;
    let (keys, runs) = (erased.keys, erased.runs);
    writeln!(
        out,
        "deleted {email} ({id}) with {keys} keys and {runs} searches; its bookings stay under that id"
    )?;
    Ok(())
}
