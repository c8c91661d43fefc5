//! [`Parts`]: the sources of the metrics.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use crate::api::Api;
use crate::base::clock::Clock;
use crate::http::{LoadReader, Traffic};
use crate::modules::catalog::Catalog;
use crate::modules::module::Module;
use crate::runs::health::verdict::ModuleHealth;
use crate::runs::service::Runs;
use crate::store::Store;
use crate::webhooks::dispatcher::Dispatcher;

/// The sources of the metrics. They exist once the server is built.
pub struct Parts {
    /// The JSON API.
    pub api: Arc<Api>,
    /// The requests of the API and of the web app.
    pub traffic: [Arc<Traffic>; 2],
    /// The runs.
    pub runs: Arc<Runs>,
    /// The deliveries to webhooks, unless the server has no key for their secrets.
    pub deliveries: Option<Arc<Dispatcher>>,
    /// The store.
    pub store: Arc<Store>,
    /// The load of the public listener.
    pub load_reader: LoadReader,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// When the periodic tasks were done last.
    pub maintained: Arc<TaskTimes>,
}

/// When each periodic task was done last, by its name.
pub type TaskTimes = Mutex<BTreeMap<&'static str, Instant>>;

impl Parts {
    /// Returns the health of every module of this catalogue.
    pub(super) fn health_of_all<'c>(&self, catalog: &'c Catalog) -> Vec<(&'c Module, ModuleHealth)> {
        self.runs.module_health().of_all(catalog.modules(), self.clock.now())
    }
}
