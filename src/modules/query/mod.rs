//! Search types, validation and normal forms of queries.
//!
//! | file | holds |
//! |---|---|
//! | [`username`] | usernames, in composed form (NFC) and without a leading `@` |
//! | [`domain`] | domains, IDNA-encoded, also from the address of a page |
//! | [`email`] | email addresses with a dot-atom local part |
//!
//! Parsing a normal form again gives the same normal form.

pub mod domain;
pub mod email;
pub mod username;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::words::words;

/// The maximum length of a query in bytes. It is enough for a pasted page address.
pub const MAX_QUERY_BYTES: usize = 1024;

words! {
    /// The type of a query: a domain name, an email address or a username.
    // In the order in which the API lists them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[derive(Serialize, Deserialize, JsonSchema, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub enum SearchType {
        /// A domain name.
        Domain = "domain",
        /// An email address.
        Email = "email",
        /// A username.
        Username = "username",
    }
}

impl SearchType {
    /// Returns the type that a typed text most likely has. A domain or the address of a page (see
    /// [`domain`]) is a domain. A text with an `@` after its first character is an email address. Everything
    /// else is a username. The text need not be a valid query of that type.
    pub fn recognized(text: &str) -> Self {
        if Query::parse(Self::Domain, text).is_ok() {
            Self::Domain
        } else if text.trim().chars().skip(1).any(|c| c == '@') {
            Self::Email
        } else {
            Self::Username
        }
    }

    /// Returns a description of the valid queries of this type, for error messages.
    pub fn allowed(self) -> &'static str {
        match self {
            Self::Domain => domain::ALLOWED,
            Self::Email => email::ALLOWED,
            Self::Username => username::ALLOWED,
        }
    }
}

/// A valid query: the text that the caller sent, and the normal form that is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    search_type: SearchType,
    raw: String,
    normal: String,
}

/// The error for a text that is not a valid query of its type. Its display text is meant for the caller and
/// never repeats the query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}: expected {allowed}")]
pub struct QueryError {
    /// A description of the mistake.
    pub message: String,
    /// A description of the values that are allowed.
    pub allowed: &'static str,
}

impl Query {
    /// Validates `raw` by the rules of its type and computes its normal form.
    ///
    /// # Errors
    /// Returns a description of the mistake and of the allowed values.
    pub fn parse(search_type: SearchType, raw: &str) -> Result<Self, QueryError> {
        let normal = normal_form(search_type, raw)
            .map_err(|message| QueryError { message, allowed: search_type.allowed() })?;
        Ok(Self { search_type, raw: raw.to_owned(), normal })
    }

    /// Returns the type of the query.
    pub fn search_type(&self) -> SearchType {
        self.search_type
    }

    /// Returns the text that the caller sent.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Returns the normal form that is searched.
    pub fn normal(&self) -> &str {
        &self.normal
    }

    /// Returns the part of an email address before the `@`.
    pub fn local(&self) -> Option<&str> {
        match self.search_type {
            SearchType::Email => self.normal.rsplit_once('@').map(|(local, _)| local),
            _ => None,
        }
    }

    /// Returns the domain of an email address, or the domain itself, in lower case and IDNA-encoded.
    pub fn domain(&self) -> Option<&str> {
        match self.search_type {
            SearchType::Email => self.normal.rsplit_once('@').map(|(_, domain)| domain),
            SearchType::Domain => Some(&self.normal),
            SearchType::Username => None,
        }
    }

    /// Returns the registrable part of [`Self::domain`], such as `example.co.uk` for `www.example.co.uk`.
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
        return Err(format!("the query contains a control or invisible character (character {})", at + 1));
    }
    match search_type {
        SearchType::Username => username::normalize(text),
        SearchType::Domain => domain::normalize(text),
        SearchType::Email => email::normalize(text),
    }
}

/// Returns whether a character is a control character, is invisible, or changes the direction of text. With
/// such characters, two different queries could look equal.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}
