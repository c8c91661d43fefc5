//! [`Instance`]: all parts of a server.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;

use super::bundles::BundleWatch;
use super::error::AppError;
use super::first_start::{self, FirstAccount};
use super::maintenance::Maintenance;
use super::parts::Engine;
use super::public_handler::PublicHandler;
use super::subscriber::InstanceSubscriber;
use super::suppression::Watch;
use super::webhooks::WebhookParts;
use crate::account::rate_limit::{RateLimiter, RateLimits};
use crate::account::service::Accounts;
use crate::account::sign_in::SignIns;
use crate::admin;
use crate::api::cache::Snapshots;
use crate::api::{Api, ApiConfig};
use crate::base::clock::{Clock, SystemClock};
use crate::config::{PrivacyConfig, ServeConfig, Time};
use crate::http::{LoadReader, Server, Traffic};
use crate::model::credits::STANDARD_COST;
use crate::model::quota::Policy;
use crate::model::sign_in::SessionLimits;
use crate::modules::catalog::Catalog;
use crate::runs::batches::service::Batches;
use crate::runs::retention::RetentionTask;
use crate::runs::service::{RunHooks, Runs};
use crate::runs::suppression::Suppressed;
use crate::store::Store;
use crate::watches::keeper::WatchKeeper;
use crate::web::{self, Web, WebConfig};

/// A session of the web app ends after this time in any case.
const LONGEST_SESSION: Duration = Duration::from_secs(90 * 86_400);

/// A server with its database, without its sockets.
pub(super) struct Instance {
    /// Keeps the subscription alive.
    _subscriber: Arc<InstanceSubscriber>,
    public_handler: PublicHandler,
    api: Arc<Api>,
    limiter: Arc<RateLimiter>,
    sign_ins: Arc<SignIns>,
    accounts: Arc<Accounts>,
    engine: Engine,
    webhooks: WebhookParts,
    store: Arc<Store>,
    load_reader: LoadReader,
    clock: Arc<dyn Clock>,
    maintained: Arc<admin::TaskTimes>,
}

impl Instance {
    /// Builds the parts on an open database. `suppressed` holds the identifiers that are never searched.
    ///
    /// # Errors
    /// Fails if a part cannot be started, or if the store fails.
    pub(super) fn build(
        config: &ServeConfig,
        catalog: Arc<Catalog>,
        suppressed: Option<Suppressed>,
        store: Arc<Store>,
        server: &Server,
    ) -> Result<Self, AppError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let plans = config.accounts.plans.clone();
        let accounts = Arc::new(Accounts::new(store.clone(), plans, Arc::clone(&clock)));
        let sign_ins = sign_ins(config, &store, &clock)?;
        let limiter = Arc::new(RateLimiter::new(rate_limits(&config.server.rate_limits), store.clone()));
        let snapshots = Arc::new(Snapshots::default());
        let engine = engine(config, catalog, &store, &clock, &accounts, &snapshots)?;
        if let Some(list) = suppressed {
            engine.runs.suppress(list);
        }
        let webhooks = WebhookParts::start(config, &store, &clock)?;
        let (runs, simulated) = (Arc::clone(&engine.runs), engine.sandbox.is_some());
        let batches = Arc::new(Batches::new(store.clone(), runs, Arc::clone(&clock), simulated));
        let base_url = config.server.base_url_at(server.local_addr());
        let api = Arc::new(Api::new(
            api_config(config, &engine, base_url.clone()),
            Arc::clone(&accounts),
            Arc::clone(&limiter),
            Arc::clone(&engine.runs),
            Arc::clone(&store),
            Arc::clone(&batches),
            Arc::clone(&webhooks.webhooks),
            snapshots,
            Arc::clone(&clock),
        ));
        let load_reader = server.load_reader();
        let parts = web::Parts {
            accounts: Arc::clone(&accounts),
            sign_ins: Arc::clone(&sign_ins),
            limiter: Arc::clone(&limiter),
            runs: Arc::clone(&engine.runs),
            batches,
            webhooks: Arc::clone(&webhooks.webhooks),
            store: Arc::clone(&store),
            clock: Arc::clone(&clock),
            load_reader: load_reader.clone(),
        };
        let web = Arc::new(Web::new(web_config(config, &engine, base_url), parts));
        let public_handler = PublicHandler { api: Arc::clone(&api).router(), web: web.router() };
        let _subscriber = InstanceSubscriber::start(&store, &engine.runs, &accounts)?;
        if engine.sandbox.is_some() {
            warn!("the web is simulated: no result is real");
        }
        Ok(Self {
            _subscriber,
            public_handler,
            api,
            limiter,
            sign_ins,
            accounts,
            engine,
            webhooks,
            store,
            load_reader,
            clock,
            maintained: Arc::default(),
        })
    }

    /// Creates the first account of an empty database.
    pub(super) fn first_account(&self) -> Result<Option<FirstAccount>, AppError> {
        first_start::first_account(&self.accounts, &self.sign_ins)
    }

    /// Returns the handler of the public listener.
    pub(super) fn public_handler(&self) -> PublicHandler {
        self.public_handler.clone()
    }

    /// Returns the requests of the API and of the web app.
    fn traffic(&self) -> [Arc<Traffic>; 2] {
        [self.public_handler.api.traffic(), self.public_handler.web.traffic()].map(Arc::clone)
    }

    /// Returns the parts that metrics and probes read.
    pub(super) fn admin_parts(&self) -> admin::Parts {
        admin::Parts {
            api: Arc::clone(&self.api),
            traffic: self.traffic(),
            runs: Arc::clone(&self.engine.runs),
            deliveries: self.webhooks.dispatcher.clone(),
            store: self.store.clone(),
            load_reader: self.load_reader.clone(),
            clock: Arc::clone(&self.clock),
            maintained: Arc::clone(&self.maintained),
        }
    }

    /// Returns the maintenance of these parts. `suppression` is the watched file of suppressed identifiers, and `bundles`
    /// the watched catalogue bundle.
    pub(super) fn maintenance(
        &self,
        privacy: &PrivacyConfig,
        suppression: Option<Watch>,
        bundles: BundleWatch,
    ) -> Maintenance {
        let retention = RetentionTask::new(self.store.clone(), Arc::clone(&self.clock), privacy.retain_days);
        let (runs, accounts) = (Arc::clone(&self.engine.runs), Arc::clone(&self.accounts));
        let simulated = self.engine.sandbox.is_some();
        let watches = WatchKeeper::new(self.store.clone(), runs, accounts, simulated);
        Maintenance {
            runs: Arc::clone(&self.engine.runs),
            watches,
            accounts: Arc::clone(&self.accounts),
            sign_ins: Arc::clone(&self.sign_ins),
            limiter: Arc::clone(&self.limiter),
            retention,
            suppression,
            bundles,
            sandbox: self.engine.sandbox.clone(),
            api: Arc::clone(&self.api),
            done: Arc::clone(&self.maintained),
        }
    }

    /// Stops sending deliveries to webhooks, and waits until `until` for those that are being sent.
    pub(super) fn stop_webhooks(&self, until: Instant) {
        if let Some(dispatcher) = &self.webhooks.dispatcher {
            dispatcher.stop(until);
        }
    }

    /// Returns the runs of this instance.
    pub(super) fn runs(&self) -> &Arc<Runs> {
        &self.engine.runs
    }
}

fn engine(
    config: &ServeConfig,
    catalog: Arc<Catalog>,
    store: &Arc<Store>,
    clock: &Arc<dyn Clock>,
    accounts: &Arc<Accounts>,
    snapshots: &Arc<Snapshots>,
) -> Result<Engine, AppError> {
    let server = &config.server;
    let (accounts, snapshots, noted) = (Arc::clone(accounts), Arc::clone(snapshots), Arc::clone(snapshots));
    let hooks = RunHooks {
        on_deletion: Box::new(move |run| snapshots.forget(run)),
        on_annotation: Box::new(move |run| noted.renew(run)),
        charge_of: Box::new(move |account| accounts.charge_of(account, STANDARD_COST)),
        continues_batches: true,
    };
    let (engine, clock) = (&config.engine, Arc::clone(clock));
    Engine::build(engine, catalog, server.max_runs, engine.time(Time::Lease), store.clone(), clock, hooks)
}

fn rate_limits(config: &[(Policy, u32)]) -> RateLimits {
    let mut limits = RateLimits::default();
    for (policy, count) in config {
        match policy {
            Policy::Search => limits.search = *count,
            Policy::Stream => limits.stream = *count,
            Policy::Read => limits.read = *count,
        }
    }
    limits
}

fn sign_ins(
    config: &ServeConfig,
    store: &Arc<Store>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<SignIns>, AppError> {
    let limits = SessionLimits { idle: config.engine.time(Time::SessionIdle), longest: LONGEST_SESSION };
    let sign_ins = SignIns::new(Arc::clone(store), Arc::clone(clock), limits);
    sign_ins
        .map(Arc::new)
        .map_err(|error| AppError::failed(error).at("the system provides no random numbers"))
}

fn web_config(config: &ServeConfig, engine: &Engine, base_url: String) -> WebConfig {
    WebConfig {
        base_url,
        sandbox: engine.sandbox.is_some(),
        stream_timeout: config.server.stream_timeout,
        keep_alive: config.engine.time(Time::KeepAlive),
    }
}

fn api_config(config: &ServeConfig, engine: &Engine, base_url: String) -> ApiConfig {
    ApiConfig {
        base_url,
        sync_wait: config.server.wait_timeout,
        stream_timeout: config.server.stream_timeout,
        keep_alive: config.engine.time(Time::KeepAlive),
        sandbox: engine.sandbox.is_some(),
        cors_origins: config.server.cors_origins.clone(),
    }
}
