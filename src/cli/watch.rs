//! `watch list`, `run`: the watches of all accounts.

use std::io::Write;

use clap::Subcommand;
use serde::Serialize;
use serde_json::{Value, json};

use super::database::{accounts_in, open_store};
use super::exit::{Exit, Failure};
use super::table::ListArgs;
use crate::base::ids::WatchId;
use crate::config::{StorageConfig, checked};
use crate::model::audit::Origin;
use crate::model::watch::{MOST_WATCHES, PauseReason, Watch, WatchError, WatchUpdate};

/// List watches, or start a run of one
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum WatchAction {
    /// List watches, each with the time of its next run
    #[command(after_help = "\
Examples:
  sightline watch list
  sightline watch list --account me@example.org --format json")]
    List {
        /// Only the watches of the account with this email address
        #[arg(long, value_name = "EMAIL")]
        account: Option<String>,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Make a watch due now; a running server starts its run within seconds and charges it
    ///
    /// The later runs stay at their moments.
    #[command(after_help = "\
Example:
  sightline watch run 01980000-0000-7000-8000-000000000000")]
    Run {
        /// Id of the watch, as in `watch list`
        #[arg(value_parser = checked(watch_id))]
        id: WatchId,
        #[command(flatten)]
        storage: StorageConfig,
    },
}

fn watch_id(text: &str) -> Result<WatchId, String> {
    text.parse().map_err(|_| "expected the id (a UUID) that `watch list` shows".to_owned())
}

/// A watch with the email address of its account.
#[derive(Serialize)]
struct WatchLine {
    account: String,
    #[serde(flatten)]
    watch: Watch,
}

pub(crate) fn run(action: &WatchAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        WatchAction::List { account, list } => write_watches(account.as_deref(), list, out)?,
        WatchAction::Run { id, storage } => make_due(*id, storage, out)?,
    }
    Ok(Exit::Done)
}

fn write_watches(account: Option<&str>, list: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let members = ["id", "account", "type", "query", "every", "state", "paused_reason", "next_run_at"];
    list.write(out, &members, |store| {
        let mut lines = Vec::new();
        for owner in accounts_in(&store, account)? {
            let own = store.watches(owner.id, None, MOST_WATCHES)?;
            lines.extend(own.into_iter().map(|watch| {
                let has_no_next_run = watch.paused.is_some() && list.is_table();
                let mut line = json!(WatchLine { account: owner.email.clone(), watch });
                if has_no_next_run {
                    line["next_run_at"] = Value::Null;
                }
                line
            }));
        }
        Ok(lines)
    })
}

fn make_due(id: WatchId, storage: &StorageConfig, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(storage)?;
    let unknown = || Failure::failed("unknown watch; `sightline watch list` shows all");
    let mut owners = store.accounts()?.into_iter();
    let watch = owners.find_map(|owner| store.watch(owner.id, id).transpose()).ok_or_else(unknown)??;
    if watch.paused == Some(PauseReason::User) {
        return Err(Failure::failed("the watch is paused by its owner, so no run is started"));
    }
    let update = WatchUpdate { is_due: true, ..WatchUpdate::default() };
    let changed = store.change_watch(watch.account, id, &update, &Origin::CLI);
    changed.map_err(|error| if let WatchError::Storage(error) = error { error.into() } else { unknown() })?;
    Ok(writeln!(out, "due {id}")?)
}
