//! The words of `search`: an optional type, and what is searched.

use super::list::Row;
use crate::cli::exit::Failure;
use crate::modules::near::nearest;
use crate::modules::query::{Query, SearchType};

/// Words that people use for a type.
const OTHER_WORDS: [(&str, SearchType); 13] = [
    ("user", SearchType::Username),
    ("name", SearchType::Username),
    ("nick", SearchType::Username),
    ("nickname", SearchType::Username),
    ("handle", SearchType::Username),
    ("account", SearchType::Username),
    ("mail", SearchType::Email),
    ("e-mail", SearchType::Email),
    ("address", SearchType::Email),
    ("host", SearchType::Domain),
    ("hostname", SearchType::Domain),
    ("site", SearchType::Domain),
    ("website", SearchType::Domain),
];
/// Words for kinds of identifiers that are not searched.
const NO_TYPES: [&str; 4] = ["phone", "ip", "person", "people"];

/// Returns the type, if the first word is one, and the other words.
///
/// # Errors
/// Fails if the first of several words looks like a type and is none.
pub(super) fn split(words: &[String]) -> Result<(Option<SearchType>, &[String]), Failure> {
    let Some((first, rest)) = words.split_first() else { return Ok((None, words)) };
    if let Some(search_type) = SearchType::from_name(first) {
        return Ok((Some(search_type), rest));
    }
    let lower = first.to_lowercase();
    let meant = OTHER_WORDS.iter().find(|(word, _)| *word == lower).map(|(_, meant)| meant.as_str());
    let meant = meant.or_else(|| nearest(&lower, SearchType::ALL.into_iter().map(SearchType::as_str)));
    if rest.is_empty() || meant.is_none() && !NO_TYPES.contains(&lower.as_str()) {
        return Ok((None, words));
    }
    let meant = meant.map(|meant| format!("; did you mean {meant:?}?")).unwrap_or_default();
    Err(Failure::Usage(format!(
        "invalid value {first:?} for <TYPE>: domain, email or username is allowed{meant} To search for {first:?} as well, \
         name the type of all: sightline search username {first} …"
    )))
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
            ("user", None, 1),
            ("username", Some(SearchType::Username), 0),
        ] {
            let words = words(text);
            let (found, left) = split(&words).unwrap();
            assert_eq!((found, left.len()), (search_type, rest), "{text}");
        }
        for (text, want) in [
            ("user x", "did you mean \"username\"?"),
            ("usernam x", "did you mean \"username\"?"),
            ("mail a@example.org", "did you mean \"email\"?"),
            ("phone 1", "invalid value \"phone\" for <TYPE>: domain, email or username is allowed"),
        ] {
            let error = split(&words(text)).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
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
