//! `deadline list`, `reset`: the deadlines that were learnt from the answers of modules.

use std::io::Write;
use std::time::Duration;

use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::database::open_store;
use super::exit::{Exit, Failure};
use super::table::write_table;
use crate::account::audit::Origin;
use crate::config::StorageConfig;
use crate::runs::health::Learnt;

/// List or reset the deadlines that were learnt from the answers of modules
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct DeadlineArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(ListArgs),
    Reset(ResetArgs),
}

/// List the modules with a learnt deadline
///
/// A server uses at most its --check-timeout. It uses no learnt deadline for modules that need a browser.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline deadline list")]
struct ListArgs {
    #[command(flatten)]
    storage: StorageConfig,
}

/// Forget learnt deadlines; running servers do so within seconds
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline deadline reset github
  sightline deadline reset --all")]
struct ResetArgs {
    /// Module by its id, as `deadline list` shows it
    #[arg(value_name = "MODULE", required_unless_present = "all", conflicts_with = "all")]
    module: Option<String>,
    /// Reset all modules
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(crate) fn run(args: &DeadlineArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match &args.action {
        Action::List(args) => list(args, out)?,
        Action::Reset(args) => reset(args, out)?,
    }
    Ok(Exit::Done)
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let (store, now) = (open_store(&args.storage)?, Timestamp::now());
    let mut rows = Vec::new();
    for (is_simulated, web) in [(false, "real"), (true, "simulated")] {
        for (module, tally) in store.share_health(is_simulated, &Vec::new())? {
            if let Some(deadline) = tally.latencies.deadline(now, Duration::MAX) {
                rows.push(vec![
                    module.to_string(),
                    web.to_owned(),
                    format!("{:.1}s", deadline.as_secs_f64()),
                ]);
            }
        }
    }
    rows.sort();
    Ok(write_table(out, &["MODULE", "WEB", "DEADLINE"], &rows)?)
}

fn reset(args: &ResetArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let modules = store.reset(Learnt::Deadlines, args.module.as_deref(), Timestamp::now(), &Origin::CLI)?;
    if let (Some(module), true) = (&args.module, modules.is_empty()) {
        return Err(Failure::Failed(format!(
            "nothing was learnt about the deadline of {module}; `sightline deadline list` shows the modules with a \
             learnt deadline"
        )));
    }
    Ok(modules.iter().try_for_each(|module| writeln!(out, "{module}"))?)
}
