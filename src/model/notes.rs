//! Tags and notes of runs and results: their text is cleaned and limited here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::text::plain;
use crate::base::words::words;
use crate::model::refusal::Refusal;
use crate::modules::kept::KeptAnswer;

/// The maximum number of tags of a run.
pub const MAX_TAGS: usize = 10;

/// The maximum number of characters of a tag.
pub const MAX_TAG_CHARS: usize = 40;

/// The maximum number of characters of the note on a run.
pub const MAX_RUN_NOTE: usize = 2000;

/// The maximum number of characters of the note on a result.
pub const MAX_RESULT_NOTE: usize = 1000;

/// What the owner notes about a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RunNotes {
    /// Present only if the owner has set some: words to find the search by.
    // They are different from each other and in lower case.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, max_items = 10)]
    pub tags: Vec<String>,
    /// Present only if the owner has written one: a note on the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000, examples("The account on GitLab is known."))]
    pub note: Option<String>,
}

impl RunNotes {
    /// Returns whether nothing is noted.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.note.is_none()
    }
}

/// A change of the notes of a run. What is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunNotesUpdate {
    /// The new tags.
    pub tags: Option<Vec<String>>,
    /// The new note, or `Some(None)` to remove it.
    pub note: Option<Option<String>>,
}

words! {
    /// Whether a result belongs to the one who is searched, as the owner of the run has found: `mine`, `not_mine` or `unsure`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// It does.
        Mine = "mine",
        /// The owner has looked, and cannot tell.
        Unsure = "unsure",
        /// It belongs to somebody else.
        NotMine = "not_mine",
    }
}

/// Returns the rank of a result with this verdict among others: what is mine comes first, what is not mine last.
pub fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        Some(Verdict::Mine) => 0,
        Some(Verdict::Unsure) => 1,
        None => 2,
        Some(Verdict::NotMine) => 3,
    }
}

/// What the owner of a run notes about a result.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Annotation {
    /// Note of at most 1,000 characters; null if there is none.
    #[schema(max_length = 1000, examples("Same picture as on GitLab"))]
    pub note: Option<String>,
    /// Verdict of the owner; null if there is none. It decides which people, summary, graph and timeline a result is part of.
    #[schema(required)]
    pub verdict: Option<Verdict>,
    /// Screenshot of the profile, which is taken of what is `mine` if the search keeps evidence and a browser is configured:
    /// `GET /v1/searches/{run_id}/results/{result_id}/evidence?module=screenshot`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub screenshot: Option<KeptAnswer>,
}

/// A change of the annotation of a result. What is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnnotationUpdate {
    /// The new note, or `Some(None)` to remove it.
    pub note: Option<Option<String>>,
    /// The new verdict, or `Some(None)` to remove it.
    pub verdict: Option<Option<Verdict>>,
}

/// Returns the tag in its stored form, which is in lower case. `field` names it in a refusal.
///
/// # Errors
/// Returns the refusal of a tag that is empty, too long, or has a character that is not allowed.
pub fn tag(field: &str, text: &str) -> Result<String, Refusal> {
    let tag = text.to_lowercase();
    // Scripts need more than letters, such as combining marks.
    let is_allowed = |c: char| match c.is_ascii() {
        true => c.is_ascii_alphanumeric() || "-_.:/+#@".contains(c),
        false => !c.is_whitespace(),
    };
    let fits = (1..=MAX_TAG_CHARS).contains(&tag.chars().count()) && plain(&tag) == tag;
    if fits && tag.chars().all(is_allowed) {
        return Ok(tag);
    }
    let allowed = "1 to 40 letters, digits or - _ . : / + # @";
    Err(Refusal::invalid_request(field, format!("a tag must be {allowed}"), allowed))
}

/// Returns the tags in their stored form, each once, in the order in which they are given.
///
/// # Errors
/// Returns the refusal of a tag, or of more than [`MAX_TAGS`].
pub fn tags<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, Refusal> {
    let mut tags: Vec<String> = Vec::new();
    for text in texts {
        let tag = tag("tags", text)?;
        if !tags.contains(&tag) {
            tags.push(tag);
        }
    }
    if tags.len() <= MAX_TAGS {
        return Ok(tags);
    }
    let (message, allowed) =
        (format!("there are more than {MAX_TAGS} tags"), format!("at most {MAX_TAGS} tags"));
    Err(Refusal::invalid_request("tags", message, allowed))
}

/// Returns the note in its stored form: without white space around it, with `\n` as line end. A text without content is
/// no note.
///
/// # Errors
/// Returns the refusal of more than `most` characters, or of a control character other than a line end or a tab.
pub fn note(text: &str, most: usize) -> Result<Option<String>, Refusal> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        let message = "the note has a control character";
        return Err(Refusal::invalid_request("note", message, "text with line ends and tabs"));
    }
    if text.chars().count() > most {
        let message = format!("the note is longer than {most} characters");
        return Err(Refusal::invalid_request("note", message, format!("at most {most} characters")));
    }
    let text = text.trim();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Everything that is noted about a run and its results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredNotes {
    /// The tags and the note of the run.
    pub run: RunNotes,
    /// The annotations of results, by the ids of the results.
    pub results: BTreeMap<u32, Annotation>,
}
