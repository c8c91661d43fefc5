//! `account link`, `set-role`: access of owners to the web app, and their role.

use std::io::Write;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use crate::account::plan::PlanTable;
use crate::account::service::Accounts;
use crate::account::sign_in::SignIns;
use crate::base::clock::SystemClock;
use crate::cli::database::open_store;
use crate::cli::exit::Failure;
use crate::config::{StorageConfig, base_url_option};
use crate::model::account::{Account, Role};
use crate::model::audit::Origin;
use crate::model::sign_in::SessionLimits;
use crate::store::Store;

/// The address in set-up links.
#[derive(Debug, Clone, Args)]
pub(super) struct BaseUrl {
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
pub(super) struct LinkArgs {
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
pub(super) struct SetRoleArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    /// The role
    #[arg(long)]
    role: RoleName,
    #[command(flatten)]
    storage: StorageConfig,
}

/// The name of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RoleName {
    /// Own searches, keys and account
    User,
    /// Also the operator's pages: accounts and their plans, load, the modules' health
    Operator,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::User => Self::User,
            RoleName::Operator => Self::Operator,
        }
    }
}

pub(super) fn link(args: &LinkArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let account = accounts(&store).open_account(&args.email)?;
    write_link(out, &store, &account, &args.base_url)
}

pub(super) fn set_role(args: &SetRoleArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let account = accounts(&store).open_account(&args.email)?;
    let role = Role::from(args.role);
    sign_ins(&store)?.set_role(account.id, role, &Origin::CLI)?;
    writeln!(out, "{} is now {}", account.email, role.as_str())?;
    Ok(())
}

/// Creates a set-up link and writes it to the output.
pub(super) fn write_link(
    out: &mut dyn Write,
    store: &Arc<Store>,
    account: &Account,
    base_url: &BaseUrl,
) -> Result<(), Failure> {
    let link = sign_ins(store)?.make_link(account.id, &Origin::CLI)?;
    writeln!(
        out,
        "the owner can choose a password here, once, within 72 hours:\n{}/app/set-up/{}",
        base_url.base_url,
        link.expose()
    )?;
    Ok(())
}

fn accounts(store: &Arc<Store>) -> Accounts {
    Accounts::new(store.clone(), PlanTable::default(), Arc::new(SystemClock))
}

/// Opens the sign-ins. A command begins no session, so the lifetimes do not matter.
fn sign_ins(store: &Arc<Store>) -> Result<SignIns, Failure> {
    let limits = SessionLimits { idle: std::time::Duration::ZERO, longest: std::time::Duration::ZERO };
    SignIns::new(Arc::clone(store), Arc::new(SystemClock), limits)
        .map_err(|error| Failure::Failed(format!("the system provides no random numbers: {error}")))
}
