//! [`Account`]: what the results of runs say about one account.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use md5::{Digest as _, Md5};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::base::encoding::{hex, sha256};
use crate::model::entity::identified::Entity;
use crate::model::entity::{EntityKey, folded, merge};
use crate::model::follow::Class;
use crate::model::notes::Verdict;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::query::SearchType;
use crate::runs::leads::links::{Link, RunLinks, Subjects, links};
use crate::runs::pictures::avatar::{AVATAR_URL, Avatar, Likeness};
use crate::runs::record::{Findings, ResultRef};

/// The most signs of one account that are compared.
const MAX_SIGNS: usize = 32;
/// The number of accounts that one account names from which on it is a page of links.
const PAGE_OF_LINKS: usize = 25;

/// The fewest letters of a full name.
const MIN_NAME_LETTERS: usize = 6;
/// The most words of a full name. A longer text is a slogan.
const MAX_NAME_WORDS: usize = 5;
/// The fewest words and characters of a distinctive sentence.
const MIN_SENTENCE: (usize, usize) = (6, 30);
/// The most sentences of one bio that are compared.
const MAX_SENTENCES: usize = 5;
/// The most characters of a bio that are read.
const MAX_BIO_CHARS: usize = 4096;

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
    /// The owner of the runs has found that the account is that of the one who is searched.
    Mine,
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
    fn add(&mut self, at: ResultRef, record: &ResultRecord, known: &Known) {
        self.add_result(at, record.confidence);
        let metadata = &record.metadata;
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::trim);
        let texts = |names: &'static [&'static str]| {
            names.iter().filter_map(move |name| text(name)).filter(|text| !text.is_empty())
        };
        for name in texts(&NAMES) {
            self.names.insert(name.to_owned());
            self.full_names.extend(full_name(name));
        }
        if record.verdict() == Some(Verdict::Mine) {
            self.hold(Sign::Mine, Mention { is_stated: false, at });
        }
        let stated = Mention { is_stated: true, at };
        texts(&BIOS).flat_map(sentences).for_each(|sentence| self.hold(Sign::Bio(sentence), stated));
        texts(&KEYS).for_each(|key| self.hold(Sign::Key(folded(key)), stated));
        let email = |hash: String| match known.emails.get(&hash) {
            Some(email) => Sign::Email(email.clone()),
            None => Sign::EmailHash(hash),
        };
        texts(&HASHES)
            .for_each(|hash| self.hold(email(hash.to_lowercase()), Mention { is_stated: false, at }));
        if let Some((sha256, likeness)) = picture(metadata) {
            self.hold(Sign::Picture(sha256), stated);
            self.hold(Sign::Likeness(known.likenesses.get(&likeness).copied().unwrap_or(likeness)), stated);
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

    /// Adds a sign, or keeps the better mention that is known. The first signs stay if there are too many.
    fn hold(&mut self, sign: Sign, mention: Mention) {
        keep_better(&mut self.signs, sign, mention);
        if self.signs.len() > MAX_SIGNS {
            self.signs.pop_last();
        }
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

/// Returns the hashes of a profile picture that is neither a default one nor of only two colours.
fn picture(metadata: &Map<String, Value>) -> Option<(String, Likeness)> {
    let address = metadata.get(AVATAR_URL).and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let is_default = DEFAULT_PICTURES.split(' ').any(|part| address.contains(part));
    let Avatar { sha256, likeness } = Avatar::of(metadata).filter(|_| !is_default)?;
    Some((sha256, likeness?))
}

/// Returns the form in which an address is compared and hashed.
fn address(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Returns the address that an email search has asked for.
fn asked_address(run: &Findings<'_>) -> Option<String> {
    (run.query.search_type() == SearchType::Email).then(|| address(run.query.normal()))
}

/// What the signs of one account may be known by from others.
struct Known {
    /// The addresses that the runs name, by their hashes.
    emails: HashMap<String, String>,
    /// For each perceptual hash the least one that is connected with it by hashes of nearly the same picture.
    likenesses: BTreeMap<Likeness, Likeness>,
}

impl Known {
    fn of(runs: &[Findings<'_>], links: &[Link], found: &[Found<'_>]) -> Self {
        let named = links.iter().map(|link| &link.to).filter(|to| to.kind == ResultType::Email);
        let emails = named.map(|to| address(&to.value)).chain(runs.iter().filter_map(asked_address));
        let hashes = |email: &String| [hex(&Md5::digest(email)), hex(&sha256(email))];
        let emails = emails.flat_map(|email| hashes(&email).map(|hash| (hash, email.clone()))).collect();
        let pictures = found.iter().filter_map(|(_, record, _)| picture(&record.metadata));
        let all: BTreeSet<Likeness> = pictures.map(|(_, likeness)| likeness).collect();
        let mut left: Vec<Likeness> = all.into_iter().collect();
        let mut likenesses = BTreeMap::new();
        while !left.is_empty() {
            let first = left.remove(0);
            let mut reached = vec![first];
            while let Some(at) = reached.pop() {
                likenesses.insert(at, first);
                reached.extend(left.extract_if(.., |other| at.is_near(*other)));
            }
        }
        Self { emails, likenesses }
    }
}

/// A result about an account.
type Found<'a> = (&'a Findings<'a>, &'a ResultRecord, &'a Entity);

/// The links that cannot mean the account at their other end, by the positions of both.
pub(super) type Impossible = BTreeMap<[usize; 2], Mention>;

/// Returns the accounts that the runs have found, and those that their results name, by platform and value.
pub(super) fn accounts(runs: &[Findings<'_>], profiles: &ProfileIndex) -> (Vec<Account>, Impossible) {
    let subjects: Vec<Subjects<'_>> = runs.iter().map(|run| Subjects::of(run, profiles)).collect();
    let (links, _) = links(subjects.iter().map(RunLinks::of));
    let found = subjects.iter().flat_map(|it| it.found_accounts().map(|found| (it.run, found)));
    let found: Vec<Found<'_>> = found.map(|(run, (record, entity))| (run, record, entity)).collect();
    let known = Known::of(runs, &links, &found);
    let named = links.iter().map(|link| &link.to).filter(|to| to.kind == ResultType::Account);
    let mut collected = Collected::new(found.iter().map(|(.., entity)| *entity).chain(named));
    for (run, record, entity) in &found {
        let at = ResultRef { run_id: run.run_id, result_id: record.id };
        let account = &mut collected.all[collected.positions[&entity.id]];
        account.add(at, record, &known);
        if let Some(email) = asked_address(run) {
            account.hold(Sign::Email(email), Mention { is_stated: false, at });
        }
    }
    let of_run: HashMap<_, &Findings<'_>> = runs.iter().map(|run| (run.run_id, run)).collect();
    for link in links.iter().filter(|link| link.is_listed() && link.to.kind == ResultType::Account) {
        collected.add_listed(link, of_run[&link.source.run_id]);
    }
    links.iter().for_each(|link| collected.add_link(link));
    runs.iter().for_each(|run| collected.add_keys(run, &found));
    (collected.all, collected.impossible)
}

struct Collected {
    all: Vec<Account>,
    positions: HashMap<Uuid, usize>,
    impossible: Impossible,
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
        Self { all, positions, impossible: Impossible::new() }
    }

    /// Adds what a link says about the accounts at its ends. Results about accounts were added before.
    fn add_link(&mut self, link: &Link) {
        let checked = Mention { is_stated: !link.is_checked, at: link.source };
        let verified = Mention { is_stated: link.class != Class::Verified, at: link.source };
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
                let Some(from) = from else { return };
                // A platform gives a name that has become free to somebody else, and old links stay.
                let times = self.all[from].used.zip(self.all[to].created);
                if times.is_some_and(|(used, created)| created > used) {
                    keep_better(&mut self.impossible, [from, to], checked);
                } else {
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

    /// Adds an account that a result lists. An email search names accounts on the platform that answered, or only links in
    /// a profile.
    fn add_listed(&mut self, link: &Link, run: &Findings<'_>) {
        let (at, account) = (link.source, &mut self.all[self.positions[&link.to.id]]);
        account.add_result(at, link.confidence);
        let record = run.results.iter().find(|record| record.id == at.result_id);
        if record.and_then(ResultRecord::verdict) == Some(Verdict::Mine) {
            account.hold(Sign::Mine, Mention { is_stated: false, at });
        }
        let platform = record.and_then(|record| record.platform.as_deref()).unwrap_or_default();
        let own = link.to.platform.as_deref();
        if let Some(email) = asked_address(run)
            && (link.from.kind == ResultType::Email || own.is_some_and(|own| folded(own) == folded(platform)))
        {
            account.hold(Sign::Email(email), Mention { is_stated: false, at });
        }
    }

    /// Gives the public keys of a run to the accounts that have the address it asked for, or that the same module has
    /// found.
    fn add_keys(&mut self, run: &Findings<'_>, found: &[Found<'_>]) {
        let is_key = |it: &&ResultRecord| it.result_type == "public_key" && !it.is_not_mine();
        let mut keys = run.results.iter().filter(is_key).peekable();
        if keys.peek().is_none() {
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
        let has_address = |at: &usize| email.as_ref().is_some_and(|it| self.all[*at].signs.contains_key(it));
        let with_address: BTreeSet<usize> = (0..self.all.len()).filter(has_address).collect();
        for record in keys {
            let at = ResultRef { run_id: run.run_id, result_id: record.id };
            let modules = merge::modules(record);
            let of_modules = modules.iter().filter_map(|module| of_module.get(module)).flatten();
            for owner in with_address.iter().chain(of_modules) {
                let sign = Sign::Key(hex(&EntityKey::of(record).0));
                self.all[*owner].hold(sign, Mention { is_stated: true, at });
            }
        }
    }
}

/// Returns the words of a full name in lower case, or `None` for a text that is not one: a single word, which may be
/// the username, or a text with digits.
pub(super) fn full_name(text: &str) -> Option<String> {
    if text.contains(|c: char| c.is_numeric() || "@/|:".contains(c)) {
        return None;
    }
    let is_inner = |c: char| c.is_alphabetic() || "-'’".contains(c);
    let folded = folded(text);
    let words = folded.split(|c: char| !is_inner(c)).filter(|word| word.chars().count() > 1);
    let words: Vec<&str> = words.collect();
    let letters: usize = words.iter().map(|word| word.chars().count()).sum();
    let is_full = (2..=MAX_NAME_WORDS).contains(&words.len()) && letters >= MIN_NAME_LETTERS;
    is_full.then(|| words.join(" "))
}

/// Returns whether two full names have no word in common. Names in different scripts may be the same, so names with
/// other than ASCII letters never contradict.
pub(super) fn contradict(one: &str, other: &str) -> bool {
    let has = |word: &str| other.split(' ').any(|it| it == word);
    one.is_ascii() && other.is_ascii() && !one.split(' ').any(has)
}

/// Returns the distinctive sentences of a bio in lower case.
pub(super) fn sentences(bio: &str) -> Vec<String> {
    let bio: String = bio.chars().take(MAX_BIO_CHARS).collect();
    let (words, chars) = MIN_SENTENCE;
    let is_distinctive = |text: &String| text.split(' ').count() >= words && text.chars().count() >= chars;
    let all = bio.split(['.', '!', '?', ';', '|', '•', '\n', '\r']).map(folded);
    all.filter(is_distinctive).take(MAX_SENTENCES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_have_two_words_and_no_digits() {
        assert_eq!(full_name(" Jane  Q. DOE 🦀").as_deref(), Some("jane doe"));
        assert_eq!(full_name("Анна Петрова").as_deref(), Some("анна петрова"));
        for text in ["octocat", "Jane", "Jo Li", "jane doe 42", "a@b c@d", "One Two Three Four Five Six"] {
            assert_eq!(full_name(text), None, "{text}");
        }
        assert!(contradict("jane doe", "bob lee"));
        assert!(!contradict("jane doe", "doe janet"));
        assert!(!contradict("anna petrova", "анна петрова"));
    }

    #[test]
    fn only_long_sentences_are_distinctive() {
        let bio = "Rust. I paint owls on very old bicycles in Oslo! Coffee | dad";
        assert_eq!(sentences(bio), ["i paint owls on very old bicycles in oslo"]);
    }
}
