//! [`Account`]: what the results of runs say about one account.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use md5::Md5;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::words::{contradict, full_name, sentences};
use crate::base::encoding::hex;
use crate::base::ids::RunId;
use crate::model::entity::identified::Entity;
use crate::model::entity::{EntityKey, folded, merge};
use crate::model::follow::Class;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::query::SearchType;
use crate::runs::leads::links::{Link, Subjects, links};
use crate::runs::pictures::avatar::{AVATAR_URL, Avatar, Likeness};
use crate::runs::record::{Findings, ResultRef};

/// The most signs of one account that are compared.
const MAX_SIGNS: usize = 32;
/// The number of accounts that one account names from which on it is a page of links.
const PAGE_OF_LINKS: usize = 25;

const NAMES: [&str; 3] = ["display_name", "full_name", "real_name"];
const BIOS: [&str; 3] = ["bio", "description", "about"];
const KEYS: [&str; 2] = ["public_key", "key_fingerprint"];
const HASHES: [&str; 2] = ["email_md5", "email_sha256"];
/// The members that tell when the owner last used or changed the account.
const USES: [&str; 3] = ["changed_at", "last_active_at", "last_seen_at"];
/// Parts of the addresses of pictures that platforms give to accounts without one.
const DEFAULT_PICTURES: &str =
    "anonymous blank default identicon letter_avatar missing no-avatar no_avatar noavatar placeholder";

/// Something that several accounts can have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Sign {
    /// An email address in lower case.
    Email(String),
    /// The MD5 or SHA-256 of an email address that is not known, in hex.
    EmailHash(String),
    /// A domain that is not one where many people publish.
    Site(String),
    /// A public key.
    Key(String),
    /// The SHA-256 of a profile picture, in hex.
    Picture(String),
    /// The first perceptual hash of profile pictures that are nearly the same.
    Likeness(Likeness),
    /// A sentence of a bio.
    Bio(String),
}

/// How an account has a sign, or names another account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mention {
    /// Whether nobody has checked it: the profile only says so. A checked one is less, so that it comes first.
    pub(super) is_stated: bool,
    /// The result that shows it.
    pub(super) at: ResultRef,
}

/// What the results say about one account. Nothing in it depends on the order of the results.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) entity: Entity,
    /// The highest confidence of the results about it, or of those that name it if there are none.
    pub(super) confidence: f64,
    /// The results about it.
    pub(super) results: BTreeSet<ResultRef>,
    /// The names as it shows them.
    pub(super) names: BTreeSet<String>,
    /// The full names as they are compared.
    pub(super) full_names: BTreeSet<String>,
    /// Whether the platform has verified whose account it is.
    pub(super) is_verified: bool,
    /// When it was created, at the earliest.
    created: Option<Timestamp>,
    /// When its owner last used it, at the latest.
    used: Option<Timestamp>,
    pub(super) signs: BTreeMap<Sign, Mention>,
    /// The accounts that it names, by their positions.
    pub(super) named: BTreeMap<usize, Mention>,
}

impl Account {
    fn new(entity: Entity) -> Self {
        Self {
            entity,
            confidence: 0.0,
            results: BTreeSet::new(),
            names: BTreeSet::new(),
            full_names: BTreeSet::new(),
            is_verified: false,
            created: None,
            used: None,
            signs: BTreeMap::new(),
            named: BTreeMap::new(),
        }
    }

    /// Adds what a result about the account says.
    fn add(&mut self, at: ResultRef, confidence: f64, metadata: &Map<String, Value>) {
        self.add_result(at, confidence);
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::trim);
        let texts = |names: &'static [&'static str]| {
            names.iter().filter_map(move |name| text(name)).filter(|text| !text.is_empty())
        };
        for name in texts(&NAMES) {
            self.names.insert(name.to_owned());
            self.full_names.extend(full_name(name));
        }
        let stated = Mention { is_stated: true, at };
        texts(&BIOS).flat_map(sentences).for_each(|sentence| self.hold(Sign::Bio(sentence), stated));
        texts(&KEYS).for_each(|key| self.hold(Sign::Key(folded(key)), stated));
        for hash in texts(&HASHES) {
            self.hold(Sign::EmailHash(hash.to_lowercase()), Mention { is_stated: false, at });
        }
        // A picture without a perceptual hash has only two colours.
        if let Some(Avatar { sha256, likeness: Some(likeness) }) = Avatar::of(metadata)
            && !text(AVATAR_URL).is_some_and(is_default_picture)
        {
            self.hold(Sign::Picture(sha256), stated);
            self.hold(Sign::Likeness(likeness), stated);
        }
        self.is_verified |= metadata.get("verified") == Some(&Value::Bool(true));
        let time = |text: &str| text.parse::<Timestamp>().ok();
        self.created = self.created.into_iter().chain(text("created_at").and_then(time)).min();
        self.used = self.used.into_iter().chain(texts(&USES).filter_map(time)).max();
    }

    fn add_result(&mut self, at: ResultRef, confidence: f64) {
        self.results.insert(at);
        self.confidence = self.confidence.max(confidence);
    }

    fn hold(&mut self, sign: Sign, mention: Mention) {
        keep_better(&mut self.signs, sign, mention);
    }

    /// Returns whether the account is a page of links, most of which lead to accounts of others.
    pub(super) fn is_page_of_links(&self) -> bool {
        self.named.len() > PAGE_OF_LINKS
    }

    /// Returns the username, or `None` if the account is only known by an address.
    pub(super) fn username(&self) -> Option<String> {
        let value = &self.entity.value;
        (self.entity.platform.is_some() && !value.contains('@')).then(|| folded(value))
    }

    /// Returns whether all full names of two accounts contradict each other.
    pub(super) fn has_other_name(&self, other: &Self) -> bool {
        let is_other = |one: &String| other.full_names.iter().all(|name| contradict(one, name));
        let are_known = !self.full_names.is_empty() && !other.full_names.is_empty();
        are_known && self.full_names.iter().all(is_other)
    }

    /// Returns the account in words: `octocat on GitHub`.
    pub(super) fn label(&self) -> String {
        match &self.entity.platform {
            Some(platform) => format!("{} on {platform}", self.entity.value),
            None => self.entity.value.clone(),
        }
    }
}

/// Adds a mention, or keeps the better one that is known.
fn keep_better<K: Ord>(mentions: &mut BTreeMap<K, Mention>, of: K, mention: Mention) {
    let known = mentions.entry(of).or_insert(mention);
    *known = mention.min(*known);
}

fn is_default_picture(address: &str) -> bool {
    let address = address.to_lowercase();
    DEFAULT_PICTURES.split(' ').any(|part| address.contains(part))
}

/// Returns the accounts that the runs have found, and those that their results name, by platform and value.
pub(super) fn accounts(runs: &[Findings<'_>], profiles: &ProfileIndex) -> Vec<Account> {
    let subjects: Vec<Subjects<'_>> = runs.iter().map(|run| Subjects::of(run, profiles)).collect();
    let links = links(&subjects).all;
    let mut found: Vec<Found<'_>> = Vec::new();
    for subjects in &subjects {
        found.extend(subjects.found_accounts().map(|(record, entity)| (subjects.run, record, entity)));
    }
    let named = links.iter().map(|link| &link.to).filter(|to| to.kind == ResultType::Account);
    let mut collected = Collected::new(found.iter().map(|(.., entity)| *entity).chain(named));
    collected.add_found(&found);
    collected.add_links(&links, runs);
    runs.iter().for_each(|run| collected.add_keys(run, &found));
    collected.settle_signs(runs);
    collected.all
}

/// A result about an account.
type Found<'a> = (&'a Findings<'a>, &'a ResultRecord, &'a Entity);

fn result(run_id: RunId, result_id: u32) -> ResultRef {
    ResultRef { run_id, result_id }
}

/// Returns the form in which an address is compared and hashed.
fn address(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Returns the address that an email search has asked for.
fn asked_address(run: &Findings<'_>) -> Option<String> {
    (run.query.search_type() == SearchType::Email).then(|| address(run.query.normal()))
}

struct Collected {
    all: Vec<Account>,
    positions: HashMap<Uuid, usize>,
}

impl Collected {
    fn new<'a>(entities: impl Iterator<Item = &'a Entity>) -> Self {
        let mut spellings: HashMap<Uuid, &Entity> = HashMap::new();
        for entity in entities {
            // One of several spellings, so that the order of results does not matter.
            let known = spellings.entry(entity.id).or_insert(entity);
            if (&entity.value, &entity.platform) < (&known.value, &known.platform) {
                *known = entity;
            }
        }
        let mut all: Vec<Account> = spellings.into_values().cloned().map(Account::new).collect();
        all.sort_by_cached_key(|Account { entity, .. }| {
            (entity.platform.clone(), entity.value.to_lowercase(), entity.id)
        });
        let positions = all.iter().enumerate().map(|(at, account)| (account.entity.id, at)).collect();
        Self { all, positions }
    }

    fn add_found(&mut self, found: &[Found<'_>]) {
        for (run, record, entity) in found {
            let at = result(run.run_id, record.id);
            let account = &mut self.all[self.positions[&entity.id]];
            account.add(at, record.confidence, &record.metadata);
            if let Some(email) = asked_address(run) {
                account.hold(Sign::Email(email), Mention { is_stated: false, at });
            }
        }
    }

    fn add_links(&mut self, links: &[Link], runs: &[Findings<'_>]) {
        // An email search names accounts on the platform that answered, or only links in a profile.
        let of_run = |run| move |email| (run, email);
        let mut listed: HashMap<ResultRef, (String, &str)> = HashMap::new();
        for (run, email) in runs.iter().filter_map(|run| asked_address(run).map(of_run(run))) {
            for record in run.results {
                let platform = record.platform.as_deref().unwrap_or_default();
                listed.insert(result(run.run_id, record.id), (email.clone(), platform));
            }
        }
        for link in links.iter().filter(|link| link.is_listed() && link.to.kind == ResultType::Account) {
            let at = result(link.run_id, link.result_id);
            let account = &mut self.all[self.positions[&link.to.id]];
            account.add_result(at, link.confidence);
            let is_own = |platform: &str| {
                link.to.platform.as_deref().is_some_and(|own| folded(own) == folded(platform))
            };
            if let Some((email, platform)) = listed.get(&at)
                && (link.from.kind == ResultType::Email || is_own(platform))
            {
                account.hold(Sign::Email(email.clone()), Mention { is_stated: false, at });
            }
        }
        links.iter().for_each(|link| self.add_link(link));
    }

    fn add_link(&mut self, link: &Link) {
        let at = result(link.run_id, link.result_id);
        let checked = Mention { is_stated: !link.is_checked, at };
        let verified = Mention { is_stated: link.class != Class::Verified, at };
        let from = self.positions.get(&link.from.id).copied();
        match (from, link.to.kind) {
            (from, ResultType::Account) => {
                let to = self.positions[&link.to.id];
                let account = &mut self.all[to];
                if account.results.is_empty() {
                    account.confidence = account.confidence.max(link.confidence);
                }
                if link.from.kind == ResultType::Domain {
                    account.hold(Sign::Site(link.from.value.clone()), verified);
                }
                if let Some(from) = from {
                    keep_better(&mut self.all[from].named, to, checked);
                }
            }
            (Some(from), ResultType::Email) => {
                self.all[from].hold(Sign::Email(address(&link.to.value)), checked);
            }
            (Some(from), ResultType::Domain) => {
                self.all[from].hold(Sign::Site(link.to.value.clone()), verified);
            }
            _ => {}
        }
    }

    /// Gives the public keys of a run to the accounts that have the address it asked for, or that the same module has
    /// found.
    fn add_keys(&mut self, run: &Findings<'_>, found: &[Found<'_>]) {
        let keys = run.results.iter().filter(|it| it.result_type == ResultType::PublicKey.as_str());
        let keys: Vec<&ResultRecord> = keys.collect();
        if keys.is_empty() {
            return;
        }
        let mut of_module: HashMap<String, BTreeSet<usize>> = HashMap::new();
        for (_, record, entity) in found.iter().filter(|(other, ..)| other.run_id == run.run_id) {
            for module in merge::modules(record) {
                of_module.entry(module).or_default().insert(self.positions[&entity.id]);
            }
        }
        // A module that has found several accounts does not say whose key it is.
        of_module.retain(|_, accounts| accounts.len() == 1);
        let email = asked_address(run).map(Sign::Email);
        for record in keys {
            let sign = Sign::Key(hex(&EntityKey::of(record).0));
            let stated = Mention { is_stated: true, at: result(run.run_id, record.id) };
            let mut owners: BTreeSet<usize> = BTreeSet::new();
            owners.extend(merge::modules(record).iter().filter_map(|it| of_module.get(it)).flatten());
            let has_address = |(_, account): &(usize, &Account)| {
                email.as_ref().is_some_and(|email| account.signs.contains_key(email))
            };
            owners.extend(self.all.iter().enumerate().filter(has_address).map(|(at, _)| at));
            owners.into_iter().for_each(|at| self.all[at].hold(sign.clone(), stated));
        }
    }

    /// Replaces the hashes of addresses that the runs name, and the perceptual hashes of pictures that are nearly the same
    /// by the first of them, and drops the signs over the limit.
    fn settle_signs(&mut self, runs: &[Findings<'_>]) {
        let mut emails: BTreeSet<String> = runs.iter().filter_map(asked_address).collect();
        let mut likenesses = BTreeSet::new();
        for sign in self.all.iter().flat_map(|account| account.signs.keys()) {
            match sign {
                Sign::Email(email) => _ = emails.insert(email.clone()),
                Sign::Likeness(likeness) => _ = likenesses.insert(*likeness),
                _ => {}
            }
        }
        let hashes = |email: &String| [hex(&Md5::digest(email)), hex(&Sha256::digest(email))];
        let of_hash: HashMap<String, &String> =
            emails.iter().flat_map(|email| hashes(email).map(|hash| (hash, email))).collect();
        let first = first_likenesses(&likenesses);
        for account in &mut self.all {
            for (sign, mention) in std::mem::take(&mut account.signs) {
                let known = match &sign {
                    Sign::EmailHash(hash) => of_hash.get(hash).map(|email| Sign::Email((*email).clone())),
                    Sign::Likeness(likeness) => first.get(likeness).copied().map(Sign::Likeness),
                    _ => None,
                };
                account.hold(known.unwrap_or(sign), mention);
            }
            while account.signs.len() > MAX_SIGNS {
                account.signs.pop_last();
            }
        }
    }
}

/// Returns for each perceptual hash the least one that is connected with it by hashes of nearly the same picture.
fn first_likenesses(all: &BTreeSet<Likeness>) -> BTreeMap<Likeness, Likeness> {
    let mut left: Vec<Likeness> = all.iter().copied().collect();
    let mut first = BTreeMap::new();
    for start in all {
        if first.contains_key(start) {
            continue;
        }
        let mut reached = vec![*start];
        while let Some(at) = reached.pop() {
            first.insert(at, *start);
            reached.extend(left.extract_if(.., |other| at.is_near(*other)).filter(|other| *other != at));
        }
    }
    first
}

/// A link between two accounts, by their positions, and the result that shows it.
pub(super) type AccountLink = ([usize; 2], ResultRef);

/// Removes the links that cannot mean the account at their other end, and returns them. A platform gives a name that has
/// become free to somebody else, and old links stay.
pub(super) fn take_impossible(all: &mut [Account]) -> Vec<AccountLink> {
    let created: Vec<_> = all.iter().map(|account| account.created).collect();
    let mut impossible = Vec::new();
    for (from, account) in all.iter_mut().enumerate() {
        let Some(used) = account.used else { continue };
        account.named.retain(|to, naming| {
            let is_possible = created[*to].is_none_or(|created| created <= used);
            if !is_possible {
                impossible.push(([from, *to], naming.at));
            }
            is_possible
        });
    }
    impossible
}
