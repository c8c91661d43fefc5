//! `watch list`, `run`: the watches of all accounts.

use std::io::Write;
use std::sync::Arc;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::database::open_store;
use super::exit::{Exit, Failure};
use super::table::{ListFormat, write_list};
use crate::account::plan::PlanTable;
use crate::account::service::Accounts;
use crate::base::clock::SystemClock;
use crate::base::ids::WatchId;
use crate::config::{StorageConfig, checked};
use crate::model::audit::Origin;
use crate::model::watch::{MOST_WATCHES, PauseReason, Watch, WatchError, WatchUpdate};

/// List watches, or start a run of one
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct WatchArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(ListArgs),
    Run(RunArgs),
}

/// List watches, each with the time of its next run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline watch list
  sightline watch list --account me@example.org --format json")]
struct ListArgs {
    /// Only the watches of the account with this email address
    #[arg(long, value_name = "EMAIL")]
    account: Option<String>,
    /// Format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    storage: StorageConfig,
}

/// Make a watch due now; a running server starts its run within seconds and charges it
///
/// The later runs stay at their moments.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline watch run 01980000-0000-7000-8000-000000000000")]
struct RunArgs {
    /// Id of the watch, as in `watch list`
    #[arg(value_parser = checked(watch_id))]
    id: WatchId,
    #[command(flatten)]
    storage: StorageConfig,
}

fn watch_id(text: &str) -> Result<WatchId, String> {
    text.parse().map_err(|_| "the id (a UUID) that `watch list` shows is allowed".to_owned())
}

/// A watch in the form of `--format json`.
#[derive(Serialize)]
struct WatchLine<'a> {
    account: &'a str,
    #[serde(flatten)]
    watch: Watch,
}

pub(crate) fn run(args: &WatchArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match &args.action {
        Action::List(args) => list(args, out)?,
        Action::Run(args) => make_due(args, out)?,
    }
    Ok(Exit::Done)
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let accounts = Accounts::new(store.clone(), PlanTable::default(), Arc::new(SystemClock));
    let owners = match &args.account {
        Some(email) => vec![accounts.account_by_email(email)?],
        None => store.accounts()?,
    };
    let mut lines = Vec::new();
    for owner in &owners {
        let own = store.watches(owner.id, None, MOST_WATCHES)?;
        lines.extend(own.into_iter().map(|watch| {
            let has_no_next_run = watch.paused.is_some() && args.format == ListFormat::Table;
            let mut line = json!(WatchLine { account: &owner.email, watch });
            if has_no_next_run {
                line["next_run_at"] = Value::Null;
            }
            line
        }));
    }
    let columns = [
        ("ID", "id"),
        ("ACCOUNT", "account"),
        ("TYPE", "type"),
        ("QUERY", "query"),
        ("EVERY", "every"),
        ("STATE", "state"),
        ("PAUSED", "paused_reason"),
        ("NEXT RUN", "next_run_at"),
    ];
    Ok(write_list(out, args.format, &lines, &columns)?)
}

fn make_due(args: &RunArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let unknown = || Failure::Failed("unknown watch; `sightline watch list` shows all".to_owned());
    let mut owners = store.accounts()?.into_iter();
    let found = owners.find_map(|owner| store.watch(owner.id, args.id).transpose());
    let watch = found.ok_or_else(unknown)??;
    if watch.paused == Some(PauseReason::User) {
        return Err(Failure::Failed("the watch is paused by its owner, so no run is started".to_owned()));
    }
    let update = WatchUpdate { is_due: true, ..WatchUpdate::default() };
    let changed = store.change_watch(watch.account, watch.id, &update, Timestamp::now(), &Origin::CLI);
    changed.map_err(|error| if let WatchError::Storage(error) = error { error.into() } else { unknown() })?;
    Ok(writeln!(out, "due {}", watch.id)?)
}
