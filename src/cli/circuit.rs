//! `circuit list`, `reset`: the hosts that searches do not ask, because they gave no answer.

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

/// List or reset the hosts that searches do not ask, because they gave no answer
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct CircuitArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(ListArgs),
    Reset(ResetArgs),
}

/// List the hosts that searches do not ask, each with the time of the next try
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline circuit list")]
struct ListArgs {
    #[command(flatten)]
    storage: StorageConfig,
}

/// Ask hosts again at once; running servers do so within seconds
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline circuit reset example.org
  sightline circuit reset --all")]
struct ResetArgs {
    /// Host as `circuit list` shows it
    #[arg(value_name = "HOST", required_unless_present = "all", conflicts_with = "all")]
    host: Option<String>,
    /// Reset all hosts
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    storage: StorageConfig,
}

pub(crate) fn run(args: &CircuitArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
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
        for record in store.share_circuits(is_simulated, &[])? {
            let Some(opening) = record.opening else { continue };
            let times = [opening.since, opening.next_try].map(|at| rfc3339_millis(at).to_string());
            let [since, next_try] = times;
            rows.push(vec![record.name, web.to_owned(), opening.cause.as_str().to_owned(), since, next_try]);
        }
    }
    Ok(write_table(out, &["HOST", "WEB", "OUTCOME", "SINCE", "NEXT TRY"], &rows)?)
}

fn reset(args: &ResetArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let hosts = store.reset(Learnt::Circuits, args.host.as_deref(), Timestamp::now(), &Origin::CLI)?;
    if let (Some(host), true) = (&args.host, hosts.is_empty()) {
        return Err(Failure::Failed(format!(
            "{host} is not among the hosts that searches do not ask; `sightline circuit list` shows them"
        )));
    }
    Ok(hosts.iter().try_for_each(|host| writeln!(out, "{host}"))?)
}
