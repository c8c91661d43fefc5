//! `catalog check`: every module is asked for names that must hit and names that must miss.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use clap::{Args, Command, ValueEnum};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::choice::{self, Choice};
use super::load;
use super::report::Report;
use crate::app::{ProofRequest, check_keys, prove_modules};
use crate::base::text::plain;
use crate::cli::bar::Bar;
use crate::cli::exit::{Exit, Failure};
use crate::cli::replace::Replacement;
use crate::cli::serve::start_log;
use crate::cli::unused::UnusedDatabase;
use crate::config::{EngineConfig, LogConfig, SandboxMode};
use crate::modules::catalog::Catalog;
use crate::modules::definition::Entry;
use crate::modules::module::Module;
use crate::runs::proof::{Standing, Stop};

/// Ask modules for known names, which must hit, and for made-up ones, which must miss
///
/// Verdicts: `ok`; `broken` (a known name misses, or the rules do not fit the answer); `unreliable` (it says
/// yes to a made-up name); `blocked`, `timeout`, `error` (the site gave no usable answer); `unproven` (no
/// known name, or it needs a key or a browser). Ctrl-C ends with a report of what is known by then. Modules
/// that are switched off are asked only where `--module` names them, those that touch a sign-in page only
/// with `--discovery`, those that need a browser only with `--premium`. A simulated web draws their pages itself.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no module is broken or unreliable (with --sandbox: all are ok), 1 some are, 2 usage, 3 failed:
stopped, or no site could be reached.

Examples:
  sightline catalog check --module github --module gitlab
  sightline catalog check --type domain --format json --output report.json
  sightline catalog check --no-builtin --catalog my-sites.json
  sightline catalog check --premium --webdriver auto --tag premium
  sightline catalog check --sandbox --faults     nothing outside is asked")]
pub(super) struct CheckArgs {
    /// Only the module of this id (repeatable)
    #[arg(long = "module", value_name = "ID", conflicts_with_all = ["search_type", "categories", "tags"])]
    modules: Vec<String>,
    #[command(flatten)]
    choice: Choice,
    /// How the report is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Write the report to this file
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Also ask sites in trouble (a challenge, a login wall, an empty page, an error, a reset, a limit,
    /// silence, a yes to every name), which must prove nothing; with --sandbox only
    #[arg(long)]
    faults: bool,
    /// Ask the modules that need a browser too: see --webdriver
    #[arg(long)]
    premium: bool,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    log: LogConfig,
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people: what is not ok, and a summary
    Text,
    /// Everything that was asked, and what was seen
    Json,
}

/// What a check has in common with a search, with defaults of its own.
pub(crate) fn proof_command(command: Command) -> Command {
    command
        .mut_arg("log_level", |level| level.default_value("warn"))
        .mut_arg("sandbox", |web| web.default_missing_value("perfect"))
        .mut_arg("check_workers", |jobs| jobs.visible_alias("jobs").default_value("64"))
        .mut_arg("check_timeout", |timeout| timeout.visible_alias("timeout"))
        .mut_arg("run_timeout", |timeout| timeout.default_value("1h").hide(true))
        .mut_arg("control_ttl", |ttl| ttl.hide(true))
}

/// The modules to ask, and how many are left out unless they are named.
struct Chosen {
    modules: Vec<Arc<Module>>,
    left_out: usize,
}

pub(super) fn run(mut args: CheckArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    args.engine.check(std::env::vars_os())?;
    if args.faults && args.engine.sandbox == SandboxMode::Off {
        return Err(Failure::Usage(
            "--faults needs --sandbox: real sites are in no trouble of ours".to_owned(),
        ));
    }
    if args.premium && args.engine.sandbox == SandboxMode::Off && args.engine.browsers.webdrivers.is_empty() {
        return Err(Failure::Usage(
            "--premium needs a browser: say --webdriver auto, or where one is to be had".to_owned(),
        ));
    }
    start_log(&args.log)?;
    let catalog = load(&args.engine.catalog)?;
    check_keys(&args.engine, &catalog)?;
    let Chosen { modules, left_out } = choose(&args, &catalog)?;
    // Before anything is asked: a report that cannot be written is worth no requests.
    let mut file = args.output.as_deref().map(begin).transpose()?;

    let request = ProofRequest { modules, engine: args.engine, faults: args.faults };
    let (began, bar) = (Instant::now(), Bar::new());
    let stop = Stop::default();
    let signals = Watch::start(&stop)?;
    let proofs = prove_modules(&request, &stop, |standing| show(&bar, standing));
    bar.clear();
    drop(signals);
    let is_simulated = request.engine.sandbox != SandboxMode::Off;
    let report = Report::new(proofs?, is_simulated, !stop.is_set(), left_out, began.elapsed());
    match &mut file {
        Some(file) => report.write(args.format, file)?,
        None => report.write(args.format, out)?,
    }
    if let (Some(file), Some(path)) = (file, &args.output) {
        file.finish().map_err(|error| unwritable(path, &error))?;
    }
    if args.output.is_some() || args.format == Format::Json {
        // That it cannot be said changes nothing about the report.
        let _ = writeln!(io::stderr(), "{}", report.summary());
    }
    Ok(report.exit())
}

fn choose(args: &CheckArgs, catalog: &Catalog) -> Result<Chosen, Failure> {
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
        return Ok(Chosen { left_out: all.len() - modules.len(), modules });
    }
    let mut modules: Vec<Arc<Module>> = Vec::new();
    for id in &args.modules {
        let module = choice::by_id(catalog, id)?;
        if modules.iter().all(|known| known.id() != module.id()) {
            modules.push(switched_on(module)?);
        }
    }
    Ok(Chosen { modules, left_out: 0 })
}

/// Whoever names a module that is switched off wants to know whether it works again.
fn switched_on(module: &Arc<Module>) -> Result<Arc<Module>, Failure> {
    if module.entry().enabled {
        return Ok(Arc::clone(module));
    }
    let entry = Entry { enabled: true, ..module.entry().clone() };
    Module::compile(entry).map(Arc::new).map_err(|mistakes| {
        let first = mistakes.first().map(ToString::to_string).unwrap_or_default();
        Failure::Failed(format!("{} cannot be switched on: {}", module.id(), plain(&first)))
    })
}

fn begin(path: &Path) -> Result<Replacement, Failure> {
    Replacement::begin(path).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{} cannot be written: {error}", plain(&path.display().to_string())))
}

fn show(bar: &Bar, standing: Standing) {
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    bar.show(number(standing.done), number(standing.total), format!("{} failing", standing.failing));
}

/// Ctrl-C stops the proof, a second one the process. Ends when dropped.
struct Watch {
    handle: signal_hook::iterator::Handle,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watch {
    fn start(stop: &Stop) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Failed(format!("signals: {error}"));
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
        let (handle, stop) = (signals.handle(), stop.clone());
        let watch = move || {
            for _ in signals.forever() {
                if stop.is_set() {
                    std::process::exit(130);
                }
                stop.stop();
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(failed)?;
        Ok(Self { handle, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // It only waits for signals.
            let _ = thread.join();
        }
    }
}
