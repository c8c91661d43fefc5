//! The manual's table of the evidence for the built-in modules.

use std::collections::BTreeMap;
use std::fmt::Write;

use sightline::modules::definition::{Entry, Verified};
use sightline::modules::query::SearchType;

use crate::support::manual::page_has_table;
use crate::support::modules::builtin;

const TABLE_START: &str = "<!-- evidence: generated, see tests/manual/verified.rs -->\n";
const TABLE_END: &str = "<!-- evidence ends -->";
const TYPES: [SearchType; 3] = [SearchType::Username, SearchType::Email, SearchType::Domain];

/// Returns the date of the evidence as the table shows it: the month, or for older evidence the year.
fn period(verified: &Verified, newest_year: &str) -> String {
    let length = if verified.date.starts_with(newest_year) { "2026-08".len() } else { "2026".len() };
    verified.date[..length].to_owned()
}

fn row(evidence: &str, date: &str, entries: &[&Entry]) -> String {
    let counts = TYPES.map(|kind| entries.iter().filter(|entry| entry.search_type == kind).count());
    let [usernames, emails, domains] = counts;
    format!("| {evidence} | {date} | {usernames} | {emails} | {domains} |\n")
}

/// Returns the numbers of built-in modules by kind and date of their evidence, in the form of the manual's table.
fn table() -> String {
    let catalog = builtin();
    let entries: Vec<&Entry> = catalog.modules().iter().map(|module| module.entry()).collect();
    let (enabled, disabled): (Vec<&Entry>, Vec<&Entry>) = entries.into_iter().partition(|it| it.enabled);
    let dates = enabled.iter().filter_map(|entry| entry.verified.as_ref()).map(|it| &it.date);
    let newest_year = &dates.max().unwrap()[.."2026".len()];
    let mut without = Vec::new();
    let mut by_evidence: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
    for entry in enabled {
        match &entry.verified {
            Some(it) => by_evidence.entry((it.by, period(it, newest_year))).or_default().push(entry),
            None => without.push(entry),
        }
    }
    let mut table =
        String::from("| evidence | date | usernames | email | domains |\n|---|---|---|---|---|\n");
    let mut kind = None;
    let mut rows: Vec<_> = by_evidence.into_iter().collect();
    // The newest of each kind comes first.
    rows.sort_by(|((one, a), _), ((other, b), _)| one.cmp(other).then_with(|| b.cmp(a)));
    for ((by, date), entries) in rows {
        let name = if kind == Some(by) { "" } else { by.as_str() };
        kind = Some(by);
        table.push_str(&row(name, &date, &entries));
    }
    let _ = write!(table, "{}{}", row("none", "", &without), row("disabled", "", &disabled));
    table
}

/// To rewrite the table: `SIGHTLINE_TEST_UPDATE=1 cargo test --test main the_manual_lists`.
#[test]
fn the_manual_lists_the_evidence_for_the_built_in_modules() {
    page_has_table("catalogue.md", [TABLE_START, TABLE_END], &table());
}
