//! A module: an entry of the catalogue, with what is worked out once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use super::definition::{self, Entry, Matcher, Part, Probe, Scripts, Via, parts};
use super::keys::OperatorKeys;
use super::pattern::{SearchRegex, Searches};
use super::query::{Query, SearchType};
use super::reason::Reason;
use super::rules_version::RulesVersion;
use super::template::{Host, Saved, Template, Values, Variable};

/// An entry that can run. It never changes.
#[derive(Debug, Clone)]
pub struct Module {
    entry: Entry,
    id: Arc<str>,
    /// The engine whose rules the module has unchanged.
    engine: Option<&'static Module>,
    /// The regex that the whole normal form must match.
    pub(super) accepts: Option<SearchRegex>,
    /// The host of each probe.
    hosts: Vec<Host>,
    rules: OnceLock<RulesVersion>,
    is_about_domain: OnceLock<bool>,
}

/// The rules of each engine as a module, from which the sites take what is worked out once.
static ENGINES: LazyLock<BTreeMap<&str, Module>> = LazyLock::new(|| {
    definition::ENGINES.iter().map(|(name, rules)| (&**name, Module::new(rules.clone()))).collect()
});

/// A key that a module uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyUse<'m> {
    /// The name of the key, without the prefix `config.`.
    pub name: &'m str,
    /// Whether the module also works without the key.
    pub is_optional: bool,
}

impl Module {
    #[cfg(test)]
    pub(crate) fn example(id: &str) -> Arc<Self> {
        let entry = serde_json::json!({
            "id": id, "platform": "M", "type": "username", "category": "social",
            "probes": [{"url": format!("https://{id}.example/{{query}}")}],
            "hit": [{"status": [200]}], "miss": [{"status": [404]}],
        });
        Arc::new(Self::compile(serde_json::from_value(entry).unwrap()).unwrap())
    }

    /// Returns the module of an entry that has no mistakes.
    pub(crate) fn new(entry: Entry) -> Self {
        // A query in another script is skipped before this regex is used.
        let is_ascii = entry.search_type != SearchType::Username || entry.scripts == Scripts::Ascii;
        let accepts = || entry.accepts.as_deref().map(|pattern| SearchRegex::whole(pattern, is_ascii));
        let engine = entry.engine.as_deref().and_then(|name| ENGINES.get(name));
        let engine = engine.filter(|engine| entry.has_rules_of(&engine.entry));
        Self {
            id: entry.id.as_str().into(),
            accepts: engine.map_or_else(accepts, |engine| engine.accepts.clone()),
            engine,
            hosts: entry.probes.iter().map(|probe| probe.url.host()).collect(),
            rules: OnceLock::new(),
            is_about_domain: OnceLock::new(),
            entry,
        }
    }

    /// Returns an enabled copy of the module.
    pub(crate) fn to_enabled(&self) -> Self {
        Self::new(self.entry.to_enabled())
    }

    /// Returns the host of a probe.
    pub(crate) fn host(&self, probe: usize) -> &Host {
        self.hosts.get(probe).unwrap_or(&Host::Unknown)
    }

    /// Returns the entry as it was written.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Returns the engine whose rules the module has unchanged.
    pub(crate) fn engine(&self) -> Option<&'static Self> {
        self.engine
    }

    /// Returns the unique name of the module.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the name of the site or service, as its users know it.
    pub fn platform(&self) -> &str {
        &self.entry.platform
    }

    /// Returns the version of the module's rules, with the first source.
    pub fn rules_version(&self) -> &RulesVersion {
        self.rules.get_or_init(|| match self.engine {
            Some(engine) => engine.rules_version().on(self.entry.host()),
            None => RulesVersion::of(&self.entry),
        })
    }

    /// Returns the keys that the module's requests use, sorted by name.
    pub fn keys(&self) -> BTreeSet<KeyUse<'_>> {
        let variables = self.entry.probes.iter().flat_map(Probe::templates).flat_map(Template::variables);
        let keys = variables.filter_map(|variable| match variable {
            Variable::Config { name, is_optional } => Some(KeyUse { name, is_optional: *is_optional }),
            _ => None,
        });
        keys.collect()
    }

    /// Returns the type of query that the module accepts.
    pub fn search_type(&self) -> SearchType {
        self.entry.search_type
    }

    /// Returns whether the module reads only feeds, which are usually in memory.
    pub fn reads_only_feeds(&self) -> bool {
        self.entry.probes.iter().all(|probe| probe.feed.is_some())
    }

    /// Returns whether the module needs a browser.
    pub fn is_premium(&self) -> bool {
        self.entry.probes.iter().any(|probe| probe.via == Via::Browser)
    }

    /// Returns the hosts that a check may contact, as the limit by host counts them: a list for each source, first the main
    /// source, then each fallback, which most checks do not use. Each is a fixed host, the fixed end of a host that begins
    /// with the query, or the queried domain. Hosts that only an answer names are not included, and neither are those of
    /// feeds, which one check fetches for all.
    pub fn hosts(&self, query: &Query) -> Vec<Vec<String>> {
        self.sources().into_iter().map(|source| self.hosts_of(query, source)).collect()
    }

    /// Returns the hosts of some of the module's probes, as [`Module::hosts`] does.
    pub(crate) fn hosts_of(&self, query: &Query, probes: Range<usize>) -> Vec<String> {
        let (name, saved) = (self.name_of(query), Saved::new());
        let searches = Searches::default();
        let values = Values::new(self.entry.host(), query, &name, &saved, &searches);
        let mut hosts: Vec<String> = Vec::new();
        let asked = probes.filter(|probe| self.entry.probes[*probe].feed.is_none());
        for host in asked.filter_map(|probe| self.host(probe).name(&values)) {
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        hosts
    }

    /// Returns the address of the page for people about the query, if there is one that needs no answer.
    pub fn page(&self, query: &Query) -> Option<String> {
        let (name, saved, searches) = (self.name_of(query), Saved::new(), Searches::default());
        let values = Values::new(self.entry.host(), query, &name, &saved, &searches);
        self.entry.profile.as_ref()?.fill(&values).ok()
    }

    /// Returns the hosts of the first source that are the same for all queries. A host may occur twice.
    pub fn first_hosts(&self) -> impl Iterator<Item = &str> {
        let first = self.sources().into_iter().next().unwrap_or_default();
        self.hosts[first].iter().filter_map(Host::fixed)
    }

    /// Returns the ranges of probes that form a source: the first probes, then those that begin with each fallback.
    pub(crate) fn sources(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let sources = self.entry.probes.chunk_by(|_, next| !next.fallback);
        let range = |source: &[Probe]| {
            end += source.len();
            end - source.len()..end
        };
        sources.map(range).collect()
    }

    /// Returns the reason why the module cannot be used for this query, or `None` if it can.
    pub fn why_skipped(&self, query: &Query, keys: &OperatorKeys) -> Option<Reason> {
        if !self.entry.enabled {
            return Some(Reason::Disabled);
        }
        self.why_refused(query).or_else(|| {
            let is_missing = |need: &String| keys.get(need.strip_prefix("config.").unwrap_or(need)).is_none();
            self.entry.needs.iter().any(is_missing).then_some(Reason::NeedsKey)
        })
    }

    /// Returns the reason of [`Module::why_skipped`] if it depends only on the query.
    pub(crate) fn why_refused(&self, query: &Query) -> Option<Reason> {
        if query.search_type() != self.search_type() {
            return Some(Reason::WrongType);
        }
        if self.entry.scripts == Scripts::Ascii && !query.normal().is_ascii() {
            return Some(Reason::Script);
        }
        let stands_in = |list: &[String]| query.domain().is_some_and(|at| list.iter().any(|it| it == at));
        let Entry { domain_in, domain_not_in, .. } = &self.entry;
        if (!domain_in.is_empty() && !stands_in(domain_in)) || stands_in(domain_not_in) {
            return Some(Reason::OtherDomain);
        }
        let name = self.name_of(query);
        let is_accepted =
            !name.is_empty() && self.accepts.as_ref().is_none_or(|regex| regex.regex().is_match(&name));
        (!is_accepted).then_some(Reason::NotAccepted)
    }

    /// Returns the query's normal form without the characters that the entry strips.
    pub(crate) fn name_of(&self, query: &Query) -> String {
        match &self.entry.strip {
            None => query.normal().to_owned(),
            Some(strip) => query.normal().chars().filter(|c| !strip.contains(*c)).collect(),
        }
    }

    /// Returns whether a hit is confirmed by a control check.
    pub fn is_controlled(&self) -> bool {
        self.entry.control.unwrap_or(self.search_type() != SearchType::Domain)
    }

    /// Returns whether the contacted host depends on the query's domain.
    pub(crate) fn is_host_queried(&self) -> bool {
        self.hosts.iter().any(|host| !matches!(host, Host::Fixed(_)))
    }

    /// Returns whether the requests and the rules for a hit use only the domain of the query.
    pub(crate) fn is_about_domain(&self) -> bool {
        let is_name = |variable: &Variable| matches!(variable, Variable::Query | Variable::Local);
        let asks_for_name = |part: &Part<'_>| part.is_in(&["probes", "hit"]) && part.asks_for(is_name);
        let is_about_domain =
            || self.entry.domain_in.is_empty() && !parts(&self.entry.to_json()).iter().any(asks_for_name);
        *self.is_about_domain.get_or_init(is_about_domain)
    }

    /// Returns every rule that may read the answer to a probe.
    pub(crate) fn rules_on(&self, probe: usize) -> impl Iterator<Item = &Matcher> {
        let rules = self.entry.rules().map(|(.., rule)| rule);
        rules.filter(move |rule| rule.probe.is_none_or(|index| index == probe))
    }
}
