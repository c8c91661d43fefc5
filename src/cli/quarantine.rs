//! `quarantine list`, `reset`: the modules that searches do not ask, because they failed their control checks.

use std::io::Write;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::database::open_store;
use super::exit::{Exit, Failure};
use super::table::write_table;
use crate::account::audit::Origin;
use crate::base::clock::rfc3339_millis;
use crate::config::StorageConfig;
use crate::runs::health::Learnt;

/// List or reset the modules that searches do not ask, because they failed their control checks
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct QuarantineArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(ListArgs),
    Reset(ResetArgs),
}

/// List the modules that searches do not ask, each with what changed and the time of the next try
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline quarantine list")]
struct ListArgs {
    #[command(flatten)]
    storage: StorageConfig,
}

/// Ask modules again at once; running servers do so within seconds
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline quarantine reset github
  sightline quarantine reset --all")]
struct ResetArgs {
    /// Module by its id, as `quarantine list` shows it
    #[arg(value_name = "MODULE", required_unless_present = "all", conflicts_with = "all")]
    module: Option<String>,
    /// Reset all modules
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(crate) fn run(args: &QuarantineArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match &args.action {
        Action::List(args) => list(args, out)?,
        Action::Reset(args) => reset(args, out)?,
    }
    Ok(Exit::Done)
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let mut rows = Vec::new();
    for (is_simulated, web) in [(false, "real"), (true, "simulated")] {
        for record in store.share_quarantines(is_simulated, &[])? {
            let Some(opening) = record.opening else { continue };
            let times = [opening.since, opening.next_try].map(|at| rfc3339_millis(at).to_string());
            let [since, next_try] = times;
            let failures = opening.cause.failures.to_string();
            rows.push(vec![record.name, web.to_owned(), failures, since, next_try, opening.cause.change()]);
        }
    }
    Ok(write_table(out, &["MODULE", "WEB", "FAILURES", "SINCE", "NEXT TRY", "CHANGE"], &rows)?)
}

fn reset(args: &ResetArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let modules = store.reset(Learnt::Quarantines, args.module.as_deref(), Timestamp::now(), &Origin::CLI)?;
    if let (Some(module), true) = (&args.module, modules.is_empty()) {
        return Err(Failure::Failed(format!(
            "{module} is not in quarantine; `sightline quarantine list` shows the modules that are"
        )));
    }
    Ok(modules.iter().try_for_each(|module| writeln!(out, "{module}"))?)
}
