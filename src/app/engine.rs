//! The parts of all commands that ask sites: catalogue, prober, checker, keys.

use std::sync::Arc;

use log::{debug, info, warn};

use super::error::Failure;
use crate::config::{EngineConfig, SandboxMode, Time, VARIABLE_PREFIX};
use crate::modules::catalog::{Catalog, Feed};
use crate::modules::checker::Checker;
use crate::modules::import::report::NoteKind;
use crate::modules::keys::OperatorKeys;
use crate::modules::near::did_you_mean;
use crate::modules::probe::{Browsers, Prober};
use crate::net::{HttpProber, NetConfig, RealBrowsers};
use crate::sandbox::SandboxOptions;

/// Loads the catalogue, with a feed if there is one. Call this before anything is created, so that a mistake in the catalogue
/// leaves nothing behind. Logs how lists of other tools were imported.
pub(super) fn load_catalog(config: &EngineConfig, feed: Option<&Feed>) -> Result<Arc<Catalog>, Failure> {
    let own = &config.catalog;
    let catalog = Catalog::load(!own.no_builtin, &own.files, feed).map_err(Failure::usage)?;
    if !catalog.modules().iter().any(|module| module.entry().enabled) {
        return Err(Failure::usage("the catalogue has no enabled module: at least one is needed"));
    }
    for list in catalog.lists() {
        list.lines(NoteKind::LeftOut).for_each(|line| warn!("{line}"));
        list.lines(NoteKind::Changed).for_each(|line| info!("{line}"));
        list.lines(NoteKind::AlreadyThere).for_each(|line| debug!("{line}"));
        info!("{}", list.summary());
    }
    Ok(Arc::new(catalog))
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
type ProberParts = (Arc<dyn Prober>, Option<Arc<dyn Browsers>>);

/// Returns the prober of the real web for the configuration, with a browser if one is configured.
pub(super) fn prober(config: &EngineConfig) -> Result<ProberParts, Failure> {
    let mut http = HttpProber::new(NetConfig {
        user_agent: config.user_agent.clone(),
        allow_private_targets: config.allow_private_targets,
        outbound_proxy: config.outbound_proxy.clone(),
        authorities: config.authorities.clone(),
    });
    let settings = &config.browsers;
    let Some(source) = settings.browser.clone() else { return Ok((Arc::new(http), None)) };
    let egress_proxy = settings.browser_guard.clone().unwrap_or_default();
    let browsers = RealBrowsers::start(source, settings.browser_sessions, egress_proxy, &http);
    let browsers = browsers.map_err(Failure::failed)?;
    http.browser = Some(Arc::clone(&browsers) as _);
    Ok((Arc::new(http), Some(browsers)))
}

/// Returns the keys of the configuration.
pub(super) fn operator_keys(config: &EngineConfig) -> OperatorKeys {
    OperatorKeys::new(config.keys.iter().map(|(name, value)| (name.clone(), value.expose().clone())))
}

/// Returns a checker that sends its requests through `prober`.
pub(super) fn checker(config: &EngineConfig, prober: Arc<dyn Prober>, keys: OperatorKeys) -> Arc<Checker> {
    let user_agent = config.user_agent.to_str().unwrap_or_default();
    Arc::new(Checker::new(prober, keys, user_agent, config.time(Time::CONTROL_TTL)))
}

/// Refuses a `--key` that no module uses. For a variable it only logs a warning: the variable may be meant
/// for another catalogue.
///
/// # Errors
/// Fails for a `--key` that no module uses.
pub fn check_keys(config: &EngineConfig, catalog: &Catalog) -> Result<(), Failure> {
    let known = catalog.key_names();
    let names = known.iter().copied().collect::<Vec<_>>().join(", ");
    let unused = match known.is_empty() {
        true => "no module of the catalogue uses a key".to_owned(),
        false => format!("no module uses a key with this name: expected {names}"),
    };
    let mut flags = config.key_settings.iter().map(|(name, _)| name.as_str());
    if let Some(name) = flags.find(|name| !known.contains(name)) {
        let meant = did_you_mean([name], || known.iter().copied());
        return Err(Failure::usage(format!("--key {name}: {unused}{meant}")));
    }
    for name in config.keys.keys().filter(|name| !known.contains(name.as_str())) {
        warn!("{VARIABLE_PREFIX}{}: {unused}", name.to_ascii_uppercase());
    }
    Ok(())
}
