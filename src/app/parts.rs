//! Catalogue, prober, checker and runs: what serving and searching share.

use std::sync::Arc;
use std::time::Duration;

use super::AppError;
use crate::base::clock::Clock;
use crate::config::{EngineConfig, SandboxMode};
use crate::modules::catalog::Catalog;
use crate::modules::check::Checker;
use crate::modules::keys::OperatorKeys;
use crate::net::{HttpProber, NetConfig};
use crate::runs::journal::Journal;
use crate::runs::service::{Runs, RunsConfig};
use crate::runs::workshop::Limits;
use crate::sandbox::{Sandbox, SandboxOptions};

/// Runs that may wait for a driver: at the usual length of a search, some ten minutes' worth.
const MAX_WAITING_RUNS: usize = 1000;
/// How long a run that has ended stays in memory.
const KEEP_ENDED: Duration = Duration::from_secs(60);
/// How long a driver's lease holds without a renewal; renewed every second.
const LEASE: Duration = Duration::from_secs(30);
/// How long a run that has asked everything waits for a store that is away.
const STORE_PATIENCE: Duration = Duration::from_secs(30);

/// Whether premium searches can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Premium {
    /// The web is simulated, browsers included.
    Available,
    /// No browser is configured.
    Unavailable,
}

/// The engine of searches.
pub(super) struct Engine {
    pub(super) runs: Arc<Runs>,
    pub(super) premium: Premium,
    /// The simulated web lives as long as those who ask it.
    pub(super) sandbox: Option<Sandbox>,
}

impl Engine {
    /// Loads the catalogue and starts the workers; at most `max_runs` runs are driven at once.
    pub(super) fn build(
        config: &EngineConfig,
        max_runs: usize,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, AppError> {
        let catalog = Catalog::load(!config.catalog.no_builtin, &config.catalog.files)
            .map_err(|error| AppError::Config(error.to_string()))?;
        let catalog = Arc::new(catalog);
        let sandbox = start_sandbox(config, &catalog)?;
        let premium = if sandbox.is_some() { Premium::Available } else { Premium::Unavailable };
        let prober = HttpProber::new(NetConfig {
            user_agent: config.user_agent.clone(),
            allow_private_targets: config.allow_private_targets,
            outbound_proxy: config.outbound_proxy.as_ref().map(|proxy| proxy.expose().clone()),
            sandbox: sandbox.as_ref().map(Sandbox::addr),
            ..NetConfig::default()
        })
        .map_err(|error| AppError::Config(error.to_string()))?;
        let keys = config.keys.iter().map(|(name, value)| (name.clone(), value.expose().clone()));
        let keys = OperatorKeys::new(keys);
        let checker = Checker::new(Arc::new(prober), keys, config.user_agent.clone(), config.control_ttl);
        let runs = Runs::new(
            journal,
            catalog,
            Arc::new(checker),
            clock,
            RunsConfig {
                check_workers: config.check_workers,
                max_runs,
                max_waiting: MAX_WAITING_RUNS,
                limits: Limits {
                    check_timeout: config.check_timeout,
                    run_timeout: config.run_timeout,
                    lease: LEASE,
                    store_patience: STORE_PATIENCE,
                },
                keep_ended: KEEP_ENDED,
                discovery: config.discovery,
                simulated: sandbox.is_some(),
            },
        );
        Ok(Self { runs, premium, sandbox })
    }
}

fn start_sandbox(config: &EngineConfig, catalog: &Catalog) -> Result<Option<Sandbox>, AppError> {
    let options = match config.sandbox {
        SandboxMode::Off => return Ok(None),
        SandboxMode::Realistic => SandboxOptions::default(),
        SandboxMode::Perfect => SandboxOptions::perfect(),
    };
    Sandbox::start(catalog.modules().to_vec(), options)
        .map(Some)
        .map_err(|error| AppError::Failed(format!("the simulated web could not be started: {error}")))
}
