//! A table of results: one row for each distinct value, with its sources.

use std::collections::HashMap;

use serde_json::Value;

use super::shape::{Column, Shape, Shows};
use crate::model::entity::merge;
use crate::model::run::ResultRecord;

/// The most items of a list in a cell.
const MOST_ITEMS: usize = 12;
/// The length from which the same cell of further results is omitted.
const MOST_BYTES: usize = 200;
/// The length of a day, as in `2026-05-06`.
const DAY: usize = 10;

/// A table that has a heading for each column, and a cell for each column in each row.
#[derive(Debug, PartialEq)]
pub struct Table {
    /// The title.
    pub title: &'static str,
    /// The headings of the columns with content.
    pub heads: Vec<&'static str>,
    /// The rows in the order of their first cells that differ.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, PartialEq)]
pub struct Row {
    /// The cells as text from outside, which may be empty.
    pub cells: Vec<String>,
    /// The results that state it, each with a platform.
    pub sources: Vec<(u32, String)>,
}

impl Table {
    /// Makes the table of the results that belong in it. Columns that are empty in every row are omitted.
    pub(super) fn new(shape: &Shape, results: &[ResultRecord]) -> Self {
        let (title, types, columns) = *shape;
        let mut rows: Vec<Row> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let is_listed = |it: &&ResultRecord| {
            !it.is_not_mine() && types.iter().any(|kind| kind.as_str() == it.result_type)
        };
        for result in results.iter().filter(is_listed) {
            let cells: Vec<String> = columns.iter().map(|column| cell(column, result)).collect();
            let key = key(columns, &cells);
            match places.get(&key) {
                Some(place) => rows[*place].add(columns, cells, result),
                None => {
                    places.insert(key, rows.len());
                    rows.push(Row { cells, sources: sources(result) });
                }
            }
        }
        rows.sort_by_cached_key(|row| row.cells.iter().map(|cell| cell.to_lowercase()).collect::<Vec<_>>());
        let is_used = |index: &usize| rows.iter().any(|row| !row.cells[*index].is_empty());
        let used: Vec<usize> = (0..columns.len()).filter(is_used).collect();
        for row in &mut rows {
            row.cells = used.iter().map(|index| row.cells[*index].clone()).collect();
        }
        Self { title, heads: used.into_iter().map(|index| columns[index].1).collect(), rows }
    }
}

impl Row {
    /// Adds a result that states the same value: what else it says, and its sources.
    fn add(&mut self, columns: &[Column], cells: Vec<String>, result: &ResultRecord) {
        for ((mine, other), column) in self.cells.iter_mut().zip(cells).zip(columns) {
            if mine.is_empty() {
                *mine = other;
            } else if !is_key(column) && !mine.contains(&other) && mine.len() < MOST_BYTES {
                *mine += &format!("; {other}");
            }
        }
        for source in sources(result) {
            if !self.sources.iter().any(|(_, platform)| *platform == source.1) {
                self.sources.push(source);
            }
        }
    }
}

/// Returns whether results that differ in the column are different rows.
fn is_key((shows, ..): &Column) -> bool {
    matches!(shows, Shows::Value | Shows::Key)
}

fn cell((shows, _, members): &Column, result: &ResultRecord) -> String {
    if *shows == Shows::Value {
        let value = result.value.as_deref().or_else(|| result.profile_url());
        return value.unwrap_or_default().trim().to_owned();
    }
    let is_day = *shows == Shows::Day;
    let values = members.iter().filter_map(|name| result.metadata.get(*name));
    let texts = values.flat_map(texts).map(|text| if is_day { day_of(text) } else { text });
    let mut distinct: Vec<String> = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    distinct.truncate(if is_day { 1 } else { MOST_ITEMS });
    distinct.join(", ")
}

/// Returns the platforms that found a result.
fn sources(result: &ResultRecord) -> Vec<(u32, String)> {
    let sources = merge::sources(result).into_iter();
    sources.map(|source| (result.id, source.platform.unwrap_or(source.module))).collect()
}

fn key(columns: &[Column], cells: &[String]) -> String {
    let keys = columns.iter().zip(cells).filter(|(column, _)| is_key(column));
    keys.map(|(_, cell)| cell.to_lowercase()).collect::<Vec<_>>().join("\u{0}")
}

/// Returns a text, number or truth value as text, or those of a list. Anything deeper is not shown in a table.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.trim().to_owned()],
        Value::Number(number) => vec![number.to_string()],
        Value::Bool(is_so) => vec![if *is_so { "yes" } else { "no" }.to_owned()],
        Value::Array(items) => {
            items.iter().filter(|item| !item.is_array() && !item.is_object()).flat_map(texts).collect()
        }
        Value::Null | Value::Object(_) => Vec::new(),
    }
}

/// Returns the day of a time as in RFC 3339, and other texts as they are.
fn day_of(text: String) -> String {
    match text.get(..DAY).filter(|day| day.parse::<jiff::civil::Date>().is_ok()) {
        Some(day) => day.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entity::tests::record;
    use crate::modules::definition::ResultType;
    use serde_json::json;

    const COLUMNS: &[Column] = &[
        (Shows::Key, "Type", &["record_type"]),
        (Shows::Value, "Value", &[]),
        (Shows::Day, "Seen", &["last_seen_at"]),
        (Shows::Text, "Never", &["absent"]),
    ];

    fn result(id: u32, value: &str, metadata: &Value) -> ResultRecord {
        record(id, "dns_record", value, metadata)
    }

    #[test]
    fn a_value_is_one_row_with_all_its_sources() {
        let source = |platform| json!({"module": "m", "platform": platform, "confidence": 0.5});
        let sources = [source("A"), source("B")];
        let results = [
            result(1, "NS.example", &json!({"record_type": "NS"})),
            result(
                2,
                "10.0.0.1",
                &json!({"record_type": "A", "sources": sources, "last_seen_at": "2026-05-06T07:08:09Z"}),
            ),
            result(3, "ns.example", &json!({"record_type": "NS", "last_seen_at": "no date"})),
            result(4, "10.0.0.1", &json!({"record_type": ["A", {"deep": 1}]})),
        ];
        let table = Table::new(&("Records", &[ResultType::DnsRecord], COLUMNS), &results);
        assert_eq!(table.heads, ["Type", "Value", "Seen"]);
        let row = |cells: [&str; 3], sources: &[(u32, &str)]| Row {
            cells: cells.map(str::to_owned).to_vec(),
            sources: sources.iter().map(|(id, platform)| (*id, (*platform).to_owned())).collect(),
        };
        assert_eq!(
            table.rows,
            [
                row(["A", "10.0.0.1", "2026-05-06"], &[(2, "A"), (2, "B"), (4, "Site 4")]),
                row(["NS", "NS.example", "no date"], &[(1, "Site 1"), (3, "Site 3")]),
            ]
        );
    }
}
