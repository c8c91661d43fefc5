//! A run as a file, in the four forms that the API, the web app and the command line offer; an account as one.
//!
//! | file | holds |
//! |---|---|
//! | [`body`] | the Run record of the contract, as it is written in JSON |
//! | [`csv`] | one row a result, for spreadsheets |
//! | [`html`] | one page to read, to print, to keep |
//! | [`file_name`] | what the file is called |
//! | [`outcomes`] | outcomes in words |
//! | [`account`], [`audit`] | everything that is kept of an account |
//!
//! | format | what it says | what it leaves out |
//! |---|---|---|
//! | `json` | the Run record with all results, and `modules`: how each module ended | nothing |
//! | `ndjson` | one Result a line and nothing else, so that every line has the same shape | the run, its coverage |
//! | `csv` | one row a result: its fields, the metadata that most profiles have, all metadata as JSON | the run, its coverage |
//! | `html` | results, coverage, and by name what came to no conclusion, and why | misses stand folded up |
//!
//! Results and misses alone would pass a run that is under way, or that half of all sites blocked, for a
//! whole one: the JSON and the page say so in them, the others in their name ([`file_name`]).
//!
//! To add a form: a variant of [`Format`], its writer beside the others, its line in the table above.

pub mod account;
pub mod audit;
pub mod body;
pub mod csv;
pub mod file_name;
pub mod html;
pub mod outcomes;

use std::io::{self, Write};

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::text::{json, write_json};
use crate::runs::record::RunRecord;
use body::ReportBody;

/// A form of the file: `json` (the whole run in one document), `ndjson` (one result a line), `csv` (one row a
/// result) or `html` (one page to read).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = ReportFormat)]
pub enum Format {
    /// One indented document.
    Json,
    /// One Result a line.
    Ndjson,
    /// RFC 4180, with a head.
    Csv,
    /// One self-contained page.
    Html,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Json, Self::Ndjson, Self::Csv, Self::Html];

    /// `json`, `ndjson`, `csv` or `html`: its name, and the ending of the file's.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::Html => "html",
        }
    }

    /// The form of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// `Content-Type`. (`application/x-ndjson` is what tools know; none is registered.)
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Html => "text/html; charset=utf-8",
        }
    }

    /// What the file may load and run, as a `Content-Security-Policy`, where it is one that a browser opens.
    pub fn content_security_policy(self) -> Option<String> {
        (self == Self::Html).then(html::content_security_policy)
    }

    /// Writes the run.
    ///
    /// # Errors
    /// What `out` says.
    pub fn write(self, out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
        match self {
            Self::Json => write_json(out, &ReportBody::from(run)),
            Self::Ndjson => write_lines(out, run),
            Self::Csv => csv::write(out, &run.results),
            Self::Html => out.write_all(html::page(run).as_bytes()),
        }
    }
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
    fn ndjson_is_one_result_a_line_and_means_the_same() {
        let shown = written(Format::Ndjson);
        assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{shown:?}");
        let back: Vec<ResultRecord> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(back, [result(1, "=HYPERLINK(1)\n"), result(2, "octocat")]);
    }

    #[test]
    fn json_is_the_whole_run_and_how_each_module_ended() {
        let document: serde_json::Value = serde_json::from_str(&written(Format::Json)).unwrap();
        assert_eq!(document["query"], "octocat");
        assert_eq!(document["results"].as_array().unwrap().len(), 2);
        assert_eq!(document["modules"][1]["reason"], "captcha");
    }

    #[test]
    fn names_are_told_apart_to_the_letter() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.as_str()), Some(format));
        }
        for other in ["", "JSON", "xml", "json ", "table"] {
            assert_eq!(Format::from_name(other), None, "{other}");
        }
    }
}
