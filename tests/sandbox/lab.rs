//! The engine and the simulated web, combined as in the service.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;
use sightline::modules::checker::Checker;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::Report;
use sightline::modules::probe::Prober;
use sightline::modules::query::Query;
use sightline::sandbox::{Sandbox, SandboxOptions};

use crate::support::modules::with;

/// A deadline that is long enough on the busiest machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Lab {
    pub(super) modules: Vec<Arc<Module>>,
    pub(super) checker: Checker,
}

impl Lab {
    pub(super) fn new(modules: Vec<Arc<Module>>, options: SandboxOptions) -> Self {
        Self::behind(modules, options, |sandbox| sandbox)
    }

    /// Puts what `wrap` returns between the checks and the simulated web.
    pub(super) fn behind(
        modules: Vec<Arc<Module>>,
        options: SandboxOptions,
        wrap: impl FnOnce(Arc<Sandbox>) -> Arc<dyn Prober>,
    ) -> Self {
        let sandbox = Arc::new(Sandbox::new(modules.iter().cloned(), options));
        let prober = wrap(sandbox);
        let needs = modules.iter().flat_map(|module| &module.entry().needs);
        let keys = OperatorKeys::new(
            needs.map(|need| (need.trim_start_matches("config.").to_owned(), "a-key".to_owned())),
        );
        let checker = Checker::new(prober, keys, "tests", Duration::ZERO);
        Self { modules, checker }
    }

    pub(super) fn check(&self, module: &Module, query: &Query) -> Report {
        *self.checker.check(module, query, Instant::now() + PATIENCE)
    }

    /// Calls `each` for every module on many threads. Returns the complaints, sorted.
    pub(super) fn complaints(
        &self,
        threads: usize,
        each: impl Fn(&Module) -> Option<String> + Sync,
    ) -> Vec<String> {
        let next = AtomicUsize::new(0);
        let work = || {
            let take = || self.modules.get(next.fetch_add(1, Ordering::Relaxed));
            let one = |module: &Arc<Module>| each(module).map(|what| format!("{}: {what}", module.id()));
            std::iter::from_fn(take).filter_map(one).collect::<Vec<_>>()
        };
        let mut complaints: Vec<String> = thread::scope(|scope| {
            let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            started.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        complaints.sort();
        complaints
    }
}

/// A username module with these rules and whatever else is in `more`.
pub(super) fn module(id: &str, more: &Value) -> Arc<Module> {
    let entry = json!({
        "id": id, "platform": id, "type": "username", "category": "misc",
        "probes": [{"url": format!("https://{}.example.org/{{query}}", id.replace('_', "-"))}]
    });
    let text = json!([with(entry, more)]).to_string();
    Catalog::from_text("test", &text).unwrap_or_else(|error| panic!("{id}: {error}")).modules()[0].clone()
}
