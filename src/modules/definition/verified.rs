//! The evidence for an entry, and the reason why a module is disabled.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::limits::{DATE, DATE_ALLOWED};
use crate::base::words::words;

/// The newest evidence that an entry fits the answers of its site.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(inline)]
pub struct Verified {
    /// The kind of evidence.
    pub by: VerifiedBy,
    /// The date of the evidence, such as `2026-08-22`, or `2026-08` if the day is not known.
    #[schemars(regex(pattern = DATE), extend("errorMessage" = DATE_ALLOWED))]
    pub date: String,
}

words! {
    /// The kind of evidence for an entry: `recorded` (answers of the site, recorded on that date), `list` (a
    /// maintained public list, which had this rule on that date) or `documentation` (the documentation or the
    /// standard of the interface, as it was on that date).
    // The strongest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[derive(Serialize, Deserialize, JsonSchema, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    pub enum VerifiedBy {
        /// Answers of the site that were recorded on that date.
        Recorded = "recorded",
        /// A maintained public list that had this rule on that date.
        List = "list",
        /// The documentation or the standard of the interface, as it was on that date.
        Documentation = "documentation",
    }
}

/// The reason why a module is disabled, and the date of the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(inline)]
pub struct Off {
    /// The date of the evidence, such as `2026-08-22`, or `2026-08` if the day is not known.
    #[schemars(regex(pattern = DATE), extend("errorMessage" = DATE_ALLOWED))]
    pub date: String,
    /// The reason, in one sentence without a full stop.
    #[schemars(
        regex(pattern = r"^\S(.*\S)?$"),
        length(max = 200),
        extend("errorMessage" = "allowed are 1 to 200 characters without white space at the ends")
    )]
    pub reason: String,
}
