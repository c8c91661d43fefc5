//! Searches as CSV: the columns `type` and `query`, or one column of queries of one type.
//!
//! Files of spreadsheets are read, too: in UTF-16 or with a byte order mark, with `;` or a tab between the cells, and with
//! any line end. Lines that start with `#` are comments.

use std::borrow::Cow;

use csv::{ReaderBuilder, StringRecord, Trim};
use encoding_rs::{Encoding, UTF_8};

use super::draft::{Draft, InvalidRow};
use crate::model::batch::MAX_SEARCHES;
use crate::model::refusal::Refusal;
use crate::model::search::Search;
use crate::modules::query::{Query, SearchType};

/// What a file of searches must be.
const ALLOWED: &str =
    "a header with the columns type and query, or one column of queries and their type beside it";

/// Returns the refusal of a list of searches. The message never repeats what the caller sent.
fn refused(message: &str, allowed: &str) -> Refusal {
    Refusal::invalid_request("searches", message, allowed)
}

/// Returns the refusal of a list with that many searches.
pub fn wrong_number(searches: usize) -> Refusal {
    let message = match searches {
        0 => "there is no search".to_owned(),
        more => format!("there are {more} searches"),
    };
    refused(&message, &format!("1 to {MAX_SEARCHES} searches"))
}

/// Reads a file of searches. `default_type` returns the type of a query that has none. Empty lines are left out. A first
/// line with a cell `query` is the header.
///
/// # Errors
/// Returns an error if the file is not CSV in UTF-8, if it has several columns and no header, or if the number of its
/// searches is not allowed.
pub fn read(
    bytes: &[u8],
    mut default_type: impl FnMut(&str) -> Option<SearchType>,
) -> Result<Draft, Refusal> {
    let text = decoded(bytes).ok_or_else(|| {
        refused("the file is not text in UTF-8", "CSV in UTF-8, or in UTF-16 with a byte order mark")
    })?;
    // The reader counts only this line end.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(Trim::All)
        .comment(Some(b'#'))
        .delimiter(delimiter(&text))
        .from_reader(text.as_bytes());
    let records = reader.records().collect::<Result<Vec<StringRecord>, _>>();
    let records = records.map_err(|_| refused("the file is not CSV", ALLOWED))?;
    let mut records: Vec<&StringRecord> =
        records.iter().filter(|record| record.iter().any(|cell| !cell.is_empty())).collect();
    let first = records.first().ok_or_else(|| wrong_number(0))?;
    let columns = Columns::of(first, records.get(1).copied())?;
    if columns.has_header {
        records.remove(0);
    }
    if records.is_empty() || records.len() > MAX_SEARCHES {
        return Err(wrong_number(records.len()));
    }
    let mut draft = Draft::default();
    for (row, record) in (1..).zip(records) {
        match columns.search(record, &mut default_type) {
            Ok(query) => draft.add(row, &query, Search::plain(&query)),
            Err((field, message, allowed)) => draft.invalid.push(InvalidRow {
                row,
                line: line_of(record, &text),
                field: field.to_owned(),
                message,
                allowed,
            }),
        }
    }
    Ok(draft)
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which spreadsheets write as "Unicode text".
fn decoded(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((UTF_8, 0));
    encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark..])
}

/// Returns the sign between the cells: the most frequent of the possible ones in the first line.
fn delimiter(text: &str) -> u8 {
    let line = text.lines().find(|line| !is_skipped(line.trim())).unwrap_or_default();
    let count = |sign: &u8| line.bytes().filter(|byte| byte == sign).count();
    // Of equal ones, the last.
    [b'\t', b';', b','].into_iter().max_by_key(count).unwrap_or(b',')
}

/// Returns whether the reader skips a line.
fn is_skipped(line: &str) -> bool {
    line.is_empty() || line.starts_with('#')
}

/// Returns the line of a record, from 1. The reader has not skipped the lines before it yet.
fn line_of(record: &StringRecord, text: &str) -> Option<u64> {
    let start = record.position()?;
    let rest = text.get(usize::try_from(start.byte()).ok()?..)?;
    Some(start.line() + rest.lines().take_while(|line| is_skipped(line)).count() as u64)
}

/// The places of the columns.
struct Columns {
    has_header: bool,
    search_type: Option<usize>,
    query: usize,
    /// The type of all queries, if the header is its name.
    named: Option<SearchType>,
}

impl Columns {
    fn of(first: &StringRecord, second: Option<&StringRecord>) -> Result<Self, Refusal> {
        let place = |name: &str| first.iter().position(|cell| cell.eq_ignore_ascii_case(name));
        if let Some(query) = place("query") {
            return Ok(Self { has_header: true, search_type: place("type"), query, named: None });
        }
        // A trailing delimiter is no column.
        if first.iter().skip(1).any(|cell| !cell.is_empty()) {
            return Err(refused("the first line names no column query", ALLOWED));
        }
        // The name of a type above a query of that type is a header, as in an exported column `email`.
        let is_query = |named: &SearchType| {
            second.and_then(|second| second.get(0)).is_some_and(|text| Query::parse(*named, text).is_ok())
        };
        let named = first.get(0).and_then(|name| SearchType::from_name(&name.to_ascii_lowercase()));
        let named = named.filter(is_query);
        Ok(Self { has_header: named.is_some(), search_type: None, query: 0, named })
    }

    fn search(
        &self,
        record: &StringRecord,
        default_type: &mut impl FnMut(&str) -> Option<SearchType>,
    ) -> Result<Query, (&'static str, String, String)> {
        let cell = |at: usize| record.get(at).filter(|cell| !cell.is_empty());
        let names = || SearchType::ALL.map(SearchType::as_str).join(", ");
        let search_type = match self.search_type.and_then(cell) {
            Some(name) => SearchType::from_name(&name.to_ascii_lowercase())
                .ok_or_else(|| ("type", "the type is unknown".to_owned(), names()))?,
            None => self
                .named
                .or_else(|| default_type(cell(self.query).unwrap_or_default()))
                .ok_or_else(|| ("type", "type is missing".to_owned(), names()))?,
        };
        Query::parse(search_type, cell(self.query).unwrap_or_default())
            .map_err(|error| ("query", error.message, error.allowed.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const USERNAME: Option<SearchType> = Some(SearchType::Username);

    fn searches(text: &str, default_type: Option<SearchType>) -> Vec<(SearchType, String)> {
        let draft = read(text.as_bytes(), |_| default_type).unwrap();
        assert_eq!(draft.invalid, [], "{text:?}");
        draft.rows.into_iter().map(|(_, search)| (search.search_type, search.query)).collect()
    }

    #[test]
    fn files_of_every_spreadsheet_are_read() {
        let want =
            [(SearchType::Username, "alice".to_owned()), (SearchType::Email, "a@example.com".to_owned())];
        for text in [
            "type,query\nusername,alice\nemail,a@example.com\n",
            "\u{feff}type;query\r\nusername;alice\r\nemail;a@example.com\r\n",
            "Query\tType\ralice\tusername\ra@example.com\temail",
            "\"type\",\"query\",\"note\"\n\"username\",\"alice\",\"x, y\"\n\n\"email\", a@example.com ,\n",
            "query,type\nalice,\na@example.com,EMAIL\n",
            "# a; \"list\ntype,query\nusername,alice\n# more\nemail,a@example.com\n",
        ] {
            assert_eq!(searches(text, USERNAME), want, "{text:?}");
            let units = || std::iter::once(0xfeff).chain(text.trim_start_matches('\u{feff}').encode_utf16());
            for bytes in [
                units().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
                units().flat_map(u16::to_be_bytes).collect(),
            ] {
                assert_eq!(read(&bytes, |_| USERNAME).unwrap().rows.len(), want.len(), "{text:?}");
            }
        }
    }

    #[test]
    fn one_column_needs_no_header() {
        for text in ["alice\nbob", "query\r\nalice\r\nbob\r\n", "alice;\nbob;\n", "\n\nalice\n \nbob\n,,\n"] {
            let names: Vec<String> = searches(text, USERNAME).into_iter().map(|(_, query)| query).collect();
            assert_eq!(names, ["alice", "bob"], "{text:?}");
        }
    }

    #[test]
    fn the_name_of_a_type_above_such_queries_is_a_header() {
        for (text, want) in [
            ("username\nbob.it\n", &[(SearchType::Username, "bob.it")][..]),
            ("\u{feff}Email;\r\na@example.com;\r\n", &[(SearchType::Email, "a@example.com")]),
            ("email\nbob\n", &[(SearchType::Username, "email"), (SearchType::Username, "bob")]),
            ("domain\n", &[(SearchType::Username, "domain")]),
        ] {
            let want: Vec<_> = want.iter().map(|(kind, query)| (*kind, (*query).to_owned())).collect();
            assert_eq!(searches(text, USERNAME), want, "{text:?}");
        }
    }

    #[test]
    fn invalid_rows_are_told_with_their_lines() {
        let draft =
            read(b"type,query\nusername,alice\n\nnick,bob\nemail,nobody\nusername\n,x\n", |_| None).unwrap();
        let listed: Vec<(u32, Option<u64>, &str)> =
            draft.invalid.iter().map(|row| (row.row, row.line, row.field.as_str())).collect();
        assert_eq!(
            listed,
            [(2, Some(4), "type"), (3, Some(5), "query"), (4, Some(6), "query"), (5, Some(7), "type")]
        );
        assert_eq!(draft.rows.len(), 1);
        for end in ["\n", "\r\n", "\r"] {
            let text = "\n# x\ntype,query\n#\n\nnick,bob\nusername,\"b\nob\"\nnick,bob\n".replace('\n', end);
            let draft = read(text.as_bytes(), |_| None).unwrap();
            let rows: Vec<_> = draft.invalid.iter().map(|row| (row.row, row.line)).collect();
            assert_eq!(rows, [(1, Some(6)), (2, Some(7)), (3, Some(9))], "{text:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_list_is_refused() {
        for (bytes, message) in [
            (&b""[..], "there is no search"),
            (b"type,query\n", "there is no search"),
            (b"a,b\n", "the first line names no column query"),
            (b"\xff\xfex", "the file is not text in UTF-8"),
        ] {
            assert_eq!(read(bytes, |_| USERNAME).unwrap_err().message, message);
        }
        let many = "alice\n".repeat(MAX_SEARCHES + 1);
        assert_eq!(read(many.as_bytes(), |_| USERNAME).unwrap_err().message, "there are 1001 searches");
    }

    proptest! {
        #[test]
        fn any_file_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(draft) = read(&bytes, |_| USERNAME) {
                prop_assert!(draft.rows.len() + draft.invalid.len() + draft.duplicates.len() > 0);
            }
        }

        #[test]
        fn written_searches_are_read_back(names in proptest::collection::btree_set("[a-z0-9_.]{0,8}[a-z]", 1..20)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["type", "query"]).unwrap();
            names.iter().for_each(|name| writer.write_record(["username", name]).unwrap());
            let draft = read(&writer.into_inner().unwrap(), |_| None).unwrap();
            let read: Vec<&str> = draft.rows.iter().map(|(_, search)| search.query.as_str()).collect();
            prop_assert_eq!(read, names.iter().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
