//! [`Services`]: what all surfaces and tasks of a process need. One function builds it, for `serve`, `mcp` and `search`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::engine::{check_keys, checker, load_catalog, operator_keys, prober, sandbox_options};
use super::error::Failure;
use super::first_start::{LOCAL_ACCOUNT, best_plan};
use super::suppression::{self, Watch};
use crate::account::rate_limit::RateLimiter;
use crate::account::service::{Accounts, Caller};
use crate::account::sign_in::SignIns;
use crate::admin::TaskTimes;
use crate::api::{Api, ApiConfig};
use crate::base::address::path_prefix;
use crate::base::clock::{Clock, SystemClock};
use crate::base::descriptors;
use crate::config::{EngineConfig, ServeConfig, SuppressionConfig, Time};
use crate::model::audit::{Actor, Origin};
use crate::model::credits::STANDARD_COST;
use crate::model::drive::{Notification, Subscriber};
use crate::model::sign_in::SessionLimits;
use crate::modules::catalog::Catalog;
use crate::modules::probe::{NoBrowser, Prober};
use crate::runs::service::{ChargeOf, Runs, RunsConfig};
use crate::runs::suppression::Suppressed;
use crate::sandbox::Sandbox;
use crate::service;
use crate::store::{self, Store};
use crate::webhooks::dispatcher::Dispatcher;
use crate::webhooks::registry::Webhooks;
use crate::webhooks::secret::SealingKey;

/// The most runs that wait for a driver. At the usual length of a search this is about ten minutes of work.
const MAX_WAITING_RUNS: usize = 1000;
/// The longest time that a run whose checks are done waits for an unavailable store. This is longer than a restart, a
/// failover or freeing disk space takes. Memory stays bounded, because no run starts meanwhile.
const STORE_OUTAGE_LIMIT: Duration = Duration::from_secs(10 * 60);
/// A session of the web app ends after this time in any case.
const LONGEST_SESSION: Duration = Duration::from_secs(90 * 86_400);

/// The parts of a process on an open database.
pub(super) struct Services {
    /// What the API and the web app are made of.
    pub(super) shared: service::Services,
    /// Asks the real web.
    pub(super) http: Arc<dyn Prober>,
    /// The simulated web.
    pub(super) sandbox: Option<Arc<Sandbox>>,
    /// The threads that send deliveries to webhooks, unless there is no key for their secrets.
    pub(super) deliveries: Option<Arc<Dispatcher>>,
    pub(super) api: Arc<Api>,
    /// When each periodic task was done last.
    pub(super) maintained: Arc<TaskTimes>,
}

impl Services {
    /// Builds the parts. `suppressed` are the identifiers that are never searched, `key` encrypts the secrets of webhooks, and
    /// `base_url` is the address that clients use. `follows` says whether leads and batches start searches.
    ///
    /// # Errors
    /// Fails if a part cannot be started, or if the store fails.
    pub(super) fn build(
        config: &ServeConfig,
        catalog: Arc<Catalog>,
        suppressed: Suppressed,
        store: Arc<Store>,
        key: Option<Arc<SealingKey>>,
        base_url: String,
        follows: bool,
    ) -> Result<Arc<Self>, Failure> {
        let (engine, clock): (_, Arc<dyn Clock>) = (&config.engine, Arc::new(SystemClock));
        let accounts = Accounts::new(Arc::clone(&store), config.accounts.plans.clone(), Arc::clone(&clock));
        let accounts = Arc::new(accounts);
        let limits = SessionLimits { idle: engine.time(Time::SESSION_IDLE), longest: LONGEST_SESSION };
        let sign_ins = Arc::new(SignIns::new(Arc::clone(&store), Arc::clone(&clock), limits));
        let sandbox = sandbox_options(engine.sandbox)
            .map(|options| Arc::new(Sandbox::new(catalog.modules().iter().cloned(), options)));
        let (http, browsers) = prober(engine)?;
        let prober = sandbox.clone().map_or_else(|| Arc::clone(&http), |sandbox| sandbox as _);
        let pages = browsers.or_else(|| Some(sandbox.clone()? as _)).unwrap_or_else(|| Arc::new(NoBrowser));
        let checker = checker(engine, prober, operator_keys(engine));
        let charging = Arc::clone(&accounts);
        let charge_of: ChargeOf = Box::new(move |account| {
            let owner = if follows { charging.owner(account)? } else { None };
            Ok(owner.map(|owner| (charging.charge(&owner, STANDARD_COST), owner.plan.premium)))
        });
        let (own, of_runs) = (Arc::clone(&store), runs_config(config));
        let runs = Runs::new(own, catalog, checker, pages, Arc::clone(&clock), of_runs, charge_of);
        runs.suppress(suppressed);
        // They go to real receivers, also if the searches go to a simulated web.
        let start = |key| Dispatcher::start(Arc::clone(&store), key, Arc::clone(&http));
        let failed = |error| Failure::failed(error).at("cannot start the threads of webhooks");
        let deliveries = key.clone().map(start).transpose().map_err(failed)?;
        let webhooks =
            Webhooks::new(Arc::clone(&store), key, Arc::clone(&clock), engine.allow_private_targets);
        let limiter =
            Arc::new(RateLimiter::new(config.server.rate_limits.iter().copied(), Arc::clone(&store)));
        let shared = service::Services {
            accounts,
            sign_ins,
            limiter,
            runs,
            webhooks: Arc::new(webhooks),
            store,
            clock,
            root: path_prefix(&base_url),
            base_url,
            sandbox: sandbox.is_some(),
        };
        let api = ApiConfig {
            sync_wait: engine.time(Time::WAIT),
            stream_timeout: engine.time(Time::STREAM),
            keep_alive: engine.time(Time::KEEP_ALIVE),
            cors_origins: config.server.cors_origins.clone(),
        };
        let api = Arc::new(Api::new(api, shared.clone()));
        let services = Arc::new(Self { shared, http, sandbox, deliveries, api, maintained: Arc::default() });
        let subscriber: Weak<Self> = Arc::downgrade(&services);
        services.shared.store.listen(subscriber).map_err(|error| {
            Failure::failed(error).at("cannot receive the notifications of other instances")
        })?;
        Ok(services)
    }

    /// Builds the parts on a database in memory. Returns them with the user of this process, who has an account, and with the
    /// watched file of suppressed identifiers.
    ///
    /// # Errors
    /// Fails for a mistake in the configuration, or if a part cannot be started.
    pub(super) fn local(
        engine: &EngineConfig,
        suppression: &SuppressionConfig,
        max_runs: usize,
        follows: bool,
    ) -> Result<(Arc<Self>, Caller, Option<Watch>), Failure> {
        let (suppressed, watch) = suppression::load(suppression)?;
        let catalog = load_catalog(engine, None)?;
        check_keys(engine, &catalog)?;
        let mut config = ServeConfig::from_flags::<&str>([]).map_err(Failure::failed)?;
        (config.engine, config.server.max_runs) = (engine.clone(), max_runs);
        config.engine.set_time(Time::WAIT, engine.run_timeout);
        config.engine.set_time(Time::STREAM, engine.run_timeout);
        let (store, base_url) = (store::in_memory().map_err(Failure::failed)?, "http://localhost".to_owned());
        let services = Self::build(&config, catalog, suppressed, store, None, base_url, follows)?;
        let plan = best_plan(&config.accounts.plans)
            .ok_or_else(|| Failure::failed("no plan has API access"))?
            .clone();
        let account = services.shared.accounts.create_account(LOCAL_ACCOUNT, &plan.name, &Origin::CLI);
        let account = account.map_err(|error| Failure::failed(error).at("cannot create the account"))?;
        Ok((services, Caller { account, plan, actor: Actor::Cli, key: None }, watch))
    }

    /// Returns the searches.
    pub(super) fn runs(&self) -> &Arc<Runs> {
        &self.shared.runs
    }
}

impl Subscriber for Services {
    /// Passes the notifications of other instances on to the parts that keep copies of stored data.
    fn notify(&self, notification: Notification) {
        self.runs().notify(notification);
        if matches!(notification, Notification::Access | Notification::Connected | Notification::Disconnected)
        {
            self.shared.accounts.evict_access();
        }
    }
}

fn runs_config(config: &ServeConfig) -> RunsConfig {
    let engine = &config.engine;
    RunsConfig {
        check_workers: descriptors::checks(engine.check_workers),
        host_concurrency: engine.host_concurrency,
        share_answers: engine.time(Time::SHARE_ANSWERS),
        max_runs: config.server.max_runs,
        max_waiting: MAX_WAITING_RUNS,
        check_timeout: engine.check_timeout,
        run_timeout: engine.run_timeout,
        // The last quarter is left for noticing: instances look for interrupted runs periodically.
        lease: engine.time(Time::LEASE) * 3 / 4,
        store_patience: STORE_OUTAGE_LIMIT,
        host_retry: engine.time(Time::HOST_RETRY),
        quarantine_retry: engine.time(Time::QUARANTINE_RETRY),
        discovery: engine.discovery,
        simulated: sandbox_options(engine.sandbox).is_some(),
    }
}
