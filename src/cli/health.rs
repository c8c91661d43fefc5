//! `health list`, `reset`: what searches have learnt about hosts and modules.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::database::open_store;
use super::exit::{Exit, Failure};
use super::table::{ListFormat, write_list};
use crate::base::clock::millis;
use crate::base::storage::StorageError;
use crate::config::StorageConfig;
use crate::model::audit::Origin;
use crate::model::health::{BreakerState, Learnt, Opening};
use crate::model::tally::Tally;
use crate::store::Store;

/// List or reset what searches have learnt: hosts that are down, modules in quarantine, and deadlines of modules
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum HealthAction {
    List(ListArgs),
    Reset(ResetArgs),
}

/// List the hosts and modules that searches do not ask, and the learnt deadlines
///
/// A server uses at most its --check-timeout as a deadline, and no learnt one for modules that need a browser.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline health list
  sightline health list --kind host --kind quarantine")]
pub(crate) struct ListArgs {
    /// Only what is of this kind (repeatable)
    #[arg(long = "kind", value_name = "KIND", value_parser = kinds())]
    kinds: Vec<Learnt>,
    /// Format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    storage: StorageConfig,
}

/// Ask hosts and modules again, and forget learnt deadlines; running servers do so within seconds
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline health reset example.org
  sightline health reset github --kind deadline
  sightline health reset --all")]
pub(crate) struct ResetArgs {
    /// Host, or module by its id, as `health list` shows it
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,
    /// Only what is of this kind (repeatable)
    #[arg(long = "kind", value_name = "KIND", value_parser = kinds())]
    kinds: Vec<Learnt>,
    /// Reset all hosts and modules
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

fn kinds() -> impl TypedValueParser<Value = Learnt> {
    let names = PossibleValuesParser::new(Learnt::ALL.map(Learnt::as_str));
    names.try_map(|name| Learnt::from_name(&name).ok_or("not a kind"))
}

/// Returns the chosen kinds, or all of them if none is chosen.
fn chosen(kinds: &[Learnt]) -> impl Iterator<Item = Learnt> {
    Learnt::ALL.into_iter().filter(|kind| kinds.is_empty() || kinds.contains(kind))
}

pub(crate) fn run(action: &HealthAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        HealthAction::List(args) => list(args, out)?,
        HealthAction::Reset(args) => reset(args, out)?,
    }
    Ok(Exit::Done)
}

fn reset(args: &ResetArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (store, now, name) = (open_store(&args.storage)?, Timestamp::now(), args.name.as_deref());
    let mut count = 0;
    for kind in chosen(&args.kinds) {
        for name in store.reset(kind, name, now, &Origin::CLI)? {
            writeln!(out, "{} {name}", kind.as_str())?;
            count += 1;
        }
    }
    match name {
        Some(name) if count == 0 => Err(Failure::Failed(format!(
            "nothing to reset for {name}: use a name and a kind that `sightline health list` shows"
        ))),
        _ => Ok(()),
    }
}

/// What was learnt about a host or a module. Serialized, it is an element of `--format json`.
#[derive(Serialize)]
struct Row {
    kind: &'static str,
    name: Arc<str>,
    /// Whether it was learnt on the simulated web.
    simulated: bool,
    /// The failures in a row. Like the times, it is null for a deadline.
    failures: Option<u32>,
    #[serde(with = "millis::option")]
    open_since: Option<Timestamp>,
    #[serde(with = "millis::option")]
    next_try_at: Option<Timestamp>,
    /// The deadline, or `None` for what is not asked.
    deadline_ms: Option<u64>,
    /// What happened, or the deadline for people.
    detail: String,
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (store, mut rows) = (open_store(&args.storage)?, Vec::new());
    for kind in chosen(&args.kinds) {
        for simulated in [false, true] {
            match kind {
                Learnt::Deadline => rows.extend(deadlines(&store, simulated)?),
                Learnt::Host | Learnt::Quarantine => rows.extend(open(&store, kind, simulated)?),
            }
        }
    }
    let columns = [
        ("KIND", "kind"),
        ("NAME", "name"),
        ("SIMULATED", "simulated"),
        ("FAILURES", "failures"),
        ("SINCE", "open_since"),
        ("NEXT TRY", "next_try_at"),
        ("DETAIL", "detail"),
    ];
    Ok(write_list(out, args.format, &rows, &columns)?)
}

/// Returns all that the store has of a kind.
fn stored<T: Default + Serialize + DeserializeOwned>(
    store: &Store,
    kind: Learnt,
    simulated: bool,
) -> Result<impl Iterator<Item = (Arc<str>, T)> + use<T>, StorageError> {
    let rows = store.share_learnt(kind, simulated, Timestamp::UNIX_EPOCH, &[], |older: T, _| older)?;
    Ok(rows.into_iter().map(|(name, _, value)| (name, value)))
}

/// Returns the hosts or the modules that searches do not ask.
fn open(store: &Store, kind: Learnt, simulated: bool) -> Result<Vec<Row>, StorageError> {
    let row = |(name, state): (Arc<str>, BreakerState)| {
        let Opening { failures, cause, since, next_try, .. } = state.opening?;
        let [open_since, next_try_at] = [since, next_try].map(Some);
        let (kind, failures, detail) = (kind.as_str(), Some(failures), cause.text());
        Some(Row { kind, name, simulated, failures, open_since, next_try_at, deadline_ms: None, detail })
    };
    Ok(stored(store, kind, simulated)?.filter_map(row).collect())
}

/// Returns the modules with a learnt deadline.
fn deadlines(store: &Store, simulated: bool) -> Result<Vec<Row>, StorageError> {
    let (kind, now) = (Learnt::Deadline, Timestamp::now());
    let row = |(name, tally): (Arc<str>, Tally)| {
        let deadline = tally.deadline(now, Duration::MAX)?;
        let (deadline_ms, detail) =
            (Some(deadline.as_millis() as u64), format!("{:.1}s", deadline.as_secs_f64()));
        let (failures, open_since, next_try_at) = (None, None, None);
        Some(Row {
            kind: kind.as_str(),
            name,
            simulated,
            failures,
            open_since,
            next_try_at,
            deadline_ms,
            detail,
        })
    };
    Ok(stored(store, kind, simulated)?.filter_map(row).collect())
}
