//! [`links`]: what the results of runs point to.
//!
//! # Rules
//! | member of the metadata | names |
//! |---|---|
//! | `verified_links` | addresses that the platform has checked |
//! | `website`, `links` | addresses |
//! | `email`, `emails` | email addresses |
//! | the name of a platform of the catalogue, such as `twitter` | a username there, or an address |
//! | `bio`, `description` | addresses, email addresses, and names after the name of a platform: `twitter: octocat` |
//!
//! A result of the type `account`, `url`, `email` or `username` that is not what the search looked for names itself. It
//! is verified if its `verified` is true.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use jiff::Timestamp;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::base::ids::RunId;
use crate::model::entity::identified::{Entity, web_address};
use crate::model::entity::merge;
use crate::model::follow::{Class, LeadReason};
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::{NamedAccount, ProfileIndex, is_id};
use crate::modules::query::{Query, SearchType};
use crate::modules::shared_hosts::{SharedHost, shared_host};
use crate::runs::record::{Findings, ResultRef};

/// The most links of one run. A run has fewer unless a site shows lists of foreign links.
const MAX_LINKS: usize = 2_000;
/// The most entities that one result names. Its further texts are not read.
const MAX_NAMED: usize = 200;
/// The most characters of a free text that are read.
const MAX_TEXT_CHARS: usize = 16 * 1024;
/// The name of the field of a result that names itself.
const VALUE: &str = "value";

/// The member of the metadata of a result that a look-up has found: which lead led to it. Its value is a [`FoundBy`].
pub const FOUND_BY: &str = "found_by";

/// Names the lead that led to a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundBy {
    /// The run of the result that named the account.
    pub run_id: RunId,
    /// The number of that result.
    pub result_id: u32,
    /// The class of the lead.
    pub class: Class,
    /// The lead.
    pub lead_id: Uuid,
}

impl FoundBy {
    /// Reads the member of a result's metadata. Returns `None` if the search has found the result by itself.
    pub fn of(metadata: &Map<String, Value>) -> Option<Self> {
        metadata.get(FOUND_BY).and_then(|value| Self::deserialize(value).ok())
    }
}

/// A link from one entity to another, as a result shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Link {
    /// The entity that the result is about.
    pub from: Entity,
    /// The entity that it names.
    pub to: Entity,
    /// The module that can look up `to`, for an account.
    pub module: Option<String>,
    /// How sure the link is.
    pub class: Class,
    /// Whether the platform itself has checked it.
    pub is_checked: bool,
    /// The member of the metadata, or `value`.
    pub field: String,
    /// The result that shows it.
    pub source: ResultRef,
    /// The number of leads between the query of the family's root and the result.
    pub level: u8,
    /// The confidence of the result.
    pub confidence: f64,
    /// The time of the result.
    pub at: Timestamp,
    /// Why `to` is never followed.
    pub barred: Option<LeadReason>,
}

impl Link {
    /// Returns the username of the account, if a person has chosen it: other accounts may have it, too. Ids are given by
    /// platforms, and short names are taken by somebody else on most of them.
    pub(super) fn chosen_name(&self) -> Option<&str> {
        let name = self.module.as_ref().map(|_| self.to.value.as_str())?;
        let is_chosen = name.chars().count() >= 4 && name.chars().any(char::is_alphabetic) && !is_id(name);
        is_chosen.then_some(name)
    }

    /// Returns whether the result itself is what the link leads to.
    pub(in crate::runs) fn is_listed(&self) -> bool {
        self.field == VALUE
    }
}

/// What the results of one run point to: all of which leads are made. As JSON, it is stored with a run of a family that
/// has ended, so that its results are not read again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunLinks {
    /// The entity that the run searched for.
    pub(super) asked: Uuid,
    /// The entities that are results about an account, or that look-ups have found, each with the first of these results.
    /// An entity that is only listed on another page was not looked up.
    pub(super) found: Vec<(Uuid, ResultRef)>,
    /// The entities of results that are not mine.
    #[serde(skip)]
    rejected: HashSet<Uuid>,
    links: Vec<Link>,
    /// How many more there were than are kept of one result and of one run.
    omitted: usize,
}

impl RunLinks {
    /// Reads the results of a run.
    pub fn of(subjects: &Subjects<'_>) -> Self {
        let run = subjects.run;
        let (mut found, mut links, mut omitted) = (Vec::new(), Vec::new(), 0);
        let mut levels: HashMap<u32, u8> = HashMap::new();
        for (record, entity) in subjects.results() {
            let by = FoundBy::of(&record.metadata);
            let source = ResultRef { run_id: run.run_id, result_id: record.id };
            if record.metadata.contains_key("profile_url") {
                found.push((entity.id, source));
            }
            found.extend(by.map(|by| (by.lead_id, source)));
            // A result that named an account was there before the account was looked up, so its number is lower.
            let named = by.and_then(|by| levels.get(&by.result_id).copied());
            let level = named.map_or(run.depth, |named| named.saturating_add(1));
            levels.insert(record.id, level);
            let mut reader = Reader { profiles: subjects.profiles, named: Vec::new(), omitted: 0 };
            reader.read(record, &run.query);
            let owners = subjects.owners(record, entity);
            for (field, class, (to, module, barred)) in reader.named {
                links.extend(owners.iter().filter(|from| from.id != to.id).map(|from| Link {
                    from: from.clone(),
                    to: to.clone(),
                    module: module.clone(),
                    class,
                    is_checked: class == Class::Verified,
                    field: field.to_owned(),
                    source,
                    level,
                    confidence: record.confidence,
                    at: record.created_at,
                    barred,
                }));
            }
            // After each result, so that the links of many results are never in memory together.
            omitted += reader.omitted + links.len().saturating_sub(MAX_LINKS);
            links.truncate(MAX_LINKS);
        }
        let rejected = subjects.rejected().map(|entity| entity.id).collect();
        Self { asked: subjects.asked.id, found, rejected, links, omitted }
    }
}

/// Joins the links of several runs, in the order of their runs and results. Links between two entities that link to each
/// other become verified, and none leads to what is not mine unless another result has also found it. Also returns how many more there were than are kept of one result and of one run.
pub fn links(runs: impl IntoIterator<Item = RunLinks>) -> (Vec<Link>, usize) {
    let (mut all, mut omitted) = (Vec::new(), 0);
    let (mut rejected, mut found) = (HashSet::new(), HashSet::new());
    for mut run in runs {
        all.append(&mut run.links);
        omitted += run.omitted;
        rejected.extend(run.rejected);
        found.extend(run.found.into_iter().map(|(id, _)| id));
    }
    all.retain(|link: &Link| !rejected.contains(&link.to.id) || found.contains(&link.to.id));
    let pairs: HashSet<(Uuid, Uuid)> = all.iter().map(|link| (link.from.id, link.to.id)).collect();
    for link in &mut all {
        if pairs.contains(&(link.to.id, link.from.id)) {
            link.class = Class::Verified;
        }
    }
    (all, omitted)
}

/// What the results of a run are about. It is read once for links, leads, people and graphs.
pub struct Subjects<'a> {
    pub(in crate::runs) run: &'a Findings<'a>,
    profiles: &'a ProfileIndex,
    /// What the run searched for.
    pub(in crate::runs) asked: Entity,
    /// What each of the results is about.
    entities: Vec<Entity>,
    /// The accounts whose pages list the further results of each module, or `None` if the account is not mine.
    accounts: HashMap<String, Option<Entity>>,
}

impl<'a> Subjects<'a> {
    /// Reads the results of a run.
    pub fn of(run: &'a Findings<'a>, profiles: &'a ProfileIndex) -> Self {
        let entities = run.results.iter().map(|record| Entity::of_result(record, profiles)).collect();
        let asked = Entity::of_query(&run.query);
        let subjects = Self { run, profiles, asked, entities, accounts: HashMap::new() };
        let mut accounts = HashMap::new();
        for (record, entity) in subjects.all().filter(|(record, _)| subjects.is_of_account(record)) {
            for module in merge::modules(record) {
                accounts.entry(module).or_insert_with(|| (!record.is_not_mine()).then(|| entity.clone()));
            }
        }
        Self { accounts, ..subjects }
    }

    fn all(&self) -> impl Iterator<Item = (&'a ResultRecord, &Entity)> {
        self.run.results.iter().zip(&self.entities)
    }

    /// Returns the results, each with what it is about. It skips what is not mine, and what only that lists.
    pub(in crate::runs) fn results(&self) -> impl Iterator<Item = (&'a ResultRecord, &Entity)> {
        let rejects = self.rejected().next().is_some();
        self.all().filter(move |(record, entity)| {
            !rejects || !record.is_not_mine() && !self.owners(record, entity).is_empty()
        })
    }

    /// Returns what the results that are not mine are about.
    fn rejected(&self) -> impl Iterator<Item = &Entity> {
        self.all().filter(|(record, _)| record.is_not_mine()).map(|(_, entity)| entity)
    }

    /// Returns the accounts for which a module was asked, without those that are only listed there.
    pub(in crate::runs) fn found_accounts(&self) -> impl Iterator<Item = (&'a ResultRecord, &Entity)> {
        self.results().filter(|(record, _)| self.is_of_account(record))
    }

    fn is_of_account(&self, record: &ResultRecord) -> bool {
        matches!(record.result_type.as_str(), "account" | "profile") && !names_itself(record, &self.run.query)
    }

    /// Returns the entities that a result says something about: what it is about, or the accounts whose pages list it. There
    /// are none if none of those is mine.
    pub(in crate::runs) fn owners(&self, record: &ResultRecord, entity: &Entity) -> Vec<Entity> {
        if !names_itself(record, &self.run.query) {
            return vec![entity.clone()];
        }
        let of_module = |module: String| match self.accounts.get(&module) {
            Some(account) => account.clone(),
            None => Some(self.asked.clone()),
        };
        let owners = merge::modules(record).into_iter().filter_map(of_module).map(|owner| (owner.id, owner));
        owners.collect::<BTreeMap<_, _>>().into_values().collect()
    }
}

/// What a text names, the module that can look it up if it is an account, and why it is never followed.
type Named = (Entity, Option<String>, Option<LeadReason>);

/// Reads what the texts of a result name.
struct Reader<'a> {
    profiles: &'a ProfileIndex,
    /// What is named, each with the member of the metadata that names it, and how sure that is.
    named: Vec<(&'a str, Class, Named)>,
    /// The number of texts that were not read, because there are enough.
    omitted: usize,
}

impl<'a> Reader<'a> {
    fn read(&mut self, record: &'a ResultRecord, query: &Query) {
        if names_itself(record, query) {
            let is_verified = record.metadata.get("verified") == Some(&Value::Bool(true));
            let class = if is_verified { Class::Verified } else { Class::Stated };
            self.add(VALUE, class, |profiles| named_by_value(record, profiles));
        }
        for (field, value) in &record.metadata {
            for text in texts(value) {
                match field.as_str() {
                    "verified_links" => self.link(field, Class::Verified, text),
                    "website" | "links" => self.link(field, Class::Stated, text),
                    "email" | "emails" => self.email(field, text),
                    "bio" | "description" => self.free_text(field, text),
                    // These are also the names of platforms.
                    "about" | "url" | "location" | "name" | "status" | "team" => {}
                    service => self.handle(field, service, text),
                }
            }
        }
    }

    /// Adds what a text names. If there is enough, the text is only counted.
    fn add(&mut self, field: &'a str, class: Class, named: impl FnOnce(&ProfileIndex) -> Option<Named>) {
        if self.named.len() >= MAX_NAMED {
            self.omitted += 1;
        } else if let Some(named) = named(self.profiles)
            && !self.named.iter().any(|it| it.2.0.id == named.0.id && (it.0, it.1) == (field, class))
        {
            self.named.push((field, class, named));
        }
    }

    fn link(&mut self, field: &'a str, class: Class, text: &str) {
        match text.trim().strip_prefix("mailto:") {
            Some(address) => self.email(field, address),
            None => self.add(field, class, |profiles| named_by_link(&address_in(text.trim())?, profiles)),
        }
    }

    fn email(&mut self, field: &'a str, text: &str) {
        let address = text.trim().split('?').next().unwrap_or_default();
        self.add(field, Class::Stated, |_| named_by_email(address));
    }

    /// Adds a name on a service, or the address instead.
    fn handle(&mut self, field: &'a str, service: &str, text: &str) {
        if !self.profiles.knows_service(service) {
            return;
        }
        match text.trim() {
            address if address.contains('/') => self.link(field, Class::Stated, address),
            name => self.add(field, Class::Stated, |profiles| named_on(service, name, profiles)),
        }
    }

    fn free_text(&mut self, field: &'a str, text: &str) {
        let text: String = text.chars().take(MAX_TEXT_CHARS).collect();
        let ends = ['.', ',', ';', ':', '!', '?', ')', ']', '\'', '"', '>'];
        for link in LINK_IN_TEXT.find_iter(&text) {
            self.link(field, Class::Stated, link.as_str().trim_end_matches(ends));
        }
        for address in EMAIL_IN_TEXT.find_iter(&text) {
            self.email(field, address.as_str().trim_end_matches('.'));
        }
        for named in HANDLE_IN_TEXT.captures_iter(&text) {
            self.handle(field, &named[1], named[2].trim_end_matches(['.', '-']));
        }
    }
}

/// Returns the address of a page that a text is. It may lack its scheme: `example.org`, `www.example.org/about`.
fn address_in(text: &str) -> Option<String> {
    if web_address(text).is_some() {
        return Some(text.to_owned());
    }
    let host = text.split(['/', '?', '#']).next().filter(|host| host.contains('.'))?;
    let is_whole = !text.contains("://") && !text.contains(char::is_whitespace);
    (is_whole && Query::parse(SearchType::Domain, host).is_ok()).then(|| format!("https://{text}"))
}

fn named_account(account: &NamedAccount) -> Named {
    (Entity::named_account(account), Some(account.module.id().to_string()), None)
}

fn named_on(service: &str, name: &str, profiles: &ProfileIndex) -> Option<Named> {
    profiles.account_on(service, name).as_ref().map(named_account)
}

fn named_by_email(text: &str) -> Option<Named> {
    Query::parse(SearchType::Email, text).is_ok().then(|| (Entity::of(ResultType::Email, text), None, None))
}

/// Returns the account whose profile has this address, or else the domain of its site. Sites where many people publish
/// are not domains of anybody.
fn named_by_link(address: &str, profiles: &ProfileIndex) -> Option<Named> {
    let url = web_address(address)?;
    if let Some(account) = profiles.account_at(&url) {
        return Some(named_account(&account));
    }
    let host = url.host_str()?;
    let shared = if profiles.is_platform(host) { Some(SharedHost::Platform) } else { shared_host(host) };
    let reason = match (shared, Query::parse(SearchType::Domain, host)) {
        (Some(SharedHost::Shortener), _) => LeadReason::Shortener,
        (Some(SharedHost::MailProvider), _) => LeadReason::MailProvider,
        (Some(SharedHost::Platform), _) => LeadReason::SharedHost,
        (None, Err(_)) => LeadReason::Unsupported,
        (None, Ok(query)) => {
            let name = query.normal();
            let name = name.strip_prefix("www.").unwrap_or(name);
            return Some((Entity::of(ResultType::Domain, name), None, None));
        }
    };
    Some((Entity::of(ResultType::Url, address), None, Some(reason)))
}

/// Returns what a result names that names itself.
fn named_by_value(record: &ResultRecord, profiles: &ProfileIndex) -> Option<Named> {
    let value = record.value.as_deref()?;
    match record.result_type.as_str() {
        "url" => named_by_link(value, profiles),
        "account" => {
            let text = |name: &str| record.metadata.get(name).and_then(Value::as_str);
            let account = web_address(value).and_then(|url| profiles.account_at(&url));
            let on_service = || named_on(text("service")?, text("username").unwrap_or(value), profiles);
            // A site of one's own, such as the one that Keybase has checked.
            let site = || named_by_link(value, profiles).filter(|(_, _, barred)| barred.is_none());
            let other = || (Entity::of_result(record, profiles), None, Some(LeadReason::Unsupported));
            Some(account.as_ref().map(named_account).or_else(on_service).or_else(site).unwrap_or_else(other))
        }
        "email" => named_by_email(value),
        "username" => {
            let query = Query::parse(SearchType::Username, value).ok().filter(|it| !is_id(it.normal()));
            query.map(|_| (Entity::of(ResultType::Username, value), None, None))
        }
        _ => None,
    }
}

/// Returns whether the result names itself: it is one of a list, not what the search looked for.
fn names_itself(record: &ResultRecord, query: &Query) -> bool {
    match record.result_type.as_str() {
        "account" => !is_main(record, query),
        "username" | "email" => true,
        // A domain has many own pages and hosts.
        "url" => query.search_type() != SearchType::Domain || !is_below(record, query),
        _ => false,
    }
}

/// Returns whether the result is the account for which the module was asked.
fn is_main(record: &ResultRecord, query: &Query) -> bool {
    let value = record.value.as_deref().unwrap_or_default();
    let is_asked = value.eq_ignore_ascii_case(query.normal()) || value.eq_ignore_ascii_case(query.raw());
    record.metadata.contains_key("profile_url")
        || record.metadata.contains_key(FOUND_BY)
        // A list names the service of each account, which may have the name that was asked for.
        || (is_asked && !record.metadata.contains_key("service"))
}

/// Returns whether a page is below the queried domain.
fn is_below(record: &ResultRecord, query: &Query) -> bool {
    let url = record.value.as_deref().and_then(web_address);
    let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or_default();
    query.registrable().is_some_and(|domain| host == domain || host.ends_with(&format!(".{domain}")))
}

/// Returns the texts of a value: the value itself, or the elements of an array.
pub fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let all = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    all.iter().filter_map(Value::as_str)
}

fn pattern(text: &str) -> Regex {
    // The patterns are constant, and the tests compile each of them.
    Regex::new(text).expect("a valid pattern")
}

static LINK_IN_TEXT: LazyLock<Regex> = LazyLock::new(|| pattern(r#"https?://[^\s<>"']+"#));
static EMAIL_IN_TEXT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b[A-Za-z0-9][A-Za-z0-9._%+-]*@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}\b"));
/// A name after the name of a platform, with a colon or an `@` between them, so that `GitHub Actions` names nobody.
static HANDLE_IN_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(twitter|instagram|insta|ig|github|gitlab|telegram|twitch|youtube|tiktok|snapchat|facebook|reddit|keybase|bluesky|soundcloud|steam|patreon|medium|vk)(?:\s*[:=]\s*@?|\s+@)([A-Za-z0-9_][A-Za-z0-9_.-]{1,39})",
    )
});
