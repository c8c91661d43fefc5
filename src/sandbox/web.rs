//! The simulated web: every module's site, answering the prober's requests.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use url::Url;

use super::draw::draw;
use super::options::{Mood, SandboxOptions};
use super::script;
use super::server::{Act, Host, Reaction};
use super::stage::{Aim, Site};
use super::trouble;
use super::wire::{Answer, Asked};
use super::world::{Question, World};
use crate::modules::definition::Via;
use crate::modules::module::Module;
use crate::modules::query::Query;

/// How often the simulated web was asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// All requests, hops of redirects included.
    pub total: u64,
    /// Requests that no known module sent.
    pub unknown: u64,
    /// By module id; modules that were never asked are left out.
    pub by_module: BTreeMap<String, u64>,
}

pub(super) struct Web {
    world: World,
    sites: HashMap<String, Asking>,
    unknown: AtomicU64,
}

struct Asking {
    site: Site,
    count: AtomicU64,
}

/// What the prober says about a request.
struct Call<'a> {
    asking: &'a Asking,
    probe: usize,
    query: Query,
    control: bool,
    hop: &'a str,
    url: Url,
    page: PageOf,
}

/// What a page is to its probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageOf {
    /// What the site sends.
    Site,
    /// What a browser hands over once it is drawn: the simulated web is the browser, too.
    Browser,
    /// What a real browser gets, and draws itself.
    Script,
}

impl Web {
    pub(super) fn new(modules: impl IntoIterator<Item = Arc<Module>>, options: SandboxOptions) -> Self {
        let world = World::new(options);
        let sites = modules.into_iter().map(|module| {
            let id = module.entry().id.clone();
            (id, Asking { site: Site::new(module, world.seed()), count: AtomicU64::new(0) })
        });
        let sites = sites.collect();
        Self { world, sites, unknown: AtomicU64::new(0) }
    }

    pub(super) fn requests(&self) -> Requests {
        let unknown = self.unknown.load(Ordering::Relaxed);
        let counts = self.sites.iter().map(|(id, asking)| (id.clone(), asking.count.load(Ordering::Relaxed)));
        let by_module: BTreeMap<String, u64> = counts.filter(|(_, count)| *count > 0).collect();
        Requests { total: unknown + by_module.values().sum::<u64>(), unknown, by_module }
    }

    pub(super) fn sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.values().map(|asking| &asking.site)
    }

    /// `None`: not what our prober sends, or for a module that is not loaded.
    fn call<'a>(&'a self, asked: &'a Asked) -> Option<Call<'a>> {
        let asking = self.sites.get(asked.header("x-sightline-module")?)?;
        let entry = asking.site.entry();
        let probe: usize = asked.header("x-sightline-probe")?.parse().ok()?;
        let text = percent_decoded(asked.header("x-sightline-query")?)?;
        let query = Query::parse(entry.search_type, &text).ok()?;
        let control = asked.header("x-sightline-control") == Some("1");
        let hop = asked.header("x-sightline-hop")?;
        let url = Url::parse(asked.header("x-sightline-url")?).ok()?;
        let page = match (entry.probes.get(probe)?.via, asked.header("x-sightline-via")) {
            (Via::Http, _) => PageOf::Site,
            (Via::Browser, Some("browser")) => PageOf::Browser,
            (Via::Browser, _) => PageOf::Script,
        };
        Some(Call { asking, probe, query, control, hop, url, page })
    }

    fn act(&self, call: &Call<'_>, mood: Mood) -> Act {
        let site = &call.asking.site;
        let question = call.question();
        let dice = draw(self.world.seed(), &["dice", &site.entry().id]);
        if let Some(act) = trouble::act(mood, call.is_first_hop(), dice) {
            return act;
        }
        let listed = site.lists(&call.query);
        let exists = listed.unwrap_or_else(|| mood == Mood::SaysYes || self.world.exists(question));
        let aim = if exists { Aim::Hit } else { Aim::Miss };
        match site.page(aim, &call.query, call.probe, &call.url) {
            Some(page) => Act::Answer(match page.moved_to {
                Some(to) => Answer { status: 302, ..Answer::default() }.with_header("Location", to.as_str()),
                None if call.page == PageOf::Script => {
                    script::drawn_later(page.answer, self.world.drawing(question, mood))
                }
                None => page.answer,
            }),
            // `Sandbox::problems` says why.
            None => Act::Answer(trouble::unplayable()),
        }
    }
}

impl Call<'_> {
    /// Whether this is no request that a redirect led to. A browser does not say so: the address does.
    fn is_first_hop(&self) -> bool {
        match self.page {
            PageOf::Script => self.url.path() != trouble::LOGIN_PATH,
            PageOf::Site | PageOf::Browser => self.hop == "0",
        }
    }

    fn question(&self) -> Question<'_> {
        let entry = self.asking.site.entry();
        let is_feed = entry.probes.get(self.probe).is_some_and(|probe| probe.feed.is_some());
        // A feed is the same for every query: whoever happens to fetch it asks for nobody.
        let query = if is_feed { "" } else { self.query.normal() };
        Question { entry, query, control: self.control }
    }
}

impl Host for Web {
    fn react(&self, asked: &Asked) -> Reaction {
        let Some(call) = self.call(asked) else {
            self.unknown.fetch_add(1, Ordering::Relaxed);
            return Reaction { after: Duration::ZERO, act: Act::Answer(trouble::unknown()) };
        };
        call.asking.count.fetch_add(1, Ordering::Relaxed);
        let mood = self.world.mood(call.question());
        let after = match (mood, call.page) {
            // Silence begins at once.
            (Mood::Silent, _) => Duration::ZERO,
            // Once for all hops.
            (_, PageOf::Browser) if call.is_first_hop() => self.world.drawing(call.question(), mood),
            (_, PageOf::Browser | PageOf::Script) => Duration::ZERO,
            (_, PageOf::Site) => self.world.delay(call.question(), mood, &call.probe.to_string(), call.hop),
        };
        Reaction { after, act: self.act(&call, mood) }
    }
}

/// `None`: not percent-encoding, or not UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded_strictly() {
        assert_eq!(percent_decoded("a%2Bb%40%C3%A9+.x").as_deref(), Some("a+b@é+.x"));
        for bad in ["%", "%2", "%zz", "%ff", "a%é"] {
            assert_eq!(percent_decoded(bad), None, "{bad}");
        }
    }
}
