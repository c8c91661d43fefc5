//! A module: a compiled entry of the catalogue.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use regex::Regex;

use super::definition::{Entry, Extractor, Method, Scripts, Via};
use super::extract::findings::Yield;
use super::feed::MAX_FEED_BYTES;
use super::html::Selectors;
use super::keys::OperatorKeys;
use super::lint;
use super::mistake::{Mistake, Mistakes};
use super::pattern;
use super::plan::Plan;
use super::probe::MAX_BODY_BYTES;
use super::query::{Query, SearchType};
use super::render::Waiting;
use super::rule::matcher::Matcher;
use super::scope::Scope;
use super::template::{Host, Saved, Template, Values, Variable};

/// The most probes of a module.
pub const MAX_PROBES: usize = 3;
/// How much of a body is looked at for barriers.
pub(crate) const BARRIER_REACH: usize = 64 * 1024;
/// How much is read where only title and `<meta>`s are asked for.
const HEAD_REACH: usize = 256 * 1024;

/// A compiled entry. Cheap to share, never changed.
#[derive(Debug, Clone)]
pub struct Module {
    entry: Entry,
    id: Arc<str>,
    accepts: Option<Regex>,
    pub(crate) plans: Vec<Plan>,
    pub(crate) barrier: Vec<Matcher>,
    pub(crate) hit: Vec<Matcher>,
    pub(crate) miss: Vec<Matcher>,
    pub(crate) yields: Yield,
    pub(crate) selectors: Selectors,
}

/// A key that a module uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyUse<'m> {
    /// Without `config.`.
    pub name: &'m str,
    /// The module does without it, where it must.
    pub is_optional: bool,
}

impl Module {
    /// Compiles an entry.
    ///
    /// # Errors
    /// Every mistake in it, each with its place.
    pub fn compile(entry: Entry) -> Result<Self, Vec<Mistake>> {
        let mut mistakes = Mistakes::default();
        let module = compile(entry, &mut mistakes);
        match module {
            Some(module) if mistakes.count() == 0 => Ok(module),
            _ => Err(mistakes.into_list()),
        }
    }

    /// The entry as it was written.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Its unique name.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The name people know.
    pub fn platform(&self) -> &str {
        &self.entry.platform
    }

    /// The keys that its requests use, by name.
    pub fn keys(&self) -> BTreeSet<KeyUse<'_>> {
        let templates = self.plans.iter().flat_map(Plan::templates);
        templates
            .flat_map(Template::variables)
            .filter_map(|variable| match variable {
                Variable::Config { name, is_optional } => Some(KeyUse { name, is_optional: *is_optional }),
                _ => None,
            })
            .collect()
    }

    /// What kind of query it takes.
    pub fn search_type(&self) -> SearchType {
        self.entry.search_type
    }

    /// Whether all that it reads are feeds, which are mostly at hand.
    pub fn reads_lists_alone(&self) -> bool {
        self.plans.iter().all(|plan| plan.keep.is_some())
    }

    /// Whether it needs a browser.
    pub fn is_premium(&self) -> bool {
        self.plans.iter().any(|plan| plan.via == Via::Browser)
    }

    /// All hosts that a check may ask, for the limit by host: a fixed host, the fixed end of a host that
    /// begins with the query, or the queried domain. Hosts that only an answer names are not among them.
    pub fn hosts(&self, query: &Query) -> Vec<String> {
        self.hosts_of(query, self.plans.iter())
    }

    /// The same for some of its probes.
    pub(crate) fn hosts_of<'p>(&self, query: &Query, plans: impl Iterator<Item = &'p Plan>) -> Vec<String> {
        let (name, saved) = (self.name_of(query), Saved::new());
        let values = Values { query, name: &name, keys: None, saved: &saved, value: None };
        let mut hosts: Vec<String> = Vec::new();
        for host in plans.filter_map(|plan| plan.host.name(&values)) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }

    /// The probes that belong together: the first ones, then those from each fallback on.
    pub(crate) fn sources(&self) -> Vec<Range<usize>> {
        let is_start = |index: usize| index == 0 || self.plans[index].fallback;
        let starts: Vec<usize> = (0..self.plans.len()).filter(|index| is_start(*index)).collect();
        let ends = starts.iter().skip(1).copied().chain([self.plans.len()]);
        starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
    }

    /// Whether the answer of that probe cannot be what it should be unless it is JSON: each rule for a hit
    /// that is about it reads JSON, or a value saved from it comes from JSON alone.
    pub(crate) fn needs_json(&self, probe: usize) -> bool {
        let mut hits = self.hit.iter().filter(|rule| self.is_about(rule, probe)).peekable();
        (hits.peek().is_some() && hits.all(Matcher::reads_json))
            || self.plans[probe].save.iter().any(|(_, extractor)| extractor.needs_json())
    }

    /// Whether a rule is about the answer of that probe: it says so, or the probe is the last of its
    /// source.
    pub(crate) fn is_about(&self, rule: &Matcher, probe: usize) -> bool {
        rule.probe.map_or_else(|| self.is_last(probe), |index| index == probe)
    }

    /// Whether that probe is the last of its source.
    pub(crate) fn is_last(&self, probe: usize) -> bool {
        self.plans.get(probe + 1).is_none_or(|next| next.fallback)
    }

    /// Why this query cannot be asked here, as a machine-readable word: `disabled`, `wrong_type`,
    /// `not_accepted`, `script`, `other_domain`, `needs_key`. `None`: it can.
    pub fn why_skipped(&self, query: &Query, keys: &OperatorKeys) -> Option<&'static str> {
        if !self.entry.enabled {
            return Some("disabled");
        }
        self.why_refused(query).or_else(|| {
            let is_missing = |need: &String| !keys.has(need.strip_prefix("config.").unwrap_or(need));
            self.entry.needs.iter().any(is_missing).then_some("needs_key")
        })
    }

    /// The part of [`Module::why_skipped`] that is about the query alone.
    pub(crate) fn why_refused(&self, query: &Query) -> Option<&'static str> {
        if query.search_type() != self.search_type() {
            return Some("wrong_type");
        }
        if self.entry.scripts == Scripts::Ascii && !query.normal().is_ascii() {
            return Some("script");
        }
        let stands_in = |list: &[String]| query.domain().is_some_and(|at| list.iter().any(|it| it == at));
        let Entry { domain_in, domain_not_in, .. } = &self.entry;
        if (!domain_in.is_empty() && !stands_in(domain_in)) || stands_in(domain_not_in) {
            return Some("other_domain");
        }
        let name = self.name_of(query);
        let is_accepted = !name.is_empty() && self.accepts.as_ref().is_none_or(|regex| regex.is_match(&name));
        (!is_accepted).then_some("not_accepted")
    }

    /// The query's normal form without the characters that this site's names cannot hold.
    pub(crate) fn name_of(&self, query: &Query) -> String {
        match &self.entry.strip {
            None => query.normal().to_owned(),
            Some(strip) => query.normal().chars().filter(|c| !strip.contains(*c)).collect(),
        }
    }

    /// Whether a hit is confirmed by asking for a made-up name.
    pub(crate) fn is_controlled(&self) -> bool {
        self.entry.control.unwrap_or(self.search_type() != SearchType::Domain)
    }

    /// Whether which host is asked depends on the query's domain.
    pub(crate) fn is_host_queried(&self) -> bool {
        self.plans.iter().any(|plan| !matches!(plan.host, Host::Fixed(_)))
    }
}

fn compile(entry: Entry, mistakes: &mut Mistakes) -> Option<Module> {
    lint::entry(&entry, mistakes);
    let accepts = entry.accepts.as_deref().and_then(|text| {
        // A query in another script is skipped before it is asked.
        let is_ascii = entry.search_type != SearchType::Username || entry.scripts == Scripts::Ascii;
        let read = if is_ascii { pattern::whole_ascii(text) } else { pattern::whole(text) };
        mistakes.field("accepts", |mistakes| mistakes.take(read))
    });
    let mut scope = Scope {
        search_type: entry.search_type,
        saved: BTreeSet::new(),
        allows_config: true,
        allows_value: false,
        allows_page: false,
        feed: false,
        needs: entry
            .needs
            .iter()
            .filter_map(|need| need.strip_prefix("config."))
            .map(str::to_owned)
            .collect(),
        probes: entry.probes.len(),
    };
    let mut selectors = Selectors::default();
    let plans = mistakes.list("probes", &entry.probes, |mistakes, probe| {
        let plan = Plan::compile(probe, &mut selectors, &scope, mistakes);
        scope.saved.extend(probe.save.keys().cloned());
        plan
    });
    scope.allows_config = false;
    let mut rules = |field: &str, list: &[_], mistakes: &mut Mistakes| {
        mistakes.list(field, list, |mistakes, rule| Matcher::compile(rule, &mut selectors, &scope, mistakes))
    };
    let barrier = rules("barrier", &entry.barrier, mistakes);
    let hit = rules("hit", &entry.hit, mistakes);
    let miss = rules("miss", &entry.miss, mistakes);
    let yields = Yield::compile(&entry, &mut selectors, &scope, mistakes);
    if mistakes.count() > 0 {
        return None;
    }
    let id = entry.id.as_str().into();
    let mut module = Module { id, accepts, plans, barrier, hit, miss, yields, selectors, entry };
    lint::module(&module, mistakes);
    for index in 0..module.plans.len() {
        let (body_limit, wants_json) = (body_limit(&module, index), wants_json(&module, index));
        module.plans[index].body_limit = body_limit;
        module.plans[index].wants_json = wants_json;
        module.plans[index].waiting = Waiting::compile(&module.entry, index, &scope, mistakes);
    }
    Some(module)
}

/// Every rule that may look at the answer of that probe.
pub(crate) fn rules_on(module: &Module, probe: usize) -> impl Iterator<Item = &Matcher> {
    let rules = module.barrier.iter().chain(&module.hit).chain(&module.miss);
    rules.filter(move |rule| rule.probe.is_none_or(|index| index == probe))
}

/// How much of the body of that probe's answer its rules need.
fn body_limit(module: &Module, probe: usize) -> usize {
    let plan = &module.plans[probe];
    if plan.method == Method::Head {
        return 0;
    }
    if plan.keep.is_some() {
        return MAX_FEED_BYTES;
    }
    let is_here = |index: Option<usize>| index.is_none_or(|index| index == probe);
    if rules_on(module, probe).any(|rule| rule.clues().reads_body) || module.yields.list_probes().any(is_here)
    {
        return MAX_BODY_BYTES;
    }
    let results =
        module.yields.extractors().filter(|(index, _)| is_here(*index)).map(|(_, extractor)| extractor);
    let saves = plan.save.iter().map(|(_, extractor)| extractor);
    let needs = results.chain(saves).filter_map(super::extract::extractor::Extractor::body_need);
    needs.map(|head_only| if head_only { HEAD_REACH } else { MAX_BODY_BYTES }).max().unwrap_or(BARRIER_REACH)
}

fn wants_json(module: &Module, probe: usize) -> bool {
    let entry = &module.entry.probes[probe];
    let next = entry.pages.iter().map(|pages| &pages.next);
    let save_reads_json = entry.save.values().chain(next).any(|extractor| match extractor {
        Extractor::Short(text) => text.starts_with("json:"),
        Extractor::Long(long) => long.from.iter().any(|text| text.starts_with("json:")),
    });
    save_reads_json || rules_on(module, probe).any(|rule| rule.clues().json)
}
