//! [`Engine`]: the catalogue, prober, checker and runs, which all commands share that ask sites.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use log::{debug, info, warn};

use super::error::Failure;
use crate::base::clock::Clock;
use crate::base::{descriptors, threads};
use crate::config::{EngineConfig, SandboxMode, Time, VARIABLE_PREFIX};
use crate::modules::catalog::Catalog;
use crate::modules::checker::Checker;
use crate::modules::import::report::NoteKind;
use crate::modules::keys::OperatorKeys;
use crate::modules::near::did_you_mean;
use crate::modules::probe::{Browsers, NoBrowser, Prober};
use crate::net::{BrowserConfig, HttpProber, NetConfig, RealBrowsers};
use crate::runs::service::{ChargeOf, Limits, Runs, RunsConfig};
use crate::sandbox::{Sandbox, SandboxOptions};
use crate::store::Store;

/// The most runs that wait for a driver. At the usual length of a search this is about ten minutes of work.
const MAX_WAITING_RUNS: usize = 1000;
/// The time for which an ended run stays in memory.
const KEEP_ENDED: Duration = Duration::from_secs(60);
/// The longest time that a run whose checks are done waits for an unavailable store. This is longer than a restart, a
/// failover or freeing disk space takes. Memory stays bounded, because no run starts meanwhile.
const STORE_OUTAGE_LIMIT: Duration = Duration::from_secs(10 * 60);

/// The memory for the parsed answers of sites, in bytes. Checks wait for it.
const ANSWER_MEMORY: usize = 256 * 1024 * 1024;

/// The fewest threads that searches need: the first workers, and as many for drivers, look-ups of addresses,
/// maintenance and signals.
const FEWEST_THREADS: usize = 64;

/// The parts that run searches.
pub(super) struct Engine {
    pub(super) runs: Arc<Runs>,
    /// The browser.
    pub(super) browsers: Option<Arc<RealBrowsers>>,
    /// The simulated web.
    pub(super) sandbox: Option<Arc<Sandbox>>,
}

impl Engine {
    /// Builds the parts. `max_runs` bounds the runs that are driven at once.
    pub(super) fn build(
        config: &EngineConfig,
        catalog: Arc<Catalog>,
        max_runs: usize,
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        charge_of: ChargeOf,
    ) -> Result<Self, Failure> {
        threads::require(FEWEST_THREADS).map_err(Failure::failed)?;
        let sandbox = sandbox_options(config.sandbox)
            .map(|options| Arc::new(Sandbox::new(catalog.modules().iter().cloned(), options)));
        let (prober, real) = prober(config)?;
        let prober = sandbox.clone().map_or(prober, |sandbox| sandbox as _);
        let browsers: Arc<dyn Browsers> = match (&real, &sandbox) {
            (Some(real), _) => Arc::clone(real) as _,
            (None, Some(sandbox)) => Arc::clone(sandbox) as _,
            (None, None) => Arc::new(NoBrowser),
        };
        let checker = checker(config, prober, operator_keys(config));
        let runs = Runs::new(
            store,
            catalog,
            checker,
            browsers,
            clock,
            RunsConfig {
                check_workers: check_workers(config),
                host_concurrency: config.host_concurrency,
                share_answers: config.time(Time::SHARE_ANSWERS),
                max_runs,
                max_waiting: MAX_WAITING_RUNS,
                limits: Limits {
                    check_timeout: config.check_timeout,
                    run_timeout: config.run_timeout,
                    // The last quarter is left for noticing: instances look for interrupted runs
                    // periodically.
                    lease: config.time(Time::LEASE) * 3 / 4,
                    store_patience: STORE_OUTAGE_LIMIT,
                    host_retry: config.time(Time::HOST_RETRY),
                    quarantine_retry: config.time(Time::QUARANTINE_RETRY),
                },
                keep_ended: KEEP_ENDED,
                discovery: config.discovery,
                simulated: sandbox.is_some(),
            },
            charge_of,
        );
        Ok(Self { runs, browsers: real, sandbox })
    }
}

impl Drop for Engine {
    /// Ends the browsers, also if other parts still hold a reference.
    fn drop(&mut self) {
        if let Some(browsers) = &self.browsers {
            browsers.stop();
        }
    }
}

/// Returns how many checks run at once: the configured number, or fewer if there are not enough file
/// descriptors. A check without a descriptor would end as skipped.
pub(super) fn check_workers(config: &EngineConfig) -> usize {
    descriptors::adjust_limit();
    let limit = descriptors::limit();
    let possible = descriptors::checks_within(limit);
    if possible < config.check_workers {
        let needed = descriptors::limit_for_checks(config.check_workers);
        warn!(
            "the limit on file descriptors is {limit}: {possible} checks run at once instead of {}, which \
             need a limit of {needed}; raise it (`ulimit -n`, `LimitNOFILE=`)",
            config.check_workers
        );
    }
    possible.min(config.check_workers)
}

/// Loads the catalogue without a feed. Call this before anything is created, so that a mistake in the catalogue leaves
/// nothing behind.
pub(super) fn load_catalog(config: &EngineConfig) -> Result<Arc<Catalog>, Failure> {
    let catalog = Catalog::load(!config.catalog.no_builtin, &config.catalog.files).map_err(Failure::usage)?;
    check_modules(&catalog)?;
    log_list_imports(&catalog);
    Ok(Arc::new(catalog))
}

/// Refuses a catalogue without an enabled module.
pub(super) fn check_modules(catalog: &Catalog) -> Result<(), Failure> {
    if catalog.modules().iter().any(|module| module.entry().enabled) {
        return Ok(());
    }
    Err(Failure::usage("the catalogue has no enabled module: at least one is needed"))
}

/// Logs how lists of other tools were imported: a count for each list, and the left-out entries at debug
/// level.
fn log_list_imports(catalog: &Catalog) {
    for list in catalog.lists() {
        list.lines(NoteKind::LeftOut).for_each(|line| warn!("{line}"));
        list.lines(NoteKind::Changed).for_each(|line| info!("{line}"));
        list.lines(NoteKind::AlreadyThere).for_each(|line| debug!("{line}"));
        info!("{}", list.summary());
    }
}

/// Returns the options of the simulated web, or `None` if the real web is searched.
pub(super) fn sandbox_options(mode: SandboxMode) -> Option<SandboxOptions> {
    match mode {
        SandboxMode::Off => None,
        SandboxMode::Realistic => Some(SandboxOptions::default()),
        SandboxMode::Perfect => Some(SandboxOptions::perfect()),
    }
}

/// A prober, and the browser that it uses.
type ProberParts = (Arc<dyn Prober>, Option<Arc<RealBrowsers>>);

/// Returns the prober of the real web for the configuration, with a browser if one is configured.
pub(super) fn prober(config: &EngineConfig) -> Result<ProberParts, Failure> {
    let http = HttpProber::new(net_config(config));
    let settings = &config.browsers;
    let Some(source) = settings.browser.clone() else { return Ok((Arc::new(http), None)) };
    let browsers = RealBrowsers::start(&BrowserConfig {
        source,
        pages: settings.browser_sessions,
        egress_proxy: settings.browser_guard.clone().unwrap_or_default(),
        net: net_config(config),
    });
    let browsers = Arc::new(browsers.map_err(Failure::failed)?);
    Ok((Arc::new(http.with_browser(browsers.prober())), Some(browsers)))
}

/// Returns the configuration of outgoing requests.
pub(super) fn net_config(config: &EngineConfig) -> NetConfig {
    NetConfig {
        user_agent: config.user_agent.clone(),
        allow_private_targets: config.allow_private_targets,
        outbound_proxy: config.outbound_proxy.clone(),
        authorities: config.authorities.clone(),
        ..NetConfig::default()
    }
}

/// Returns the keys of the configuration.
pub(super) fn operator_keys(config: &EngineConfig) -> OperatorKeys {
    OperatorKeys::new(config.keys.iter().map(|(name, value)| (name.clone(), value.expose().clone())))
}

/// Returns a checker that sends its requests through `prober`.
pub(super) fn checker(config: &EngineConfig, prober: Arc<dyn Prober>, keys: OperatorKeys) -> Arc<Checker> {
    let user_agent = config.user_agent.to_str().unwrap_or_default();
    let checker = Checker::new(prober, keys, user_agent, config.time(Time::CONTROL_TTL));
    Arc::new(checker.with_answer_memory(ANSWER_MEMORY))
}

/// Refuses a `--key` that no module uses. For a variable it only logs a warning: the variable may be meant
/// for another catalogue.
///
/// # Errors
/// Fails for a `--key` that no module uses.
pub fn check_keys(config: &EngineConfig, catalog: &Catalog) -> Result<(), Failure> {
    let known = catalog.key_names();
    if let Some(name) = config.key_flags().find(|name| !known.contains(name)) {
        let meant = did_you_mean([name], || known.iter().copied());
        return Err(Failure::usage(format!("--key {name}: {}{meant}", unused(&known))));
    }
    for name in config.keys.keys().filter(|name| !known.contains(name.as_str())) {
        warn!("{VARIABLE_PREFIX}{}: {}", name.to_ascii_uppercase(), unused(&known));
    }
    Ok(())
}

fn unused(known: &BTreeSet<&str>) -> String {
    if known.is_empty() {
        return "no module of the catalogue uses a key".to_owned();
    }
    let names: Vec<&str> = known.iter().copied().collect();
    format!("no module uses a key with this name; allowed: {}", names.join(", "))
}
