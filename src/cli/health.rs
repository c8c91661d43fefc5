//! `health list`, `reset`: what searches have learned about hosts and modules.

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::database::open_store;
use super::exit::{Exit, Failure};
use super::table::ListArgs;
use crate::base::clock::rfc3339_millis;
use crate::base::storage::StorageError;
use crate::config::StorageConfig;
use crate::model::audit::Origin;
use crate::model::health::{BreakerState, Learned};
use crate::model::tally::Tally;
use crate::store::Store;

/// List or reset what searches have learned: hosts that are down, modules in quarantine, and deadlines of modules
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum HealthAction {
    /// List the hosts and modules that searches do not ask, and the learned deadlines
    ///
    /// A server uses at most its --check-timeout as a deadline, and no learned one for modules that need a browser.
    #[command(after_help = "\
Examples:
  sightline health list
  sightline health list --kind host --kind quarantine")]
    List {
        #[command(flatten)]
        kinds: Kinds,
        #[command(flatten)]
        list: ListArgs,
    },
    /// Ask hosts and modules again, and forget learned deadlines; running servers do so within seconds
    #[command(after_help = "\
Examples:
  sightline health reset example.org
  sightline health reset github --kind deadline
  sightline health reset --all")]
    Reset {
        /// Host, or module by its id, as `health list` shows it
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        name: Option<String>,
        #[command(flatten)]
        kinds: Kinds,
        /// Reset all hosts and modules
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        storage: StorageConfig,
    },
}

/// The kinds that a command is about.
#[derive(Debug, Args)]
pub(crate) struct Kinds {
    /// Only what is of this kind (repeatable)
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<Learned>,
}

impl Kinds {
    /// Returns the chosen kinds, or all of them if none is chosen.
    fn chosen(&self) -> impl Iterator<Item = Learned> {
        Learned::ALL.into_iter().filter(|kind| self.kinds.is_empty() || self.kinds.contains(kind))
    }
}

pub(crate) fn run(action: &HealthAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        HealthAction::List { kinds, list } => {
            let members = ["kind", "name", "simulated", "failures", "open_since", "next_try_at", "detail"];
            list.write(out, &members, |store| {
                let mut rows = Vec::new();
                for (kind, simulated) in kinds.chosen().flat_map(|kind| [(kind, false), (kind, true)]) {
                    rows.extend(match kind {
                        Learned::Deadline => stored(&store, kind, simulated, deadline)?,
                        Learned::Host | Learned::Quarantine => stored(&store, kind, simulated, opening)?,
                    });
                }
                Ok(rows)
            })?;
        }
        HealthAction::Reset { name, kinds, storage, .. } => {
            let (store, now, mut is_known) = (open_store(storage)?, Timestamp::now(), name.is_none());
            for kind in kinds.chosen() {
                for name in store.reset(kind, name.as_deref(), now, &Origin::CLI)? {
                    writeln!(out, "{} {name}", kind.as_str())?;
                    is_known = true;
                }
            }
            if let (Some(name), false) = (name, is_known) {
                return Err(Failure::Failed(format!(
                    "nothing to reset for {name}: use a name and a kind that `sightline health list` shows"
                )));
            }
        }
    }
    Ok(Exit::Done)
}

/// Returns what the store has of a kind, without what `members` returns nothing for.
fn stored<T: Default + Serialize + DeserializeOwned>(
    store: &Store,
    kind: Learned,
    simulated: bool,
    members: fn(&T) -> Option<Value>,
) -> Result<Vec<Value>, StorageError> {
    let rows = store.share_learned(kind, simulated, Timestamp::UNIX_EPOCH, &[], |older: T, _| older)?;
    let rows = rows.into_iter().filter_map(|(name, _, value)| {
        let mut row = json!({ "kind": kind.as_str(), "name": name, "simulated": simulated });
        row.as_object_mut()?.extend(members(&value)?.as_object()?.clone());
        Some(row)
    });
    Ok(rows.collect())
}

/// Returns since when and why a host or a module is not asked, if that is so.
fn opening(state: &BreakerState) -> Option<Value> {
    let opening = state.opening.as_ref()?;
    Some(json!({
        "failures": opening.failures, "open_since": rfc3339_millis(opening.since),
        "next_try_at": rfc3339_millis(opening.next_try), "deadline_ms": null, "detail": opening.cause.text(),
    }))
}

/// Returns the learned deadline of a module, if any.
fn deadline(tally: &Tally) -> Option<Value> {
    let deadline = tally.deadline(Timestamp::now(), Duration::MAX)?;
    let (millis, detail) = (deadline.as_millis() as u64, format!("{:.1}s", deadline.as_secs_f64()));
    Some(json!({
        "failures": null, "open_since": null, "next_try_at": null, "deadline_ms": millis, "detail": detail,
    }))
}
