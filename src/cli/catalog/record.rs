//! `catalog record`: records the answers of a site to a module.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command};

use super::choice;
use super::load::load;
use crate::app::{RecordRequest, check_keys, record};
use crate::base::text::plain;
use crate::cli::exit::{Exit, Failure};
use crate::cli::logging::start_log;
use crate::cli::replace;
use crate::cli::unused::UnusedDatabase;
use crate::config::{EngineConfig, LogConfig};
use crate::modules::module::Module;
use crate::modules::query::Query;
use crate::modules::recording::Recording;

/// Record the answers of a site for a known name and for a made-up one
///
/// Writes a file for each: the requests, the answers, and what the module makes of them. Cookies, keys, tokens,
/// session ids, IP addresses and the email addresses of others are removed or replaced. Read the files before
/// you publish them: a page can contain more that belongs to others.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline catalog record github --output tests/recorded
  sightline catalog record github --known torvalds --output recordings")]
pub(super) struct RecordArgs {
    /// Id of the module, as in `catalog list`
    id: String,
    /// A query that the site knows; by default the first of the module's known ones
    #[arg(long, value_name = "NAME")]
    known: Option<String>,
    /// Write the files to this folder, which is created if it does not exist
    #[arg(long, value_name = "FOLDER")]
    output: PathBuf,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    log: LogConfig,
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// Sets the defaults of the options that a recording shares with a search.
pub(crate) fn record_command(command: Command) -> Command {
    command
        .mut_arg("log_level", |level| level.default_value("warn"))
        .mut_arg("sandbox", |web| web.default_missing_value("perfect"))
}

pub(super) fn run(mut args: RecordArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    args.engine.check(std::env::vars_os())?;
    start_log(&args.log)?;
    let catalog = load(&args.engine.catalog)?;
    check_keys(&args.engine, &catalog)?;
    let module = choice::by_id(&catalog, &args.id)?;
    let known = known(module, args.known.as_deref())?;
    std::fs::create_dir_all(&args.output).map_err(|error| replace::cannot_write(&args.output, &error))?;
    let recordings = record(&RecordRequest { module: module.clone(), known, engine: args.engine })?;
    let [of_known, of_made_up] = recordings.each_ref().map(Recording::name);
    let of_made_up = if of_made_up == of_known { of_made_up + ".made_up" } else { of_made_up };
    for (recording, name) in recordings.iter().zip([of_known, of_made_up]) {
        let path = args.output.join(name + ".json");
        let text = recording.to_text()?;
        replace::write(&path, &text)?;
        let scrubbed = recording.scrubbed.join(", ");
        let path = path.display().to_string();
        writeln!(out, "{}: {}, removed or replaced: {scrubbed}", plain(&path), recording.expected.outcome)?;
    }
    Ok(Exit::Done)
}

/// Returns the query that the site knows.
fn known(module: &Module, given: Option<&str>) -> Result<Query, Failure> {
    let text = given
        .or(module.entry().known.first().map(String::as_str))
        .ok_or_else(|| Failure::Usage(format!("{} has no known name: give one with --known", module.id())))?;
    Query::parse(module.search_type(), text).map_err(|error| Failure::Usage(format!("--known: {error}")))
}
