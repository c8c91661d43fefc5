//! [`Account`]: what the results say about one account.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::words::{full_name, sentences};
use crate::model::entity::folded;
use crate::model::entity::identified::Entity;
use crate::runs::pictures::avatar::{AVATAR_URL, Avatar};
use crate::runs::pictures::likeness::Likeness;
use crate::runs::record::ResultRef;

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
const DEFAULT_PICTURES: [&str; 10] = [
    "anonymous",
    "blank",
    "default",
    "identicon",
    "letter_avatar",
    "missing",
    "no-avatar",
    "no_avatar",
    "noavatar",
    "placeholder",
];

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

/// How an account has a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Held {
    /// Whether nobody has checked it: the profile only says so. A checked one is less, so that it comes first.
    pub(super) is_stated: bool,
    /// The result that shows it.
    pub(super) at: ResultRef,
}

/// How an account names another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Naming {
    /// Whether the platform has not checked the link. A checked one is less, so that it comes first.
    pub(super) is_stated: bool,
    /// The result that shows it.
    pub(super) at: ResultRef,
}

/// What the results say about one account. Nothing in it depends on the order of the results.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) entity: Entity,
    /// The highest confidence of the results about it.
    pub(super) confidence: f64,
    /// The highest confidence of the results that name it.
    pub(super) named_with: f64,
    /// The results about it.
    pub(super) results: BTreeSet<ResultRef>,
    /// The names as it shows them.
    pub(super) names: BTreeSet<String>,
    /// The full names as they are compared.
    pub(super) full_names: BTreeSet<String>,
    /// Whether the platform has verified whose account it is.
    pub(super) is_verified: bool,
    /// When it was created, at the earliest.
    pub(super) created: Option<Timestamp>,
    /// When its owner last used it, at the latest.
    pub(super) used: Option<Timestamp>,
    pub(super) signs: BTreeMap<Sign, Held>,
    /// The accounts that it names, by their positions.
    pub(super) named: BTreeMap<usize, Naming>,
}

impl Account {
    pub(super) fn new(entity: Entity) -> Self {
        Self {
            entity,
            confidence: 0.0,
            named_with: 0.0,
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
    pub(super) fn add_result(&mut self, at: ResultRef, confidence: f64, metadata: &Map<String, Value>) {
        self.results.insert(at);
        self.confidence = self.confidence.max(confidence);
        let text = |name: &str| metadata.get(name).and_then(Value::as_str).map(str::trim);
        let texts = |names: &'static [&'static str]| {
            names.iter().filter_map(move |name| text(name)).filter(|text| !text.is_empty())
        };
        for name in texts(&NAMES) {
            self.names.insert(name.to_owned());
            self.full_names.extend(full_name(name));
        }
        for sentence in texts(&BIOS).flat_map(sentences) {
            self.hold(Sign::Bio(sentence), Held { is_stated: true, at });
        }
        for key in texts(&KEYS) {
            self.hold(Sign::Key(folded(key)), Held { is_stated: true, at });
        }
        for hash in texts(&HASHES) {
            self.hold(Sign::EmailHash(hash.to_lowercase()), Held { is_stated: false, at });
        }
        // A picture without a perceptual hash has only two colours.
        if let Some(Avatar { sha256, likeness: Some(likeness) }) = Avatar::of(metadata)
            && !text(AVATAR_URL).is_some_and(is_default_picture)
        {
            self.hold(Sign::Picture(sha256), Held { is_stated: true, at });
            self.hold(Sign::Likeness(likeness), Held { is_stated: true, at });
        }
        self.is_verified |= metadata.get("verified") == Some(&Value::Bool(true));
        let time = |text: &str| text.parse::<Timestamp>().ok();
        let created = text("created_at").and_then(time);
        self.created = self.created.into_iter().chain(created).min();
        self.used = self.used.into_iter().chain(texts(&USES).filter_map(time)).max();
    }

    /// Adds a sign, or keeps the better way in which the account already has it.
    pub(super) fn hold(&mut self, sign: Sign, held: Held) {
        let known = self.signs.entry(sign).or_insert(held);
        *known = held.min(*known);
    }

    /// Adds a link to another account, or keeps the better one that is known.
    pub(super) fn name(&mut self, other: usize, naming: Naming) {
        let known = self.named.entry(other).or_insert(naming);
        *known = naming.min(*known);
    }

    /// Drops the signs over the limit.
    pub(super) fn limit_signs(&mut self) {
        while self.signs.len() > MAX_SIGNS {
            self.signs.pop_last();
        }
    }

    /// Returns whether the account is a page of links, most of which lead to accounts of others.
    pub(super) fn is_page_of_links(&self) -> bool {
        self.named.len() > PAGE_OF_LINKS
    }

    /// Returns the name that is shown for the account.
    pub(super) fn display_name(&self) -> Option<&String> {
        self.names.first()
    }

    /// Returns the username, or `None` if the account is only known by an address.
    pub(super) fn username(&self) -> Option<String> {
        let value = &self.entity.value;
        (self.entity.platform.is_some() && !value.contains('@')).then(|| folded(value))
    }

    /// Returns whether all full names of two accounts contradict each other.
    pub(super) fn has_other_name(&self, other: &Self) -> bool {
        let is_other = |one: &String| other.full_names.iter().all(|name| super::words::contradict(one, name));
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

fn is_default_picture(address: &str) -> bool {
    let address = address.to_lowercase();
    DEFAULT_PICTURES.iter().any(|part| address.contains(part))
}
