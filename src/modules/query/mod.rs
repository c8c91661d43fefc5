//! Search types, validation and normal forms of queries.
//!
//! | file | holds |
//! |---|---|
//! | [`username`] | one leading `@` off, composed form (NFC) |
//! | [`domain`] | host of whatever was pasted, IDNA-encoded, with a registrable part |
//! | [`email`] | dot-atom local part, domain as above |
//!
//! A normal form is a fixed point: parsed again, it stays what it is.

pub mod domain;
pub mod email;
pub mod username;

#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most bytes of a query that are looked at. A pasted address of a page fits; a book does not.
pub const MAX_QUERY_BYTES: usize = 1024;

/// What is looked up: a domain name, an email address or a username.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchType {
    /// A domain name.
    Domain,
    /// An email address.
    Email,
    /// A username.
    Username,
}

impl SearchType {
    /// All of them, in the order that the contract lists them.
    pub const ALL: [Self; 3] = [Self::Domain, Self::Email, Self::Username];

    /// `domain`, `email` or `username`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Email => "email",
            Self::Username => "username",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// What a text that somebody typed looks like: a domain or the address of a page there (see [`domain`]) is a
    /// domain, what has an `@` behind its beginning is an email address, all else is a username. It need not be a
    /// valid query of that type.
    pub fn recognized(text: &str) -> Self {
        if Query::parse(Self::Domain, text).is_ok() {
            Self::Domain
        } else if text.trim().chars().skip(1).any(|c| c == '@') {
            Self::Email
        } else {
            Self::Username
        }
    }

    /// What a query of this type may be, for error messages.
    pub fn allowed(self) -> &'static str {
        match self {
            Self::Domain => domain::ALLOWED,
            Self::Email => email::ALLOWED,
            Self::Username => username::ALLOWED,
        }
    }
}

impl fmt::Display for SearchType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A valid query: what the caller sent, and the normal form that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    search_type: SearchType,
    raw: String,
    normal: String,
}

/// Why a text is no query of its type. The display text is for the caller and never repeats the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// What is wrong.
    pub message: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; allowed: {}", self.message, self.allowed)
    }
}

impl std::error::Error for QueryError {}

impl Query {
    /// Checks `raw` against the rules of its type and makes its normal form.
    ///
    /// # Errors
    /// Says what is wrong and what is allowed.
    pub fn parse(search_type: SearchType, raw: &str) -> Result<Self, QueryError> {
        let normal = normal_form(search_type, raw)
            .map_err(|message| QueryError { message, allowed: search_type.allowed() })?;
        Ok(Self { search_type, raw: raw.to_owned(), normal })
    }

    /// What kind of query it is.
    pub fn search_type(&self) -> SearchType {
        self.search_type
    }

    /// What the caller sent.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What is searched.
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// Whether the normal form is ASCII: modules that take no other script are skipped for the rest.
    pub fn has_only_ascii(&self) -> bool {
        self.normal.is_ascii()
    }

    /// The part before the `@` of an email address.
    pub fn local(&self) -> Option<&str> {
        match self.search_type {
            SearchType::Email => self.normal.rsplit_once('@').map(|(local, _)| local),
            _ => None,
        }
    }

    /// The domain of an email address, or the domain itself (lower case, IDNA-encoded).
    pub fn domain(&self) -> Option<&str> {
        match self.search_type {
            SearchType::Email => self.normal.rsplit_once('@').map(|(_, domain)| domain),
            SearchType::Domain => Some(&self.normal),
            SearchType::Username => None,
        }
    }

    /// The registrable part of [`Self::domain`]: `example.co.uk` of `www.example.co.uk`.
    pub fn registrable(&self) -> Option<&str> {
        self.domain().and_then(domain::registrable)
    }
}

fn normal_form(search_type: SearchType, raw: &str) -> Result<String, String> {
    if raw.len() > MAX_QUERY_BYTES {
        return Err(format!("the query is longer than {MAX_QUERY_BYTES} bytes"));
    }
    let text = raw.trim();
    if text.is_empty() {
        return Err("the query is empty".into());
    }
    if let Some(at) = text.chars().position(is_invisible) {
        return Err(format!("the query holds a control or invisible character (character {})", at + 1));
    }
    match search_type {
        SearchType::Username => username::normalize(text),
        SearchType::Domain => domain::normalize(text),
        SearchType::Email => email::normalize(text),
    }
}

/// Control characters, and those that show nothing or turn the direction of text: two queries that
/// look the same would not be the same.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}
