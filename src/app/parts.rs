//! Catalogue, prober, checker and runs: what serving and searching share.

use std::sync::Arc;
use std::time::Duration;

use log::{debug, info, warn};

use super::{AppError, browsers};
use crate::base::clock::Clock;
use crate::config::{EngineConfig, SandboxMode};
use crate::modules::catalog::Catalog;
use crate::modules::check::Checker;
use crate::modules::import::report::NoteKind;
use crate::modules::keys::OperatorKeys;
use crate::modules::module::Module;
use crate::modules::probe::{Browsers, NoBrowser, Prober};
use crate::net::{Carriers, HttpProber, NetConfig, RealBrowsers};
use crate::runs::journal::Journal;
use crate::runs::service::{Runs, RunsConfig};
use crate::runs::workshop::Limits;
use crate::sandbox::{Sandbox, SandboxOptions, SimulatedBrowsers};

/// Runs that may wait for a driver: at the usual length of a search, some ten minutes' worth.
const MAX_WAITING_RUNS: usize = 1000;
/// How long a run that has ended stays in memory.
const KEEP_ENDED: Duration = Duration::from_secs(60);
/// How long a run that has asked everything waits for a store that is away: longer than a restart, a failover or
/// the freeing of a disk takes. What it holds in memory stays within bounds: no run starts meanwhile.
const STORE_PATIENCE: Duration = Duration::from_secs(10 * 60);

/// The engine of searches.
pub(super) struct Engine {
    pub(super) runs: Arc<Runs>,
    /// They end with the engine; before the simulated web that they may look at.
    pub(super) browsers: Option<Arc<RealBrowsers>>,
    /// The simulated web lives as long as those who ask it.
    pub(super) sandbox: Option<Sandbox>,
}

impl Engine {
    /// Starts the workers; at most `max_runs` runs are driven at once. `lease`: how long a process may be
    /// silent before another one goes on with its runs.
    pub(super) fn build(
        config: &EngineConfig,
        catalog: Arc<Catalog>,
        max_runs: usize,
        lease: Duration,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, AppError> {
        let sandbox = match sandbox_options(config.sandbox) {
            None => None,
            Some(options) => Some(start_sandbox(catalog.modules(), options)?),
        };
        let (prober, real) = prober(config, sandbox.as_ref())?;
        let browsers: Arc<dyn Browsers> = match (&real, &sandbox) {
            (Some(real), _) => Arc::clone(real) as _,
            (None, Some(_)) => Arc::new(SimulatedBrowsers::default()),
            (None, None) => Arc::new(NoBrowser),
        };
        let keys = config.keys.iter().map(|(name, value)| (name.clone(), value.expose().clone()));
        let checker = checker(config, prober, OperatorKeys::new(keys));
        let runs = Runs::new(
            journal,
            catalog,
            checker,
            browsers,
            clock,
            RunsConfig {
                check_workers: config.check_workers,
                max_runs,
                max_waiting: MAX_WAITING_RUNS,
                limits: Limits {
                    check_timeout: config.check_timeout,
                    run_timeout: config.run_timeout,
                    // The rest of it is for noticing: whoever looks for interrupted runs does so every now and then.
                    lease: lease * 3 / 4,
                    store_patience: STORE_PATIENCE,
                },
                keep_ended: KEEP_ENDED,
                discovery: config.discovery,
                simulated: sandbox.is_some(),
            },
        );
        Ok(Self { runs, browsers: real, sandbox })
    }
}

impl Drop for Engine {
    /// Whoever else knows the browsers, they end.
    fn drop(&mut self) {
        if let Some(browsers) = &self.browsers {
            browsers.stop();
        }
    }
}

/// Loads the catalogue: to be done before anything is created, so that a mistake leaves nothing behind.
pub(super) fn load_catalog(config: &EngineConfig) -> Result<Arc<Catalog>, AppError> {
    let catalog = Catalog::load(!config.catalog.no_builtin, &config.catalog.files)
        .map_err(|error| AppError::Config(error.to_string()))?;
    if !catalog.modules().iter().any(|module| module.entry().enabled) {
        let message = "the catalogue has no module that is switched on: nothing could be searched";
        return Err(AppError::Config(message.to_owned()));
    }
    super::keys::check(config, &catalog)?;
    tell_lists(&catalog);
    Ok(Arc::new(catalog))
}

/// Says what became of other tools' lists: what is left out by each entry, the rest where it is asked for.
fn tell_lists(catalog: &Catalog) {
    for list in catalog.lists() {
        list.lines(NoteKind::LeftOut).for_each(|line| warn!("{line}"));
        list.lines(NoteKind::Changed).for_each(|line| info!("{line}"));
        list.lines(NoteKind::AlreadyThere).for_each(|line| debug!("{line}"));
        info!("{}", list.summary());
    }
}

/// What is simulated, if anything is.
pub(super) fn sandbox_options(mode: SandboxMode) -> Option<SandboxOptions> {
    match mode {
        SandboxMode::Off => None,
        SandboxMode::Realistic => Some(SandboxOptions::default()),
        SandboxMode::Perfect => Some(SandboxOptions::perfect()),
    }
}

/// Starts a simulated web for these modules.
pub(super) fn start_sandbox(modules: &[Arc<Module>], options: SandboxOptions) -> Result<Sandbox, AppError> {
    Sandbox::start(modules.iter().cloned(), options)
        .map_err(|error| AppError::Failed(format!("the simulated web could not be started: {error}")))
}

/// Who sends requests, and the browsers that it has.
pub(super) type Senders = (Arc<dyn Prober>, Option<Arc<RealBrowsers>>);

/// Who sends requests; with browsers where some are configured.
pub(super) fn prober(config: &EngineConfig, sandbox: Option<&Sandbox>) -> Result<Senders, AppError> {
    let http = http_prober(config, sandbox)?;
    let simulated = sandbox.map(|_| Arc::clone(&http));
    let Some(browsers) = browsers::start(&config.browsers, net_config(config, sandbox), simulated)? else {
        return Ok((http, None));
    };
    let browser = browsers.prober();
    Ok((Arc::new(Carriers { http, browser }), Some(Arc::new(browsers))))
}

/// Who sends requests through real sockets: to the simulated web, if there is one.
pub(super) fn http_prober(
    config: &EngineConfig,
    sandbox: Option<&Sandbox>,
) -> Result<Arc<dyn Prober>, AppError> {
    let prober = HttpProber::new(net_config(config, sandbox));
    Ok(Arc::new(prober.map_err(|error| AppError::Config(error.to_string()))?))
}

fn net_config(config: &EngineConfig, sandbox: Option<&Sandbox>) -> NetConfig {
    NetConfig {
        user_agent: config.user_agent.clone(),
        allow_private_targets: config.allow_private_targets,
        outbound_proxy: config.outbound_proxy.as_ref().map(|proxy| proxy.expose().clone()),
        sandbox: sandbox.map(Sandbox::addr),
        ..NetConfig::default()
    }
}

/// Checks whose requests `prober` sends.
pub(super) fn checker(config: &EngineConfig, prober: Arc<dyn Prober>, keys: OperatorKeys) -> Arc<Checker> {
    Arc::new(Checker::new(prober, keys, config.user_agent.clone(), config.control_ttl))
}
