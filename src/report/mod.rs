//! Reports: a run as a file in the four formats that the API, the web app and the command line offer, and the
//! export of an account.
//!
//! | file | holds |
//! |---|---|
//! | [`body`] | the JSON form of a run |
//! | [`csv`] | one row for each result, for spreadsheets |
//! | [`batch`], [`batch_export`] | the results of a batch of searches, and its matrix |
//! | [`graph`] | the entities of runs, and what joins them |
//! | [`html`] | one page to read, print or keep |
//! | [`file_name`] | names of report files |
//! | [`account`], [`audit`], `watches` | the export of an account |
//!
//! | format | content | left out |
//! |---|---|---|
//! | `json` | the run with all results, and `modules`: how each module ended | nothing |
//! | `ndjson` | one result on each line and nothing else, so that all lines have the same shape | the run, its coverage |
//! | `csv` | one row for each result: its fields, the metadata that most profiles have, all metadata as JSON | the run, its coverage |
//! | `html` | results, coverage, and each module that gave no answer with the reason | nothing; misses are collapsed |
//!
//! A list of results alone would present a running search, or one that half of all sites blocked, as
//! complete. Therefore the JSON and the page state it, and the other formats mark it in the file name
//! ([`file_name`]).
//!
//! To add a format: add a variant of [`Format`], its writer beside the others, and its line in the table
//! above.

pub mod account;
pub mod audit;
pub mod batch;
pub mod batch_export;
pub mod body;
pub mod csv;
pub mod file_name;
pub mod graph;
pub mod html;
mod watches;

use std::io::{self, Write};

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::text::{json, write_json};
use crate::runs::record::RunRecord;
use body::{FamilyBody, ReportBody};

/// A format of a report: `json` (the whole run in one document), `ndjson` (one result on each line), `csv`
/// (one row for each result) or `html` (one page to read).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReportFormat)]
pub enum Format {
    /// One indented document.
    Json,
    /// One result on each line.
    Ndjson,
    /// RFC 4180 with a header.
    Csv,
    /// One self-contained page.
    Html,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Json, Self::Ndjson, Self::Csv, Self::Html];

    /// Returns `json`, `ndjson`, `csv` or `html`: the name of the format and the extension of its files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Html => "html",
        }
    }

    /// Returns the format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// Returns the `Content-Type`. `application/x-ndjson` is not registered, but it is the type that tools
    /// know.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Html => "text/html; charset=utf-8",
        }
    }

    /// Returns the `Content-Security-Policy` of a format that browsers open.
    pub fn content_security_policy(self) -> Option<String> {
        (self == Self::Html).then(html::content_security_policy)
    }

    /// Writes the run.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write(self, out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
        match self {
            Self::Json => write_json(out, &ReportBody::from(run)),
            Self::Ndjson => write_lines(out, run),
            Self::Csv => csv::write(out, &run.results),
            Self::Html => out.write_all(html::page(run).as_bytes()),
        }
    }
}

/// Writes a family of runs as one indented JSON document: the first run, and the others in its member `children`.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_family(out: &mut dyn Write, root: &RunRecord, children: &[RunRecord]) -> io::Result<()> {
    write_json(
        out,
        &FamilyBody { root: root.into(), children: children.iter().map(ReportBody::from).collect() },
    )
}

fn write_lines(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    run.results.iter().try_for_each(|result| writeln!(out, "{}", json(&serde_json::to_string(result)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::{result, run};
    use crate::runs::run::ResultRecord;

    fn written(format: Format) -> String {
        let mut out = Vec::new();
        format.write(&mut out, &run(vec![result(1, "=HYPERLINK(1)\n"), result(2, "octocat")])).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ndjson_has_one_result_on_each_line() {
        let shown = written(Format::Ndjson);
        assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{shown:?}");
        let back: Vec<ResultRecord> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(back, [result(1, "=HYPERLINK(1)\n"), result(2, "octocat")]);
    }

    #[test]
    fn json_contains_the_run_and_the_outcome_of_each_module() {
        let document: serde_json::Value = serde_json::from_str(&written(Format::Json)).unwrap();
        assert_eq!(document["query"], "octocat");
        assert_eq!(document["results"].as_array().unwrap().len(), 2);
        assert_eq!(document["modules"][1]["reason"], "captcha");
    }

    #[test]
    fn names_of_formats_are_exact() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.as_str()), Some(format));
        }
        for other in ["", "JSON", "xml", "json ", "table"] {
            assert_eq!(Format::from_name(other), None, "{other}");
        }
    }
}
