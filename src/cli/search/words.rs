//! The words of `search`: an optional type, and what is searched.

use super::list::Row;
use crate::cli::exit::Failure;
use crate::modules::query::{Query, SearchType};

/// Returns the type, if the first word is one, and the other words. Only the exact words are types: `emily` is a name.
pub(super) fn split(words: &[String]) -> (Option<SearchType>, &[String]) {
    match words.split_first().map(|(first, rest)| (SearchType::from_name(first), rest)) {
        Some((Some(search_type), rest)) => (Some(search_type), rest),
        _ => (None, words),
    }
}

/// Returns a search for each word, each query once.
///
/// # Errors
/// Fails if a word is not a valid query of its type, which is recognized if `search_type` is `None`.
pub(super) fn rows(search_type: Option<SearchType>, words: &[String]) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Row> = Vec::new();
    for (position, word) in (1..).zip(words) {
        let query = read(search_type.unwrap_or_else(|| SearchType::recognized(word)), word)?;
        let is_same = |row: &Row| {
            row.query.search_type() == query.search_type() && row.query.normal() == query.normal()
        };
        if !rows.iter().any(is_same) {
            rows.push(Row { position, query });
        }
    }
    Ok(rows)
}

/// Reads a query.
///
/// # Errors
/// Fails if it is not valid for the type.
pub(super) fn read(search_type: SearchType, text: &str) -> Result<Query, Failure> {
    Query::parse(search_type, text)
        .map_err(|error| Failure::Usage(format!("invalid query for {search_type}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_first_word_may_be_a_type() {
        for (text, search_type, rest) in [
            ("username alice bob", Some(SearchType::Username), 2),
            ("alice bob", None, 2),
            ("emily bob", None, 2),
            ("emil bob", None, 2),
            ("romain bob", None, 2),
            ("roman bob", None, 2),
            ("domani bob", None, 2),
            ("Email bob", None, 2),
            ("user bob", None, 2),
            ("user", None, 1),
            ("username", Some(SearchType::Username), 0),
        ] {
            let words = words(text);
            let (found, left) = split(&words);
            assert_eq!((found, left.len()), (search_type, rest), "{text}");
        }
    }

    #[test]
    fn the_type_of_each_word_is_recognized_and_no_query_is_searched_twice() {
        let rows = rows(None, &words("alice a@example.org example.org @alice ALICE@")).map(|rows| rows.len());
        assert!(rows.is_err());
        let rows = super::rows(None, &words("alice a@example.org example.org @alice")).unwrap();
        let types: Vec<_> = rows.iter().map(|row| row.query.search_type()).collect();
        assert_eq!(types, [SearchType::Username, SearchType::Email, SearchType::Domain]);
    }
}
