//! [`Pointer`]: a text in a result that names something else, before it is known what.
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

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::lead::FOUND_BY;
use crate::model::entity;
use crate::model::entity::identified::web_address;
use crate::model::follow::Class;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::query::{Query, SearchType};

/// The number of pointers of one result after which no more are read.
const MAX_POINTERS: usize = 200;
/// The most bytes of a free text that are read.
const MAX_TEXT_BYTES: usize = 16 * 1024;
/// The name of the field of a result that names itself.
pub(super) const VALUE: &str = "value";

const VERIFIED_LINKS: &str = "verified_links";
const LINKS: [&str; 2] = ["website", "links"];
const EMAILS: [&str; 2] = ["email", "emails"];
const TEXTS: [&str; 2] = ["bio", "description"];
/// Members whose names are also names of platforms.
const NO_HANDLES: [&str; 6] = ["about", "url", "location", "name", "status", "team"];

/// What a pointer names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// The address of a page.
    Link(String),
    /// A username on a service.
    Handle { service: String, name: String },
    /// An email address.
    Email(String),
    /// The entity of the result itself.
    Itself,
}

/// A text in a result that names something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    pub(super) field: String,
    pub(super) class: Class,
    pub(super) named: Named,
}

/// Returns the pointers of a result, and how many more there were.
pub(super) fn pointers(
    record: &ResultRecord,
    query: &Query,
    profiles: &ProfileIndex,
) -> (Vec<Pointer>, usize) {
    let mut found = Found::default();
    if names_itself(record, query) {
        let is_verified = record.metadata.get("verified") == Some(&Value::Bool(true));
        let class = if is_verified { Class::Verified } else { Class::Stated };
        found.add(VALUE, class, Named::Itself);
    }
    for (field, value) in &record.metadata {
        let name = field.as_str();
        let texts = texts(value);
        if name == VERIFIED_LINKS {
            texts.for_each(|text| found.link(name, Class::Verified, text));
        } else if LINKS.contains(&name) {
            texts.for_each(|text| found.link(name, Class::Stated, text));
        } else if EMAILS.contains(&name) {
            texts.for_each(|text| found.email(name, text));
        } else if TEXTS.contains(&name) {
            texts.for_each(|text| found.free_text(name, text, profiles));
        } else if !NO_HANDLES.contains(&name) && profiles.knows_service(name) {
            texts.for_each(|text| found.handle(name, name, text));
        }
    }
    (found.all, found.omitted)
}

/// Returns whether the result is a pointer by its type: one of a list, not what the search looked for.
pub(super) fn names_itself(record: &ResultRecord, query: &Query) -> bool {
    let Some(kind) = entity::kind(&record.result_type) else { return false };
    match kind {
        ResultType::Account => !is_main(record, query),
        ResultType::Username | ResultType::Email => true,
        // A domain has many pages and hosts of its own.
        ResultType::Url => query.search_type() != SearchType::Domain || !is_below(record, query),
        _ => false,
    }
}

/// Returns whether the result is the account for which the module was asked.
fn is_main(record: &ResultRecord, query: &Query) -> bool {
    let value = record.value.as_deref().unwrap_or_default();
    let is_asked = value.eq_ignore_ascii_case(query.normal()) || value.eq_ignore_ascii_case(query.raw());
    record.result_type == ResultType::Profile.as_str()
        || record.metadata.contains_key("profile_url")
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
fn texts(value: &Value) -> impl Iterator<Item = &str> {
    let (one, many) = match value {
        Value::String(text) => (Some(text.as_str()), &[][..]),
        Value::Array(values) => (None, values.as_slice()),
        _ => (None, &[][..]),
    };
    one.into_iter().chain(many.iter().filter_map(Value::as_str))
}

#[derive(Default)]
struct Found {
    all: Vec<Pointer>,
    /// The number of texts that were not read, because there are enough pointers.
    omitted: usize,
}

impl Found {
    fn add(&mut self, field: &str, class: Class, named: Named) {
        let pointer = Pointer { field: field.to_owned(), class, named };
        if !self.all.contains(&pointer) {
            self.all.push(pointer);
        }
    }

    /// Returns whether there are enough pointers, so that a further text is only counted.
    fn is_full(&mut self) -> bool {
        let is_full = self.all.len() >= MAX_POINTERS;
        self.omitted += usize::from(is_full);
        is_full
    }

    /// Adds an address, which may lack its scheme: `example.org`, `www.example.org/about`.
    fn link(&mut self, field: &str, class: Class, text: &str) {
        if self.is_full() {
            return;
        }
        let text = text.trim();
        if let Some(address) = text.strip_prefix("mailto:") {
            return self.email(field, address);
        }
        if web_address(text).is_some() {
            return self.add(field, class, Named::Link(text.to_owned()));
        }
        let is_host = |host: &str| host.contains('.') && Query::parse(SearchType::Domain, host).is_ok();
        let host = text.split(['/', '?', '#']).next().unwrap_or_default();
        if !text.contains("://") && !text.contains(char::is_whitespace) && is_host(host) {
            self.add(field, class, Named::Link(format!("https://{text}")));
        }
    }

    fn email(&mut self, field: &str, text: &str) {
        if self.is_full() {
            return;
        }
        let address = text.trim().split('?').next().unwrap_or_default();
        if Query::parse(SearchType::Email, address).is_ok() {
            self.add(field, Class::Stated, Named::Email(address.to_owned()));
        }
    }

    /// Adds a name on a service, or the address that stands in its place.
    fn handle(&mut self, field: &str, service: &str, text: &str) {
        let text = text.trim();
        if self.is_full() {
            return;
        }
        if text.contains('/') {
            return self.link(field, Class::Stated, text);
        }
        let named = Named::Handle { service: service.to_owned(), name: text.to_owned() };
        self.add(field, Class::Stated, named);
    }

    fn free_text(&mut self, field: &str, text: &str, profiles: &ProfileIndex) {
        let is_end = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=MAX_TEXT_BYTES.min(text.len())).rev().find(is_end).unwrap_or_default();
        let text = &text[..end];
        for link in LINK_IN_TEXT.find_iter(text) {
            let link =
                link.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '\'', '"', '>']);
            self.link(field, Class::Stated, link);
        }
        for address in EMAIL_IN_TEXT.find_iter(text) {
            self.email(field, address.as_str().trim_end_matches('.'));
        }
        for named in HANDLE_IN_TEXT.captures_iter(text) {
            let (service, name) = (&named[1], named[2].trim_end_matches(['.', '-']));
            if profiles.knows_service(service) {
                self.handle(field, service, name);
            }
        }
    }
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
