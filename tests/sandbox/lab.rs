//! Engine, prober and simulated web, put together as the service does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;
use sightline::modules::check::Checker;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::Report;
use sightline::modules::query::{Query, SearchType};
use sightline::net::{HttpProber, NetConfig};
use sightline::sandbox::{Sandbox, SandboxOptions};

/// Far away: what a check needs on the busiest machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

pub(super) struct Lab {
    pub(super) modules: Vec<Arc<Module>>,
    pub(super) sandbox: Sandbox,
    pub(super) checker: Checker,
}

impl Lab {
    pub(super) fn new(modules: Vec<Arc<Module>>, options: SandboxOptions) -> Self {
        let sandbox = Sandbox::start(modules.iter().cloned(), options).unwrap();
        let config = NetConfig { sandbox: Some(sandbox.addr()), ..NetConfig::default() };
        let prober = Arc::new(HttpProber::new(config).unwrap());
        let needs = modules.iter().flat_map(|module| &module.entry().needs);
        let keys = OperatorKeys::new(
            needs.map(|need| (need.trim_start_matches("config.").to_owned(), "a-key".to_owned())),
        );
        let checker = Checker::new(prober, keys, "tests", Duration::ZERO);
        Self { modules, sandbox, checker }
    }

    /// All built-in modules that are switched on.
    pub(super) fn builtin(options: SandboxOptions) -> Self {
        let catalog = Catalog::builtin().unwrap();
        let modules = catalog.modules().iter().filter(|module| module.entry().enabled);
        Self::new(modules.cloned().collect(), options)
    }

    pub(super) fn check(&self, module: &Module, query: &Query) -> Report {
        self.checker.check(module, query, Instant::now() + PATIENCE)
    }

    /// Calls `each` for every module, on many threads; gives what it complains about, sorted.
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

    /// A query that begins with `first` and that the module takes.
    pub(super) fn query(&self, module: &Module, first: &str) -> Option<Query> {
        let domains = &module.entry().domain_in;
        let texts: Vec<String> = match module.search_type() {
            SearchType::Username => {
                ["", "7", "-seven", "0000001"].map(|end| format!("{first}{end}")).to_vec()
            }
            SearchType::Email => {
                let domains = domains.iter().map(String::as_str).chain(["example.com"]);
                domains.map(|domain| format!("{first}@{domain}")).collect()
            }
            SearchType::Domain => vec![format!("{first}.com"), format!("{first}.org")],
        };
        texts.iter().find_map(|text| {
            let query = Query::parse(module.search_type(), text).ok()?;
            module.why_skipped(&query, self.checker.keys()).is_none().then_some(query)
        })
    }

    /// A name that exists on the site.
    pub(super) fn known(&self, module: &Module) -> Option<Query> {
        let known = module.entry().known.first();
        known
            .and_then(|text| Query::parse(module.search_type(), text).ok())
            .or_else(|| self.query(module, "everybody"))
    }
}

/// A username module with these rules and whatever else is in `more`.
pub(super) fn module(id: &str, more: &Value) -> Arc<Module> {
    let mut entry = json!({
        "id": id, "platform": id, "type": "username", "category": "misc",
        "probes": [{"url": format!("https://{}.example.org/{{query}}", id.replace('_', "-"))}]
    });
    for (name, value) in more.as_object().unwrap() {
        entry[name] = value.clone();
    }
    let text = json!([entry]).to_string();
    Catalog::from_text("test", &text).unwrap_or_else(|error| panic!("{id}: {error}")).modules()[0].clone()
}
