//! What `search` searches for: the words of the command line, or the rows of a file.

use std::path::Path;

use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::cli::files;
use crate::modules::query::{Query, SearchType};
use crate::runs::batches::table;

/// The most bytes of a list. A thousand queries take fewer.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// A search of a list.
pub(super) struct Row {
    pub(super) position: u32,
    pub(super) query: Query,
}

/// The queries of a command.
pub(super) struct Queries {
    /// Each query once.
    pub(super) rows: Vec<Row>,
    /// Whether they are a list: several queries, or those of a file.
    pub(super) is_list: bool,
}

impl Queries {
    /// Reads the words of the command line, or the file. The first word may be the type of the queries. Only the exact words
    /// are types: `emily` is a name.
    ///
    /// # Errors
    /// Fails without a query, or if one is not valid: then nothing is searched.
    pub(super) fn read(words: &[String], file: Option<&Path>) -> Result<Self, Failure> {
        let search_type = words.first().and_then(|word| SearchType::from_name(word));
        let words = &words[usize::from(search_type.is_some())..];
        match (file, words) {
            (Some(file), []) => Self::of_file(file, search_type),
            (Some(_), _) => Err(Failure::usage("--from replaces the queries of the command line")),
            (None, []) => {
                let text = "a query is missing: sightline search [TYPE] <QUERY>…, or --from FILE";
                Err(Failure::usage(text))
            }
            (None, words) => Self::of_words(search_type, words),
        }
    }

    fn of_words(search_type: Option<SearchType>, words: &[String]) -> Result<Self, Failure> {
        let mut rows: Vec<Row> = Vec::new();
        for (position, word) in (1..).zip(words) {
            let search_type = search_type.map_or_else(|| recognized(word), Ok)?;
            let query = Query::parse(search_type, word)
                .map_err(|error| Failure::Usage(format!("invalid query for {search_type}: {error}")))?;
            let is_same =
                |row: &Row| row.query.search_type() == search_type && row.query.normal() == query.normal();
            if !rows.iter().any(is_same) {
                rows.push(Row { position, query });
            }
        }
        Ok(Self { is_list: rows.len() > 1, rows })
    }

    fn of_file(file: &Path, search_type: Option<SearchType>) -> Result<Self, Failure> {
        let name = file.display();
        let bytes = files::read(file, MAX_BYTES)
            .map_err(|error| Failure::Failed(format!("cannot read {name}: {error}")))?;
        let mut refused = None;
        let of_query = |query: &str| match search_type.map_or_else(|| recognized(query), Ok) {
            Ok(search_type) => Some(search_type),
            Err(error) => {
                refused.get_or_insert(error);
                None
            }
        };
        let draft = table::read(&bytes, of_query)
            .map_err(|error| Failure::Usage(format!("invalid list {name}: {error}")))?;
        if let Some(error) = refused {
            return Err(error);
        }
        if !draft.invalid.is_empty() {
            let rows = draft.invalid.iter().map(|row| {
                let line = row.line.map_or_else(|| format!("row {}", row.row), |line| format!("line {line}"));
                format!("{line}: {}: {}: expected {}", row.field, row.message, row.allowed)
            });
            let listed = rows.collect::<Vec<_>>().join("\n  ");
            return Err(Failure::Usage(format!("invalid list {name}, nothing was searched:\n  {listed}")));
        }
        let rows = draft.rows.into_iter().map(|(position, search)| {
            let query = Query::parse(search.search_type, &search.query)
                .map_err(|error| Failure::Usage(format!("invalid query in row {position}: {error}")))?;
            Ok(Row { position, query })
        });
        Ok(Self { rows: rows.collect::<Result<_, Failure>>()?, is_list: true })
    }
}

/// Returns the type of a query. The address of a page is refused, since it does not say what to search for.
fn recognized(text: &str) -> Result<SearchType, Failure> {
    let bare = text.trim_matches(|c: char| c.is_whitespace() || "<>".contains(c));
    let (_, address) = bare.split_once("://").unwrap_or(("", bare));
    match address.split_once('/') {
        Some((host, path)) if !path.is_empty() => Err(Failure::Usage(format!(
            "{} is an address. Nothing was searched; choose what to search for:\n  sightline search username NAME   the \
             name of the account that it shows\n  sightline search domain {}   its domain",
            plain(bare),
            plain(host),
        ))),
        _ => Ok(SearchType::recognized(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_may_be_a_type_and_no_query_is_searched_twice() {
        for (text, types) in [
            ("username alice bob", "username username"),
            ("emily bob", "username username"),
            ("domani bob", "username username"),
            ("user", "username"),
            ("username alice @alice", "username"),
            ("alice a@example.org example.org @alice", "username email domain"),
        ] {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            let queries = Queries::read(&words, None).unwrap_or_else(|error| panic!("{text}: {error}"));
            let found: Vec<&str> = queries.rows.iter().map(|row| row.query.search_type().as_str()).collect();
            assert_eq!(found.join(" "), types, "{text}");
            assert_eq!(queries.is_list, found.len() > 1, "{text}");
        }
        for wrong in ["username", "Email@", "ALICE@ bob"] {
            let words: Vec<String> = wrong.split(' ').map(str::to_owned).collect();
            assert!(Queries::read(&words, None).is_err(), "{wrong}");
        }
    }
}
