//! A simulated web with a site for every module of the catalogue.
//!
//! A [`Sandbox`] is a [`Prober`]: in sandbox mode, checks send their requests through it instead of over the network,
//! and it answers for the site of each module. The engine and its rules are the real ones.
//!
//! | file | holds |
//! |---|---|
//! | `world` | the options, the existing names, the behaviour and the delay of each site; names to rely on |
//! | `answer` | answers; challenge pages, login pages and other misbehaviour |
//! | `people` | people whose accounts name each other, to try leads, graphs and people |
//! | `pages/` | answers that make a module hit or miss, made from its own rules and tested with them |
//! | `portraits` | profile pictures |
//!
//! # Names that client developers can rely on
//! Queries that begin with `nobody` exist nowhere, those that begin with `everybody` exist everywhere. With
//! `blocked`, `limited`, `silent` or `broken`, every site behaves accordingly. Only the local part of an email
//! address and the first label of a domain count. Everything else is derived from the seed and the names: equal
//! queries have equal results.
//!
//! # To add a kind of misbehaviour
//! Add it to [`SiteBehavior`] and to the default shares in `world.rs`, and its answer to `answer.rs`. For client
//! developers, add a name there.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;

use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::probe::{Browsers, CookieJar, ProbeError, Prober, Request, Response};
use crate::modules::query::Query;
use crate::modules::reason::Reason;

mod answer;
mod draw;
mod pages;
mod people;
mod portraits;
mod world;

pub use pages::Problem;
pub use world::{SandboxOptions, SiteBehavior};

use answer::{reaction, sent, wait};
use pages::Site;
use world::Question;

/// The number of pages that are open at once in simulated browsers, as with real ones.
const SESSIONS: usize = 2;

/// A simulated web.
pub struct Sandbox {
    options: SandboxOptions,
    /// The site of each module, by its id.
    sites: RwLock<HashMap<String, Arc<Site>>>,
}

impl Sandbox {
    /// Returns the simulated web for these modules.
    pub fn new(modules: impl IntoIterator<Item = Arc<Module>>, options: SandboxOptions) -> Self {
        let sandbox = Self { options, sites: RwLock::default() };
        sandbox.replace(modules);
        sandbox
    }

    /// Replaces the sites by those of these modules.
    pub fn replace(&self, modules: impl IntoIterator<Item = Arc<Module>>) {
        let (mut sites, mut firsts) = (HashMap::new(), HashMap::new());
        for module in modules {
            let (id, engine) = (module.entry().id.clone(), module.engine().map(Module::id));
            let first = engine.and_then(|engine| firsts.get(engine)).cloned();
            let site = Arc::new(Site::new(module, self.options.seed, first));
            if let Some(engine) = engine {
                firsts.entry(engine).or_insert_with(|| Arc::clone(&site));
            }
            sites.insert(id, site);
        }
        *self.sites.write() = sites;
    }

    /// Returns the modules for which it cannot make answers that hit and answers that miss, sorted by module. The
    /// rules of such a module cannot tell the two apart. This tests every module, which takes seconds for a large
    /// catalogue.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.sites.read().values().flat_map(Site::problems).collect();
        problems.sort_by(|one, other| (&one.module, &one.what).cmp(&(&other.module, &other.what)));
        problems
    }
}

impl Prober for Sandbox {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        if let Some(picture) = portraits::answer(self.options.seed, &request.url) {
            return sent(picture, request, jar);
        }
        let unknown = || Reason::Dns.because("the simulated web has no such site");
        let (trace, url) = (&request.trace, &request.url);
        let site = self.sites.read().get(&*trace.module).cloned().ok_or_else(unknown)?;
        let entry = site.entry();
        let query = Query::parse(entry.search_type, &trace.query).map_err(|_| unknown())?;
        let (control, probe) = (trace.control, trace.probe);
        let question = Question { entry, query: query.normal(), control, probe };
        let behavior = self.options.behavior(question);
        wait(self.options.delay(question, behavior), deadline)?;
        if let Some(reaction) = reaction(behavior, request, self.options.dice(entry)) {
            return sent(reaction?, request, jar);
        }
        let exists = behavior == SiteBehavior::SaysYes || self.options.exists(question);
        let aim = if exists { Outcome::Hit } else { Outcome::Miss };
        // `Sandbox::problems` reports the cause of a missing answer.
        let unplayable = || Reason::Protocol.because("the simulated web cannot simulate this site");
        sent(site.answer(aim, &query, probe, url).ok_or_else(unplayable)?, request, jar)
    }
}

/// Its browsers are always available. Their pages are those of its sites.
impl Browsers for Sandbox {
    fn sessions(&self) -> usize {
        SESSIONS
    }

    fn is_available(&self) -> bool {
        true
    }
}
