//! The dossier of a domain or an email address: what a run found, as tables by subject instead of one card for each
//! result. A value that several results state is one row with all its sources.
//!
//! | file | holds |
//! |---|---|
//! | `shape` | which results belong in which section, and the columns of their tables |
//! | [`table`] | the rows of a table |
//! | [`mail`] | the verdicts on mail security |
//! | [`mail_records`] | what the text of a record says |
//!
//! To show a member of the metadata: name it in a column of its table in `shape`.

pub mod mail;
pub mod mail_records;
mod shape;
pub mod table;

use crate::modules::query::SearchType;
use crate::runs::record::RunRecord;
use mail::Verdict;
use shape::{MAIL, SECTIONS, Shape};
use table::Table;

/// A section of a dossier.
#[derive(Debug, PartialEq)]
pub struct Section {
    /// Identifies the section on a page.
    pub id: &'static str,
    /// The title.
    pub title: &'static str,
    /// The verdicts, of the section about mail only.
    pub verdicts: Vec<Verdict>,
    /// The tables that have rows.
    pub tables: Vec<Table>,
}

impl Section {
    /// Returns the number of rows of all tables.
    pub fn count(&self) -> usize {
        self.tables.iter().map(|table| table.rows.len()).sum()
    }
}

/// Returns the sections of a run that have content. There are none for a username: each of its results is an account,
/// which a card shows better.
pub fn sections(run: &RunRecord) -> Vec<Section> {
    if run.summary.search_type == SearchType::Username {
        return Vec::new();
    }
    let section = |&(id, title, shapes): &(&'static str, &'static str, &[Shape])| {
        let verdicts = if id == MAIL { mail::verdicts(run) } else { Vec::new() };
        let tables = shapes.iter().map(|shape| Table::new(shape, &run.results));
        Section { id, title, verdicts, tables: tables.filter(|table| !table.rows.is_empty()).collect() }
    };
    let sections = SECTIONS.iter().map(section);
    let sections = sections.filter(|section| !section.tables.is_empty() || !section.verdicts.is_empty());
    let mut sections: Vec<Section> = sections.collect();
    if run.summary.search_type == SearchType::Email {
        sections.sort_by_key(|section| {
            ["people", "breaches"].iter().position(|id| *id == section.id).unwrap_or(2)
        });
    }
    sections
}
