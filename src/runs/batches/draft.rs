//! [`Draft`]: a list of searches that is checked before it becomes a batch.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::encoding::sha256;
use crate::model::search::Search;
use crate::modules::query::Query;

/// A search of a batch that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = InvalidSearch)]
pub struct InvalidRow {
    /// Place of the search in the request, from 1.
    pub row: u32,
    /// Line of the search in a CSV file, from 1; null for JSON.
    #[schema(required)]
    pub line: Option<u64>,
    /// The invalid part of the search.
    #[schema(examples("query"))]
    pub field: String,
    // It never repeats what the caller sent.
    /// The mistake, for people; the wording may change.
    #[schema(examples("the query is empty"))]
    pub message: String,
    /// What is allowed.
    #[schema(examples("an email address"))]
    pub allowed: String,
}

/// A search that is the same as an earlier one of the list. It is made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = DuplicateSearch)]
pub struct Duplicate {
    /// Place of the search in the list, from 1.
    pub row: u32,
    /// Place of the earlier one.
    pub same_as: u32,
}

/// A list of searches that was checked.
#[derive(Debug, Default)]
pub struct Draft {
    /// The valid searches, each once, with their places in the request.
    pub rows: Vec<(u32, Search)>,
    /// The searches that are the same as an earlier one.
    pub duplicates: Vec<Duplicate>,
    /// The searches that are not valid.
    pub invalid: Vec<InvalidRow>,
    known: HashMap<String, u32>,
}

impl Draft {
    /// Adds a search. Two searches are the same if their queries have the same normal form, and all options are equal.
    pub fn add(&mut self, row: u32, query: &Query, search: Search) {
        let normal = Search { query: query.normal().to_owned(), ..search.clone() };
        // Numbers and texts only, so this does not fail; a search without a text would be a duplicate of no other.
        let text = serde_json::to_string(&normal).unwrap_or_else(|_| format!("row {row}"));
        match self.known.entry(text) {
            Entry::Occupied(first) => self.duplicates.push(Duplicate { row, same_as: *first.get() }),
            Entry::Vacant(place) => {
                place.insert(row);
                self.rows.push((row, search));
            }
        }
    }

    /// Returns the cost of all searches in credits, without the searches that leads start.
    pub fn cost(&self) -> u64 {
        self.rows.iter().map(|(_, search)| search.cost()).sum()
    }

    /// Returns the SHA-256 of the list with that name.
    pub fn fingerprint(&self, name: Option<&str>) -> [u8; 32] {
        // No fingerprint of a search begins so.
        let mut text = "batch ".to_owned();
        text += &serde_json::to_string(&(name, &self.rows)).unwrap_or_default();
        // The answer lists the duplicates, so a list with others is another request.
        if !self.duplicates.is_empty() {
            text += &serde_json::to_string(&self.duplicates).unwrap_or_default();
        }
        sha256(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::query::SearchType;

    #[test]
    fn the_same_search_is_made_once() {
        let mut draft = Draft::default();
        let texts = ["octocat", "@octocat", " octocat ", "Octocat", "hubot"];
        for (row, text) in (1..).zip(texts) {
            let query = Query::parse(SearchType::Username, text).unwrap();
            draft.add(row, &query, Search::plain(&query));
        }
        let query = Query::parse(SearchType::Username, "octocat").unwrap();
        draft.add(6, &query, Search { premium: true, ..Search::plain(&query) });
        let mut without = Draft::default();
        without.add(1, &query, Search::plain(&query));
        let once = without.fingerprint(None);
        without.add(2, &query, Search::plain(&query));
        assert_ne!(without.fingerprint(None), once, "a list with another duplicate is another request");
        let same = |row| Duplicate { row, same_as: 1 };
        assert_eq!(draft.duplicates[..2], [same(2), same(3)]);
        let kept: Vec<u32> = draft.rows.iter().map(|(row, _)| *row).collect();
        assert!(kept.ends_with(&[5, 6]), "{kept:?}");
        assert_eq!(draft.cost(), kept.len() as u64 + 1);
    }
}
