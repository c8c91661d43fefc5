//! Value types that options of several commands share.

use clap::ValueEnum;

use crate::modules::query::SearchType;

/// The format of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListFormat {
    /// For people
    Table,
    /// One JSON array
    Json,
}

/// Parses a type of search.
pub(crate) fn search_type(text: &str) -> Result<SearchType, String> {
    SearchType::from_name(text).ok_or_else(|| "domain, email or username is allowed".to_owned())
}
