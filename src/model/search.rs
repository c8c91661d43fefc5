//! [`Search`]: what is searched for, and how.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::credits::cost;
use crate::model::follow::FollowOrder;
use crate::model::refusal::Refusal;
use crate::model::run::RunOptions;
use crate::modules::catalog::Choice;
use crate::modules::query::{Query, SearchType};

/// The longest purpose of a search in characters.
pub const MAX_PURPOSE: usize = 200;

/// What a run, a row of a batch or a watch searches for. As JSON, it is stored with the row of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Search {
    /// The type of the search.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// The query as the caller sent it.
    pub query: String,
    /// Whether browser modules are used.
    #[serde(default)]
    pub premium: bool,
    /// How long its checks may take.
    #[serde(default)]
    pub options: RunOptions,
    /// The chosen modules.
    #[serde(default)]
    pub choice: Choice,
    /// How leads are followed, if they are.
    #[serde(default)]
    pub follow: Option<Arc<FollowOrder>>,
    /// Why the caller searches, for the audit.
    #[serde(default)]
    pub purpose: Option<String>,
}

impl Search {
    /// Returns a search for that query with no option.
    pub fn plain(query: &Query) -> Self {
        Self {
            search_type: query.search_type(),
            query: query.raw().to_owned(),
            premium: false,
            options: RunOptions::default(),
            choice: Choice::default(),
            follow: None,
            purpose: None,
        }
    }

    /// Returns the cost of the search in credits, without the searches that its leads start.
    pub fn cost(&self) -> u64 {
        cost(self.premium)
    }
}

/// Returns the purpose of a search without the white space around it.
///
/// # Errors
/// Returns the refusal of an empty or too long one, and of control characters.
pub fn purpose(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    if (1..=MAX_PURPOSE).contains(&text.chars().count()) && !text.chars().any(char::is_control) {
        return Ok(text.to_owned());
    }
    let allowed = format!("a text of 1 to {MAX_PURPOSE} characters without control characters");
    Err(Refusal::invalid_request("purpose", format!("purpose must be {allowed}"), allowed))
}
