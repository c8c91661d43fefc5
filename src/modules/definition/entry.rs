//! The types of a catalogue entry and of its enumerated fields.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::matcher::Matcher;
use super::probe::Probe;
use super::result::{Extractor, ListResult, MainResult};
use super::text::{
    DATE, DATE_ALLOWED, DOMAIN, DOMAIN_ALLOWED, MAX_LISTED, MAX_PROBES, SITE, SITE_ALLOWED, WORD,
    WORD_ALLOWED, yes,
};
use crate::base::words::words;
use crate::modules::query::SearchType;
use crate::modules::template::{self, Template};

/// A module in a catalogue file. The file is a JSON array of entries.
// What is derived reads and writes all fields; the implementations below use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, expecting = "an object")]
#[schemars(inline)]
pub struct Entry {
    /// The unique name of the module: 1 to 64 lower-case ASCII letters, digits, `_`, `-` or `.`.
    #[schemars(regex(pattern = "^[a-z0-9_.-]{1,64}$"), extend("errorMessage" = "an id is 1 to 64 of a-z, 0-9, `_`, `-` and `.`"))]
    pub id: String,
    /// The name of the site or service, as its users know it.
    #[schemars(
        regex(pattern = r"^\S(.*\S)?$"),
        length(max = 80),
        extend("errorMessage" = "expected 1 to 80 characters without white space at the ends")
    )]
    pub platform: String,
    /// The kind of query that the module accepts.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// The subject of the module, in one or two lower-case words, such as `coding`, `social` or `dns`.
    #[schemars(regex(pattern = WORD), extend("errorMessage" = WORD_ALLOWED))]
    pub category: String,
    /// Further words by which modules can be selected.
    #[serde(default)]
    #[schemars(extend("items" = {"type": "string", "pattern": WORD, "errorMessage": WORD_ALLOWED}))]
    pub tags: Vec<String>,
    /// The software of the site, such as `discourse`, of which many sites are known. Such a module runs only if the search
    /// asks for engines or names it, or by default.
    #[schemars(regex(pattern = WORD), extend("errorMessage" = WORD_ALLOWED))]
    pub engine: Option<String>,
    /// Whether searches ask the site of an engine without asking for engines.
    #[serde(default)]
    pub by_default: bool,
    /// The host of the site, for `{host}`, with the path of the software if it is below one: `wiki.example.org/w`.
    #[schemars(regex(pattern = SITE), extend("errorMessage" = SITE_ALLOWED))]
    pub host: Option<String>,
    /// The popularity of the site: 1 is the most visited. Popular modules run early.
    #[schemars(range(min = 1, max = u32::MAX))]
    pub rank: Option<u32>,
    /// Whether the module can run. A module with `false` is loaded and listed, but never run.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The reason why the module is disabled. It requires `"enabled": false`.
    pub off: Option<Off>,
    /// Whether the site has adult content. Such a module runs only if the search asks for such modules.
    #[serde(default)]
    pub nsfw: bool,
    /// Whether the module requests a sign-in page (never with a password). Such
    /// a module runs only if the operator enables it.
    #[serde(default)]
    pub discovery: bool,
    /// The party that sees the module's traffic.
    #[serde(default)]
    pub contact: Contact,
    /// The address of the site's front page.
    #[schemars(regex(pattern = "^https?://"), extend("errorMessage" = "a web address begins with `https://` or `http://`"))]
    pub home: Option<String>,
    /// The page that a person would open for this query (a template).
    #[serde(default, deserialize_with = "template::url")]
    pub profile: Option<Template>,
    /// A regex that the whole normal form must match; otherwise the check is `skipped`. It needs no anchors.
    pub accepts: Option<String>,
    /// The scripts in which the site's usernames can be written.
    #[serde(default)]
    pub scripts: Scripts,
    /// Characters that are removed from the query first, because the site does not allow them in names.
    #[schemars(length(min = 1))]
    pub strip: Option<String>,
    /// The domains whose email addresses are checked. Without it, addresses of all domains are.
    #[serde(default)]
    #[schemars(extend("items" = {"type": "string", "pattern": DOMAIN, "errorMessage": DOMAIN_ALLOWED}))]
    pub domain_in: Vec<String>,
    /// The domains whose email addresses are not checked.
    #[serde(default)]
    #[schemars(extend("items" = {"type": "string", "pattern": DOMAIN, "errorMessage": DOMAIN_ALLOWED}))]
    pub domain_not_in: Vec<String>,
    /// The `config.NAME` keys without which the module is `skipped`.
    #[serde(default)]
    #[schemars(extend("items" = {
        "type": "string",
        "pattern": r"^config\.[a-z0-9_]{1,40}$",
        "errorMessage": "write `config.NAME`, where NAME consists of a-z, 0-9 and `_`"
    }))]
    pub needs: Vec<String>,
    /// The least time between two checks of this module, in milliseconds.
    #[schemars(range(min = 1, max = 86_400_000), extend("errorMessage" = "expected 1 to 86400000 (a day)"))]
    pub every_ms: Option<u64>,
    /// The most checks of this module per day.
    #[schemars(range(min = 1, max = u32::MAX))]
    pub per_day: Option<u32>,
    /// The one to three requests of a check, sent in order.
    #[schemars(length(min = 1, max = MAX_PROBES))]
    pub probes: Vec<Probe>,
    /// The module's own barriers, in addition to the global list. They take precedence over all other rules.
    #[serde(default)]
    #[schemars(length(max = MAX_LISTED))]
    pub barrier: Arc<[Matcher]>,
    /// The rules for a hit. One that holds is enough.
    #[schemars(length(min = 1, max = MAX_LISTED))]
    pub hit: Arc<[Matcher]>,
    /// The rules for a miss. One that holds is enough.
    #[serde(default)]
    #[schemars(length(max = MAX_LISTED))]
    pub miss: Arc<[Matcher]>,
    /// Whether a miss means only that nothing is public, not that there is no account.
    #[serde(default)]
    pub weak_miss: bool,
    /// Whether a hit is confirmed by checking a made-up name. Default: yes for
    /// usernames and email addresses, no for domains.
    pub control: Option<bool>,
    /// The main result of a hit, of which there is exactly one. If neither this nor `results` is given, a
    /// username or email module yields `{"type": "account"}` with the query as its value.
    pub result: Option<Arc<MainResult>>,
    /// The lists of further results. Each list can be empty.
    #[serde(default)]
    #[schemars(length(max = MAX_LISTED))]
    pub results: Arc<[ListResult]>,
    /// Queries that are known to be hits. The first one confirms misses that rest only on a status or on something
    /// absent or empty.
    #[serde(default)]
    #[schemars(length(max = MAX_LISTED))]
    pub known: Vec<String>,
    /// The newest evidence that the entry fits the answers of its site.
    pub verified: Option<Verified>,
    /// A remark for the next author of the entry.
    pub note: Option<String>,
}

impl Entry {
    /// Returns the rules with their places, such as `hit[0]`.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (&'static str, usize, &Matcher)> {
        let lists = [("barrier", &self.barrier), ("hit", &self.hit), ("miss", &self.miss)];
        lists
            .into_iter()
            .flat_map(|(list, rules)| rules.iter().enumerate().map(move |(at, rule)| (list, at, rule)))
    }

    /// Returns every extractor of the results, with the probe whose answer it reads and whether it is in a list.
    pub(crate) fn extractors(&self) -> impl Iterator<Item = (Option<usize>, bool, &Extractor)> {
        let main = self.result.iter().flat_map(|main| main.value.iter().chain(main.metadata.values()));
        let main = main.map(|extractor| (extractor.probe, false, extractor));
        let lists = self.results.iter().flat_map(|list| {
            let extractors = list.value.iter().chain(list.metadata.values());
            extractors.map(move |extractor| (list.probe, true, extractor))
        });
        main.chain(lists)
    }

    /// Returns the value of `{host}`.
    pub(crate) fn host(&self) -> &str {
        self.host.as_deref().unwrap_or_default()
    }

    /// Returns whether only searches that ask for engines, or name the module, use it.
    pub fn needs_engines(&self) -> bool {
        self.engine.is_some() && !self.by_default
    }

    /// Returns whether the entry has the rules of its engine unchanged: it was copied from those, or a line would give it.
    pub(crate) fn has_rules_of(&self, engine: &Self) -> bool {
        let lists = [(&self.barrier, &engine.barrier), (&self.hit, &engine.hit), (&self.miss, &engine.miss)];
        let is_copy = lists.iter().all(|(own, rules)| Arc::ptr_eq(own, rules));
        is_copy && self.accepts == engine.accepts || self.to_line().is_some()
    }

    /// Returns an enabled copy of the entry.
    pub(crate) fn to_enabled(&self) -> Self {
        Self { enabled: true, off: None, ..self.clone() }
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

/// The party that sees a module's traffic: `third_party` (holds data about the query), `resolver` (a DNS
/// resolver), `target_web` (the site of the domain that is looked up) or `third_party_scan` (a third party
/// that fetches that site on request).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[schema(as = ModuleContact)]
pub enum Contact {
    /// A third party that holds data about the query.
    #[default]
    ThirdParty,
    /// A DNS resolver.
    Resolver,
    /// The site of the domain that is looked up.
    TargetWeb,
    /// A third party that fetches the site of the domain on request.
    ThirdPartyScan,
}

/// The scripts in which a module's usernames can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Scripts {
    /// Only ASCII. A query in another script is `skipped`.
    #[default]
    Ascii,
    /// Usernames can have letters of any script.
    Any,
}

/// The newest evidence that an entry fits the answers of its site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(as = ModuleVerified)]
#[schemars(inline)]
pub struct Verified {
    /// The kind of evidence.
    pub by: VerifiedBy,
    /// The date of the evidence, such as `2026-08-22`, or `2026-08` if the day is not known.
    #[schema(pattern = "^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$")]
    #[schemars(regex(pattern = DATE), extend("errorMessage" = DATE_ALLOWED))]
    pub date: String,
}

words! {
    /// The kind of evidence for an entry: `recorded` (answers of the site, recorded on that date), `list` (a
    /// maintained public list, which had this rule on that date) or `documentation` (the documentation or the
    /// standard of the interface, as it was on that date).
    // The strongest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[derive(Serialize, Deserialize, JsonSchema, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub enum VerifiedBy {
        /// Answers of the site that were recorded on that date.
        Recorded = "recorded",
        /// A maintained public list that had this rule on that date.
        List = "list",
        /// The documentation or the standard of the interface, as it was on that date.
        Documentation = "documentation",
    }
}

/// The reason why a module is disabled, and the date of the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schema(as = ModuleOff)]
#[schemars(inline)]
pub struct Off {
    /// The date of the evidence, such as `2026-08-22`, or `2026-08` if the day is not known.
    #[schema(pattern = "^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$")]
    #[schemars(regex(pattern = DATE), extend("errorMessage" = DATE_ALLOWED))]
    pub date: String,
    /// The reason, in one sentence without a full stop.
    #[schemars(
        regex(pattern = r"^\S(.*\S)?$"),
        length(max = 200),
        extend("errorMessage" = "expected 1 to 200 characters without white space at the ends")
    )]
    pub reason: String,
}
