//! A catalogue proved: against the real web, or against a simulated one with all its troubles.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use super::AppError;
use super::parts::{checker, http_prober, prober, sandbox_options, start_sandbox};
use crate::config::EngineConfig;
use crate::modules::check::Checker;
use crate::modules::definition::Contact;
use crate::modules::keys::OperatorKeys;
use crate::modules::module::Module;
use crate::runs::proof::question::Want;
use crate::runs::proof::{ModuleProof, ProofOptions, Standing, Stop, Trouble, Verdict, prove};
use crate::sandbox::{Mood, Sandbox, SandboxOptions, Shares};

/// Long enough for a loopback connection on a busy machine, short enough for a catalogue of silent sites.
const SILENCE: Duration = Duration::from_millis(700);

/// What a check of a module must come to where every site is in trouble.
type Wants = fn(&Module) -> Option<Want>;

/// The troubles, in the report's order: name, what every site does, what a check must then come to.
const TROUBLES: [(&str, Mood, Wants); 8] = [
    ("challenge", Mood::Blocked, |_| Some(Want::Blocked)),
    // The front page of the queried domain may well be a login page.
    ("login_wall", Mood::Walled, |module| {
        (module.entry().contact != Contact::TargetWeb).then_some(Want::Neither)
    }),
    ("empty_page", Mood::Empty, |_| Some(Want::Neither)),
    ("server_error", Mood::Broken, |_| Some(Want::Neither)),
    ("connection_reset", Mood::Reset, |_| Some(Want::Neither)),
    ("rate_limit", Mood::RateLimited, |_| Some(Want::RateLimited)),
    ("silence", Mood::Silent, |_| Some(Want::Timeout)),
    // Without a control check nobody could notice.
    ("yes_to_all", Mood::SaysYes, |module| module.is_controlled().then_some(Want::Unreliable)),
];

/// What is to be proved, and how.
#[derive(Debug, Clone)]
pub struct ProofRequest {
    /// The modules that are asked, switched on or not.
    pub modules: Vec<Arc<Module>>,
    /// Which web, which keys, how many checks at once and how long.
    pub engine: EngineConfig,
    /// Also names on sites in trouble. For a simulated web only.
    pub faults: bool,
}

/// Asks every module; `progress` is called whenever one is done. Proofs come in the order of the modules.
///
/// # Errors
/// It could not start.
pub fn prove_modules(
    request: &ProofRequest,
    stop: &Stop,
    progress: impl FnMut(Standing),
) -> Result<Vec<ModuleProof>, AppError> {
    let engine = &request.engine;
    let Some(options) = sandbox_options(engine.sandbox) else {
        if request.faults {
            return Err(AppError::Config("troubles are simulated: --faults needs --sandbox".to_owned()));
        }
        let keys = engine.keys.iter().map(|(name, value)| (name.clone(), value.expose().clone()));
        // The browsers live as long as they are asked.
        let (prober, _browsers) = prober(engine, None)?;
        let checker = checker(engine, prober, OperatorKeys::new(keys));
        let seed = RandomState::new().hash_one(request.modules.len());
        let browser_jobs = engine.browsers.browser_sessions;
        let options = ProofOptions { browser_jobs, ..options_of(engine, checker, seed) };
        return Ok(prove(&request.modules, &options, stop, progress));
    };
    let (web, checker) = simulated(request, options.clone())?;
    let mut proof = ProofOptions { simulated: true, ..options_of(engine, checker, options.seed) };
    // They live as long as they are asked.
    let mut webs = Vec::new();
    for (name, mood, wants) in TROUBLES.iter().filter(|_| request.faults) {
        let options = SandboxOptions { shares: Shares::only(*mood), ..SandboxOptions::perfect() };
        let (web, checker) = simulated(request, options)?;
        let timeout = if *mood == Mood::Silent { SILENCE } else { engine.check_timeout };
        proof.troubles.push(Trouble { name, checker, timeout, wants: *wants });
        webs.push(web);
    }
    let mut proofs = prove(&request.modules, &proof, stop, progress);
    if !stop.is_set() {
        explain(&mut proofs, &web);
    }
    Ok(proofs)
}

fn options_of(engine: &EngineConfig, checker: Arc<Checker>, seed: u64) -> ProofOptions {
    ProofOptions {
        checker,
        simulated: false,
        troubles: Vec::new(),
        jobs: engine.check_workers,
        // The simulated web is as many browsers as it takes.
        browser_jobs: engine.check_workers,
        timeout: engine.check_timeout,
        seed,
    }
}

/// A simulated web, and a checker that asks it and has all keys.
fn simulated(request: &ProofRequest, options: SandboxOptions) -> Result<(Sandbox, Arc<Checker>), AppError> {
    let web = start_sandbox(&request.modules, options)?;
    let needs = request.modules.iter().flat_map(|module| &module.entry().needs);
    let keys = needs.map(|need| (need.trim_start_matches("config.").to_owned(), "simulated".to_owned()));
    // The simulated web renders its pages itself: a browser for each web would be many.
    let prober = http_prober(&request.engine, Some(&web))?;
    Ok((web, checker(&request.engine, prober, OperatorKeys::new(keys))))
}

/// Where the simulated web can make no answers, the module's rules tell hit and miss not apart.
fn explain(proofs: &mut [ModuleProof], web: &Sandbox) {
    let problems: BTreeMap<String, String> =
        web.problems().into_iter().map(|problem| (problem.module, problem.what)).collect();
    for proof in proofs {
        if let Some(problem) = problems.get(&proof.module) {
            proof.verdict = Verdict::Broken;
            proof.why = Some(format!("its rules cannot be played: {problem}"));
        }
    }
}
