//! `circuit`, `quarantine` and `deadline`, each with `list` and `reset`: what searches have learnt about hosts and
//! modules.

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::database::open_store;
use super::exit::{Exit, Failure};
use super::table::write_table;
use crate::base::clock::rfc3339_millis;
use crate::config::StorageConfig;
use crate::model::audit::Origin;
use crate::model::health::{BreakerState, Cause, Learnt, Opening};
use crate::model::tally::Tally;

/// The webs about which something is learnt, each with whether it is the simulated one.
const WEBS: [(bool, &str); 2] = [(false, "real"), (true, "simulated")];

/// List or reset the hosts that searches do not ask, because they gave no answer
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum CircuitAction {
    /// List the hosts that searches do not ask, each with the time of the next try
    #[command(after_help = "\
Example:
  sightline circuit list")]
    List(StorageConfig),
    /// Ask hosts again at once; running servers do so within seconds
    #[command(
        mut_arg("name", |name| name.value_name("HOST").help("Host as `circuit list` shows it")),
        mut_arg("all", |all| all.help("Reset all hosts")),
        after_help = "\
Examples:
  sightline circuit reset example.org
  sightline circuit reset --all"
    )]
    Reset(ResetArgs),
}

/// List or reset the modules that searches do not ask, because they failed their control checks
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum QuarantineAction {
    /// List the modules that searches do not ask, each with what changed and the time of the next try
    #[command(after_help = "\
Example:
  sightline quarantine list")]
    List(StorageConfig),
    /// Ask modules again at once; running servers do so within seconds
    #[command(
        mut_arg("name", |name| name.help("Module by its id, as `quarantine list` shows it")),
        after_help = "\
Examples:
  sightline quarantine reset github
  sightline quarantine reset --all"
    )]
    Reset(ResetArgs),
}

/// List or reset the deadlines that were learnt from the answers of modules
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum DeadlineAction {
    /// List the modules with a learnt deadline
    ///
    /// A server uses at most its --check-timeout. It uses no learnt deadline for modules that need a browser.
    #[command(after_help = "\
Example:
  sightline deadline list")]
    List(StorageConfig),
    /// Forget learnt deadlines; running servers do so within seconds
    #[command(
        mut_arg("name", |name| name.help("Module by its id, as `deadline list` shows it")),
        after_help = "\
Examples:
  sightline deadline reset github
  sightline deadline reset --all"
    )]
    Reset(ResetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ResetArgs {
    #[arg(value_name = "MODULE", required_unless_present = "all", conflicts_with = "all")]
    name: Option<String>,
    /// Reset all modules
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

impl ResetArgs {
    /// Resets what was learnt, and writes the names of the hosts or modules for which there was something. `unknown`
    /// returns the message about a name for which there was nothing.
    fn run(
        &self,
        learnt: Learnt,
        unknown: impl FnOnce(&str) -> String,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let store = open_store(&self.storage)?;
        let names = store.reset(learnt, self.name.as_deref(), Timestamp::now(), &Origin::CLI)?;
        if let (Some(name), true) = (&self.name, names.is_empty()) {
            return Err(Failure::Failed(unknown(name)));
        }
        Ok(names.iter().try_for_each(|name| writeln!(out, "{name}"))?)
    }
}

pub(crate) fn circuit(action: &CircuitAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        CircuitAction::List(storage) => list_circuits(storage, out)?,
        CircuitAction::Reset(args) => {
            let unknown = |host: &str| {
                format!(
                    "{host} is not among the hosts that searches do not ask; `sightline circuit list` shows them"
                )
            };
            args.run(Learnt::Host, unknown, out)?;
        }
    }
    Ok(Exit::Done)
}

pub(crate) fn quarantine(action: &QuarantineAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        QuarantineAction::List(storage) => list_quarantines(storage, out)?,
        QuarantineAction::Reset(args) => {
            let unknown = |module: &str| {
                format!(
                    "{module} is not in quarantine; `sightline quarantine list` shows the modules that are"
                )
            };
            args.run(Learnt::Quarantine, unknown, out)?;
        }
    }
    Ok(Exit::Done)
}

pub(crate) fn deadline(action: &DeadlineAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        DeadlineAction::List(storage) => list_deadlines(storage, out)?,
        DeadlineAction::Reset(args) => {
            let unknown = |module: &str| {
                format!(
                    "nothing was learnt about the deadline of {module}; `sightline deadline list` shows the modules \
                     with a learnt deadline"
                )
            };
            args.run(Learnt::Deadline, unknown, out)?;
        }
    }
    Ok(Exit::Done)
}

/// Returns what the store has of a kind: the name, the web, and what was learnt.
fn stored<T: Default + Serialize + DeserializeOwned>(
    storage: &StorageConfig,
    kind: Learnt,
) -> Result<Vec<(String, String, T)>, Failure> {
    let store = open_store(storage)?;
    let mut all = Vec::new();
    for (is_simulated, web) in WEBS {
        let rows = store.share_learnt(kind, is_simulated, Timestamp::UNIX_EPOCH, &[], |older: T, _| older)?;
        all.extend(rows.into_iter().map(|(name, _, it)| (name.to_string(), web.to_owned(), it)));
    }
    Ok(all)
}

fn list_circuits(storage: &StorageConfig, out: &mut dyn Write) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (host, web, state) in stored::<BreakerState>(storage, Learnt::Host)? {
        let Some(Opening { cause: Cause::Check(outcome), since, next_try, .. }) = state.opening else {
            continue;
        };
        let [since, next_try] = [since, next_try].map(rfc3339_millis);
        rows.push(vec![host, web, outcome.as_str().to_owned(), since, next_try]);
    }
    Ok(write_table(out, &["HOST", "WEB", "OUTCOME", "SINCE", "NEXT TRY"], &rows)?)
}

fn list_quarantines(storage: &StorageConfig, out: &mut dyn Write) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for (module, web, state) in stored::<BreakerState>(storage, Learnt::Quarantine)? {
        let Some(Opening { failures, cause, since, next_try, .. }) = state.opening else { continue };
        let [since, next_try] = [since, next_try].map(rfc3339_millis);
        rows.push(vec![module, web, failures.to_string(), since, next_try, cause.text()]);
    }
    Ok(write_table(out, &["MODULE", "WEB", "FAILURES", "SINCE", "NEXT TRY", "CHANGE"], &rows)?)
}

fn list_deadlines(storage: &StorageConfig, out: &mut dyn Write) -> Result<(), Failure> {
    let (mut rows, now) = (Vec::new(), Timestamp::now());
    for (module, web, tally) in stored::<Tally>(storage, Learnt::Deadline)? {
        if let Some(deadline) = tally.deadline(now, Duration::MAX) {
            rows.push(vec![module, web, format!("{:.1}s", deadline.as_secs_f64())]);
        }
    }
    rows.sort();
    Ok(write_table(out, &["MODULE", "WEB", "DEADLINE"], &rows)?)
}
