//! Tests a catalogue against the real web, or against a simulated one with every kind of fault, and learns rules from the
//! answers of real sites.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use super::engine::{checker, operator_keys, prober, sandbox_options};
use super::error::Failure;
use crate::base::descriptors;
use crate::config::{EngineConfig, SandboxMode};
use crate::modules::checker::Checker;
use crate::modules::definition::{Contact, Entry};
use crate::modules::keys::OperatorKeys;
use crate::modules::learn::{Learner, Lesson, NotLearned};
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::runs::proof::ExpectedOutcome::{self, Exactly, Neither};
use crate::runs::proof::{ModuleProof, ProofOptions, SimulatedFault, Stop, Verdict, prove};
use crate::sandbox::{Sandbox, SandboxOptions, SiteBehavior};

/// The time limit for silent sites, which wait at the same time. On a busy machine, a check may take a second to send its
/// request, and without one nothing is proven.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);

/// A fault: its name, the behaviour of every site, and the outcome that a module must give, or `None` if the fault does not
/// apply to the module.
type Fault = (&'static str, SiteBehavior, fn(&Module) -> Option<ExpectedOutcome>);

/// The faults in the order of the report.
const FAULTS: [Fault; 8] = [
    ("challenge", SiteBehavior::Blocked, |_| Some(Exactly(Outcome::Blocked))),
    // The front page of the queried domain can be a login page, so that page is no barrier.
    ("login_wall", SiteBehavior::LoginPage, |module| {
        (module.entry().contact != Contact::TargetWeb).then_some(Neither)
    }),
    ("empty_page", SiteBehavior::Empty, |_| Some(Neither)),
    ("server_error", SiteBehavior::Broken, |_| Some(Neither)),
    ("connection_reset", SiteBehavior::Reset, |_| Some(Neither)),
    ("rate_limit", SiteBehavior::RateLimited, |_| Some(Exactly(Outcome::RateLimited))),
    ("silence", SiteBehavior::Silent, |_| Some(Exactly(Outcome::Timeout))),
    // Without a control check nothing can detect this.
    ("yes_to_all", SiteBehavior::SaysYes, |module| {
        module.is_controlled().then_some(Exactly(Outcome::Unreliable))
    }),
];

/// Tests every module, enabled or not, and calls `progress` after each with the numbers of modules that are done and that
/// fail. Returns the proofs in the order of the modules. `faults` says whether each kind of fault is also tested, which needs
/// a simulated web.
///
/// # Errors
/// Fails if the test cannot start.
pub fn prove_modules(
    modules: &[Arc<Module>],
    engine: &EngineConfig,
    faults: bool,
    stop: &Stop,
    progress: impl FnMut(usize, usize),
) -> Result<Vec<ModuleProof>, Failure> {
    let (simulated_web, checker, seed) = match sandbox_options(engine.sandbox) {
        Some(options) => {
            let seed = options.seed;
            let (web, checker) = simulated(modules, engine, options);
            (Some(web), checker, seed)
        }
        None if faults => return Err(Failure::usage("--faults needs --sandbox: faults are simulated")),
        None => {
            let seed = RandomState::new().hash_one(modules.len());
            (None, checker(engine, prober(engine)?.0, operator_keys(engine)), seed)
        }
    };
    let fault = |&(name, behavior, wants): &Fault| {
        let options = SandboxOptions { shares: vec![(behavior, 1.0)], ..SandboxOptions::perfect() };
        let (_, checker) = simulated(modules, engine, options);
        let timeout = if behavior == SiteBehavior::Silent { SILENCE_TIMEOUT } else { engine.check_timeout };
        SimulatedFault { name, checker, timeout, wants }
    };
    let workers = engine.check_workers;
    let options = ProofOptions {
        checker,
        simulated: simulated_web.is_some(),
        faults: FAULTS.iter().filter(|_| faults).map(fault).collect(),
        jobs: descriptors::checks(workers),
        host_concurrency: engine.host_concurrency,
        // The simulated web renders pages without real browsers, so as many run as there are workers.
        browser_jobs: if simulated_web.is_some() { workers } else { engine.browsers.browser_sessions },
        timeout: engine.check_timeout,
        seed,
    };
    let mut proofs = prove(modules, &options, stop, progress);
    if let Some(web) = simulated_web.filter(|_| !stop.is_set()) {
        explain(&mut proofs, &web);
    }
    Ok(proofs)
}

/// Returns a simulated web, and a checker with all keys that sends its requests there.
fn simulated(
    modules: &[Arc<Module>],
    engine: &EngineConfig,
    options: SandboxOptions,
) -> (Arc<Sandbox>, Arc<Checker>) {
    let web = Arc::new(Sandbox::new(modules.iter().cloned(), options));
    let needs = modules.iter().flat_map(|module| &module.entry().needs);
    let keys = needs.map(|need| (need.trim_start_matches("config.").to_owned(), "simulated".to_owned()));
    let prober = Arc::clone(&web) as _;
    (web, checker(engine, prober, OperatorKeys::new(keys)))
}

/// Replaces the reason of a failed proof if the simulated web cannot generate pages for the module's rules.
fn explain(proofs: &mut [ModuleProof], web: &Sandbox) {
    for problem in web.problems() {
        if let Some(proof) = proofs.iter_mut().find(|proof| proof.module == problem.module) {
            proof.verdict = Verdict::Broken;
            proof.why = Some(format!("the simulated web cannot satisfy its rules: {}", problem.what));
        }
    }
}

/// Learns new rules for each entry, one after the other. Returns the results in the order of the entries.
///
/// # Errors
/// Fails if no requests can be sent, or if the web is simulated. A simulated web has the answers that the existing
/// rules expect, so that there is nothing to learn from them.
pub fn learn_entries(
    engine: &EngineConfig,
    entries: &[Entry],
    stop: &Stop,
) -> Result<Vec<Result<Lesson, NotLearned>>, Failure> {
    if engine.sandbox != SandboxMode::Off {
        return Err(Failure::usage("rules are learned from real sites: omit --sandbox"));
    }
    let checker = checker(engine, prober(engine)?.0, operator_keys(engine));
    let is_stopped = || stop.is_set();
    let learner = Learner { checker: &checker, timeout: engine.check_timeout, is_stopped: &is_stopped };
    Ok(entries.iter().map(|entry| learner.learn(entry)).collect())
}
