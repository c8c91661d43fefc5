//! The simulated web: the sites of all modules, which answer the prober's requests.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use url::Url;

use super::draw::draw;
use super::drift::Place;
use super::faults;
use super::options::{SandboxOptions, SiteBehavior};
use super::pages::{Aim, Problem, Site};
use super::portraits;
use super::script;
use super::server::{Action, Host, Reaction};
use super::wire::{Answer, Asked};
use super::world::{Question, World};
use crate::base::encoding::percent_decode;
use crate::modules::definition::Via;
use crate::modules::module::Module;
use crate::modules::query::Query;

/// Counts of requests to the simulated web.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// The number of all requests, including those that follow redirects.
    pub total: u64,
    /// The number of requests that belong to no known module.
    pub unknown: u64,
    /// The number of requests by module id. Modules without requests are left out.
    pub by_module: BTreeMap<String, u64>,
}

pub(super) struct Web {
    world: World,
    sites: RwLock<HashMap<String, Arc<CountedSite>>>,
    unknown: AtomicU64,
}

struct CountedSite {
    site: Site,
    count: AtomicU64,
}

/// A request, with the prober's description of it.
struct Call<'a> {
    counted: Arc<CountedSite>,
    probe: usize,
    query: Query,
    control: bool,
    hop: &'a str,
    url: Url,
    page: PageOf,
}

/// The way in which a probe gets a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageOf {
    /// The response of the site.
    Site,
    /// The page as a browser returns it after it is drawn. The simulated web plays the browser as well.
    Browser,
    /// The page as a real browser gets it. The browser draws it by itself.
    Script,
}

impl Web {
    pub(super) fn new(modules: impl IntoIterator<Item = Arc<Module>>, options: SandboxOptions) -> Self {
        let web = Self { world: World::new(options), sites: RwLock::default(), unknown: AtomicU64::new(0) };
        web.replace(modules);
        web
    }

    /// Replaces all sites by those of these modules. Counts of requests are kept.
    pub(super) fn replace(&self, modules: impl IntoIterator<Item = Arc<Module>>) {
        let before = self.sites.read().clone();
        let sites = modules.into_iter().map(|module| {
            let id = module.entry().id.clone();
            let count = before.get(&id).map_or(0, |counted| counted.count.load(Ordering::Relaxed));
            let site = Site::new(module, self.world.seed());
            (id, Arc::new(CountedSite { site, count: AtomicU64::new(count) }))
        });
        let sites = sites.collect();
        *self.sites.write() = sites;
    }

    pub(super) fn requests(&self) -> Requests {
        let unknown = self.unknown.load(Ordering::Relaxed);
        let sites = self.sites.read();
        let counts = sites.iter().map(|(id, counted)| (id.clone(), counted.count.load(Ordering::Relaxed)));
        let by_module: BTreeMap<String, u64> = counts.filter(|(_, count)| *count > 0).collect();
        Requests { total: unknown + by_module.values().sum::<u64>(), unknown, by_module }
    }

    /// Returns the problems of all sites.
    pub(super) fn problems(&self) -> Vec<Problem> {
        self.sites.read().values().flat_map(|counted| counted.site.problems()).collect()
    }

    /// Returns the described request. Returns `None` if the prober did not send it, or if its module is not loaded.
    fn call<'a>(&self, asked: &'a Asked) -> Option<Call<'a>> {
        let counted = Arc::clone(self.sites.read().get(asked.header("x-sightline-module")?)?);
        let entry = counted.site.entry();
        let probe: usize = asked.header("x-sightline-probe")?.parse().ok()?;
        let text = percent_decode(asked.header("x-sightline-query")?)?;
        let query = Query::parse(entry.search_type, &text).ok()?;
        let control = asked.header("x-sightline-control") == Some("1");
        let hop = asked.header("x-sightline-hop")?;
        let url = Url::parse(asked.header("x-sightline-url")?).ok()?;
        let page = match (entry.probes.get(probe)?.via, asked.header("x-sightline-via")) {
            (Via::Http | Via::Whois, _) => PageOf::Site,
            (Via::Browser, Some("browser")) => PageOf::Browser,
            (Via::Browser, _) => PageOf::Script,
        };
        Some(Call { counted, probe, query, control, hop, url, page })
    }

    fn action(&self, call: &Call<'_>, behavior: SiteBehavior) -> Action {
        let site = &call.counted.site;
        let question = call.question();
        let dice = draw(self.world.seed(), &["dice", &site.entry().id]);
        if let Some(action) = faults::action(behavior, call.is_first_hop(), dice) {
            return action;
        }
        let drift = self.world.drift(&site.entry().id);
        let url = match drift.map(|drift| drift.place(&call.url)) {
            None => call.url.clone(),
            Some(Place::At(url)) => url,
            Some(Place::Redirect(answer)) => return Action::Answer(answer),
        };
        let listed = site.lists(&call.query);
        let exists =
            listed.unwrap_or_else(|| behavior == SiteBehavior::SaysYes || self.world.exists(question));
        let aim = if exists { Aim::Hit } else { Aim::Miss };
        match site.page(aim, &call.query, call.probe, &url) {
            Some(mut page) => Action::Answer(match page.moved_to.take() {
                Some(to) => Answer { status: 302, ..Answer::default() }.with_header("Location", to.as_str()),
                None if call.page == PageOf::Script => {
                    script::drawn_later(page.answer, self.world.drawing(question, behavior))
                }
                None => match drift {
                    Some(drift) => {
                        let request = call.counted.count.load(Ordering::Relaxed);
                        drift.changed(page.answer, site.entry(), aim, call.query.normal(), request)
                    }
                    None => page.answer,
                },
            }),
            // `Sandbox::problems` reports the cause.
            None => Action::Answer(faults::unplayable()),
        }
    }
}

impl Call<'_> {
    /// Returns whether the request does not follow a redirect. A browser does not send this information, so its
    /// address is used.
    fn is_first_hop(&self) -> bool {
        match self.page {
            PageOf::Script => self.url.path() != faults::LOGIN_PATH,
            PageOf::Site | PageOf::Browser => self.hop == "0",
        }
    }

    fn question(&self) -> Question<'_> {
        let entry = self.counted.site.entry();
        let is_feed = entry.probes.get(self.probe).is_some_and(|probe| probe.feed.is_some());
        // A feed is the same for every query, so it does not depend on the query that fetches it.
        let query = if is_feed { "" } else { self.query.normal() };
        Question { entry, query, control: self.control }
    }
}

impl Host for Web {
    fn react(&self, asked: &Asked) -> Reaction {
        let url = asked.header("x-sightline-url").and_then(|url| Url::parse(url).ok());
        if let Some(picture) = url.and_then(|url| portraits::answer(self.world.seed(), &url)) {
            return Reaction { after: Duration::ZERO, action: Action::Answer(picture) };
        }
        let Some(call) = self.call(asked) else {
            self.unknown.fetch_add(1, Ordering::Relaxed);
            return Reaction { after: Duration::ZERO, action: Action::Answer(faults::unknown()) };
        };
        call.counted.count.fetch_add(1, Ordering::Relaxed);
        let behavior = self.world.behavior(call.question());
        let after = match (behavior, call.page) {
            // A silent site needs no delay.
            (SiteBehavior::Silent, _) => Duration::ZERO,
            // The time to draw a page is spent once, on the first request.
            (_, PageOf::Browser) if call.is_first_hop() => self.world.drawing(call.question(), behavior),
            (_, PageOf::Browser | PageOf::Script) => Duration::ZERO,
            (_, PageOf::Site) => {
                self.world.delay(call.question(), behavior, &call.probe.to_string(), call.hop)
            }
        };
        Reaction { after, action: self.action(&call, behavior) }
    }
}
