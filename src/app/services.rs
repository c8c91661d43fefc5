//! [`Services`]: what all surfaces and tasks of a process need. One function builds it, for `serve` and `mcp`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::engine::Engine;
use super::error::Failure;
use super::webhooks;
use crate::account::rate_limit::{RateLimiter, RateLimits};
use crate::account::service::Accounts;
use crate::account::sign_in::SignIns;
use crate::admin::{self, TaskTimes};
use crate::api::{Api, ApiConfig};
use crate::base::clock::{Clock, SystemClock};
use crate::config::{ServeConfig, Time};
use crate::http::{LoadReader, Traffic};
use crate::model::credits::STANDARD_COST;
use crate::model::drive::{Notification, Subscriber};
use crate::model::quota::Policy;
use crate::model::sign_in::SessionLimits;
use crate::modules::catalog::Catalog;
use crate::runs::service::Runs;
use crate::runs::suppression::Suppressed;
use crate::service;
use crate::store::Store;
use crate::web::Web;
use crate::webhooks::dispatcher::Dispatcher;
use crate::webhooks::registry::Webhooks;
use crate::webhooks::secret::SealingKey;

/// A session of the web app ends after this time in any case.
const LONGEST_SESSION: Duration = Duration::from_secs(90 * 86_400);

/// The parts of a process on an open database.
pub(super) struct Services {
    /// What the API and the web app are made of.
    pub(super) shared: service::Services,
    pub(super) sign_ins: Arc<SignIns>,
    pub(super) engine: Engine,
    /// The threads that send deliveries to webhooks, unless there is no key for their secrets.
    pub(super) deliveries: Option<Arc<Dispatcher>>,
    pub(super) api: Arc<Api>,
    /// When each periodic task was done last.
    pub(super) maintained: Arc<TaskTimes>,
}

impl Services {
    /// Builds the parts. `suppressed` holds the identifiers that are never searched, `key` encrypts the secrets of webhooks,
    /// and `base_url` is the address that clients use.
    ///
    /// # Errors
    /// Fails if a part cannot be started, or if the store fails.
    pub(super) fn build(
        config: &ServeConfig,
        catalog: Arc<Catalog>,
        suppressed: Option<Suppressed>,
        store: Arc<Store>,
        key: Option<Arc<SealingKey>>,
        base_url: String,
    ) -> Result<Arc<Self>, Failure> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let plans = config.accounts.plans.clone();
        let accounts = Arc::new(Accounts::new(Arc::clone(&store), plans, Arc::clone(&clock)));
        let limits = SessionLimits { idle: config.engine.time(Time::SESSION_IDLE), longest: LONGEST_SESSION };
        let sign_ins = SignIns::new(Arc::clone(&store), Arc::clone(&clock), limits);
        let charging = Arc::clone(&accounts);
        let charge_of = Box::new(move |account| charging.charge_of(account, STANDARD_COST));
        let most_runs = config.server.max_runs;
        let (for_runs, own_clock) = (Arc::clone(&store), Arc::clone(&clock));
        let engine = Engine::build(&config.engine, catalog, most_runs, for_runs, own_clock, charge_of)?;
        if let Some(list) = suppressed {
            engine.runs.suppress(list);
        }
        let deliveries = key.clone().map(|key| webhooks::start(&config.engine, key, &store)).transpose()?;
        let allows_http = config.engine.allow_private_targets;
        let webhooks = Webhooks::new(Arc::clone(&store), key, Arc::clone(&clock), allows_http);
        let (runs, simulated) = (&engine.runs, engine.sandbox.is_some());
        let shared = service::Services {
            accounts,
            limiter: Arc::new(RateLimiter::new(rate_limits(config), Arc::clone(&store))),
            runs: Arc::clone(runs),
            webhooks: Arc::new(webhooks),
            store,
            clock,
        };
        let api = Arc::new(Api::new(api_config(config, simulated, base_url), shared.clone()));
        let services = Arc::new(Self {
            shared,
            sign_ins: Arc::new(sign_ins),
            engine,
            deliveries,
            api,
            maintained: Arc::default(),
        });
        let subscriber: Weak<Self> = Arc::downgrade(&services);
        services.shared.store.listen(subscriber).map_err(|error| {
            Failure::failed(error).at("cannot receive the notifications of other instances")
        })?;
        Ok(services)
    }

    /// Returns the searches.
    pub(super) fn runs(&self) -> &Arc<Runs> {
        &self.engine.runs
    }

    /// Builds the web app.
    pub(super) fn web(&self, base_url: String, load_reader: LoadReader) -> Web {
        let sandbox = self.engine.sandbox.is_some();
        Web::new(base_url, sandbox, self.shared.clone(), Arc::clone(&self.sign_ins), load_reader)
    }

    /// Returns the parts that metrics and probes read.
    pub(super) fn admin(&self, traffic: [Arc<Traffic>; 2], load_reader: LoadReader) -> admin::Parts {
        admin::Parts {
            api: Arc::clone(&self.api),
            traffic,
            runs: Arc::clone(self.runs()),
            deliveries: self.deliveries.clone(),
            store: Arc::clone(&self.shared.store),
            load_reader,
            clock: Arc::clone(&self.shared.clock),
            maintained: Arc::clone(&self.maintained),
        }
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

fn rate_limits(config: &ServeConfig) -> RateLimits {
    let mut limits = RateLimits::default();
    for (policy, count) in &config.server.rate_limits {
        match policy {
            Policy::Search => limits.search = *count,
            Policy::Stream => limits.stream = *count,
            Policy::Read => limits.read = *count,
        }
    }
    limits
}

fn api_config(config: &ServeConfig, sandbox: bool, base_url: String) -> ApiConfig {
    ApiConfig {
        base_url,
        sync_wait: config.engine.time(Time::WAIT),
        stream_timeout: config.engine.time(Time::STREAM),
        keep_alive: config.engine.time(Time::KEEP_ALIVE),
        sandbox,
        cors_origins: config.server.cors_origins.clone(),
    }
}
