//! Search types, validation and normal forms of queries.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kinds of search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
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
        let normal = raw.trim();
        if normal.is_empty() {
            return Err(QueryError { message: "the query is empty".into(), allowed: "a text" });
        }
        Ok(Self { search_type, raw: raw.to_owned(), normal: normal.to_owned() })
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
}
