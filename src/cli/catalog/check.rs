//! `catalog check`: tests every module with names that must hit and names that must miss.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, Command};

use super::choice::{self, Choice, load};
use super::learn::RepairArgs;
use super::report::Report;
use crate::app::{check_keys, prove_modules};
use crate::cli::bar::Bar;
use crate::cli::exit::{Exit, Failure, stop_on_interrupt};
use crate::cli::files::Replacement;
use crate::cli::serve::begin;
use crate::cli::table::TextFormat;
use crate::config::{EngineConfig, LogConfig, SandboxMode};
use crate::modules::catalog::Catalog;
use crate::modules::module::Module;
use crate::runs::proof::Stop;

/// Test modules with known names, which must hit, and with made-up ones, which must miss
///
/// Verdicts: `ok`; `broken` (a known name misses, or the rules do not fit the answer); `unreliable` (a
/// made-up name hits); `blocked`, `timeout`, `error` (the site gave no usable answer); `unproven` (no known
/// name, or a key or a browser is missing). Ctrl-C ends the test with a report of what is known by then.
/// Disabled modules are tested only if `--module` names them, those that touch a sign-in page only with
/// `--discovery`, those that need a browser only with `--premium`. A simulated web renders their pages
/// itself.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no module is broken or unreliable (with --sandbox: all are ok), 1 some are, 2 usage, 3 failed:
stopped, or no site could be reached.

Examples:
  sightline catalog check --module github --module gitlab
  sightline catalog check --type domain --format json --output report.json
  sightline catalog check --no-builtin --catalog my-sites.json
  sightline catalog check --premium --browser auto --tag premium
  sightline catalog check --module github --repair --repaired repaired.json
  sightline catalog check --sandbox --faults     nothing outside is asked")]
pub(crate) struct CheckArgs {
    /// Only the module with this id (repeatable)
    #[arg(long = "module", value_name = "ID", conflicts_with_all = ["search_type", "categories", "tags"])]
    modules: Vec<String>,
    #[command(flatten)]
    choice: Choice,
    /// Format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also test with faulty sites (a challenge, a login wall, an empty page, an error, a reset, a limit,
    /// silence, a hit for every name), which must give neither hit nor miss; with --sandbox only
    #[arg(long, requires = "sandbox")]
    faults: bool,
    /// Also test the modules that need a browser: see --browser
    #[arg(long)]
    premium: bool,
    #[command(flatten)]
    repair: RepairArgs,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    log: LogConfig,
}

/// Sets the defaults of the options that a test of the catalogue shares with a search.
pub(crate) fn proof_command(command: Command) -> Command {
    command
        .mut_arg("log_level", |level| level.default_value("warn"))
        .mut_arg("sandbox", |web| web.default_missing_value("perfect"))
        .mut_arg("check_workers", |jobs| jobs.visible_alias("jobs").default_value("64"))
        .mut_arg("check_timeout", |timeout| timeout.visible_alias("timeout"))
        .mut_arg("run_timeout", |timeout| timeout.default_value("1h").hide(true))
}

pub(super) fn run(mut args: CheckArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    begin(&mut args.engine, &args.log)?;
    if args.premium && args.engine.sandbox == SandboxMode::Off && args.engine.browsers.browser.is_none() {
        return Err(Failure::usage("--premium needs a browser: add --browser auto"));
    }
    let catalog = load(&args.engine.catalog)?;
    check_keys(&args.engine, &catalog)?;
    let (modules, left_out) = choose(&args, &catalog)?;
    // Opened before any request, so that none is made if the report cannot be written.
    let mut file = args.output.as_deref().map(Replacement::begin).transpose()?;

    let (began, bar) = (Instant::now(), Bar::new());
    let stop = Stop::default();
    stop_on_interrupt(&stop)?;
    let total = modules.len() as u64;
    let show = |done, failing| bar.show(done as u64, total, &format!("{failing} failing"));
    let proofs = prove_modules(&modules, &args.engine, args.faults, &stop, show);
    bar.clear();
    let proofs = proofs?;
    let repairs = args.repair.repair(&args.engine, &modules, &proofs, &stop)?;
    let saved = args.repair.save(&repairs)?;
    let is_simulated = args.engine.sandbox != SandboxMode::Off;
    let report = Report::new(proofs, repairs, is_simulated, !stop.is_set(), left_out, began.elapsed());
    match &mut file {
        Some(file) => report.write(args.format, file)?,
        None => report.write(args.format, out)?,
    }
    file.map_or(Ok(()), Replacement::finish)?;
    if let Some(line) = saved {
        // A closed standard error does not change the file.
        let _ = writeln!(io::stderr(), "{line}");
    }
    if args.output.is_some() || args.format == TextFormat::Json {
        // A closed standard error does not change the report.
        let _ = writeln!(io::stderr(), "{}", report.summary());
    }
    Ok(report.exit())
}

/// Returns the modules to test, and the number of modules that are skipped because they were not named.
fn choose(args: &CheckArgs, catalog: &Catalog) -> Result<(Vec<Arc<Module>>, usize), Failure> {
    if args.modules.is_empty() {
        let all = args.choice.modules(catalog)?;
        let is_simulated = args.engine.sandbox != SandboxMode::Off;
        let is_asked = |module: &Module| {
            let entry = module.entry();
            entry.enabled
                && (args.engine.discovery || !entry.discovery || is_simulated)
                && (args.premium || !module.is_premium() || is_simulated)
        };
        let modules: Vec<Arc<Module>> =
            all.iter().filter(|it| is_asked(it)).map(|it| Arc::clone(it)).collect();
        let left_out = all.len() - modules.len();
        return Ok((modules, left_out));
    }
    let mut modules: Vec<Arc<Module>> = Vec::new();
    for id in &args.modules {
        let module = choice::by_id(catalog, id)?;
        if modules.iter().all(|known| known.id() != module.id()) {
            // Naming a disabled module asks whether it works again.
            modules.push(Arc::new(module.to_enabled()));
        }
    }
    Ok((modules, 0))
}
