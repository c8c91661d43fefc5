//! Reports: a run as a file in the formats that the API, the web app and the command line offer, and the export of an
//! account.
//!
//! | file | holds |
//! |---|---|
//! | [`csv`] | one row for each result, for spreadsheets |
//! | [`batch`] | the results of a batch of searches, and its matrix |
//! | `graph` | the entities of runs, and what joins them |
//! | [`dossier`] | the results of a domain or an email address as tables by subject |
//! | [`facts`] | what the results say about who they belong to |
//! | [`timeline`] | the days that results name |
//! | [`html`] | one page to read, print or keep |
//! | `markdown` | the same as text |
//! | [`account`] | the export of an account |
//!
//! | format | content | omitted |
//! |---|---|---|
//! | `json` | the run with all results, and `modules`: how each module ended | nothing |
//! | `ndjson` | one result on each line and nothing else, so that all lines have the same shape | the run, its coverage |
//! | `csv` | one row for each result: its fields, the metadata that most profiles have, all metadata as JSON | the run, its coverage |
//! | `html` | people, overview, results by verdict, links, coverage, and each module that gave no answer with the reason | nothing; misses are collapsed |
//! | `pdf` | the page as a browser prints it | details of results that were not judged, links, events, misses |
//! | `graphml`, `stix` | the entities and what joins them, coverage, and each module that gave no answer with the reason | the metadata of results |
//! | `md` | overview, people, results, coverage, and each module that gave no answer with the reason | misses, rare members of the metadata |
//!
//! A list of results alone would present a running search, or one that half of all sites blocked, as
//! complete. Therefore the JSON and the page state it, and the other formats mark it in the file name.
//!
//! To add a format: add a variant of [`Format`], its writer beside the others, and its line in the table
//! above.

pub mod account;
pub mod batch;
pub mod csv;
pub mod dossier;
pub mod facts;
mod graph;
pub mod html;
mod markdown;
pub mod timeline;

use std::error::Error;
use std::io::{self, Write};

use askama::Template as _;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::text::{json, write_json};
use crate::base::words::words;
use crate::model::refusal::Refusal;
use crate::modules::catalog::Catalog;
use crate::runs::graph::Graph;
use crate::runs::record::RunRecord;
use graph::{GraphMl, stix};

words! {
    /// A format of a report: `json` (the whole run in one document), `ndjson` (one result on each line), `csv`
    /// (one row for each result), `html` (one page to read), `pdf` (the same page, printed by a browser), `md`
    /// (Markdown), `graphml` or `stix` (the entities and what joins them).
    // The word is also the extension of the files.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = ReportFormat)]
    pub enum Format {
        /// One indented document.
        Json = "json",
        /// One result on each line.
        Ndjson = "ndjson",
        /// RFC 4180 with a header.
        Csv = "csv",
        /// One self-contained page.
        Html = "html",
        /// The page, printed by a browser.
        Pdf = "pdf",
        /// Markdown (CommonMark with the tables of GitHub).
        Md = "md",
        /// The graph, as GraphML.
        Graphml = "graphml",
        /// The graph, as a STIX 2.1 bundle.
        Stix = "stix",
    }
}

impl Format {
    /// The formats of a graph. As JSON it is nodes and edges.
    pub const OF_GRAPHS: &'static [Self] = &[Self::Json, Self::Graphml, Self::Stix];
    /// The formats of the results of a batch. Each search has a report, or each result names its search.
    pub const OF_BATCHES: &'static [Self] = &[Self::Json, Self::Ndjson, Self::Csv];
    /// The formats of the matrix of a batch.
    pub const OF_MATRICES: &'static [Self] = &[Self::Json, Self::Csv];

    /// Returns the format with this word, or the first one of `known` if there is no word.
    ///
    /// # Errors
    /// Returns the refusal of a word that is not one of `known`.
    pub fn among(known: &[Self], name: Option<&str>) -> Result<Self, Refusal> {
        let is_wanted = |format: &&Self| name.is_none_or(|name| format.as_str() == name);
        known.iter().find(is_wanted).copied().ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|format| format.as_str()).collect();
            Refusal::not_one_of("format", &names)
        })
    }

    /// Returns the `Content-Type`. `application/x-ndjson` is not registered, but it is the type that tools
    /// know. GraphML has none but that of XML.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Html => "text/html; charset=utf-8",
            Self::Pdf => "application/pdf",
            Self::Md => "text/markdown; charset=utf-8",
            Self::Graphml => "application/xml",
            Self::Stix => "application/stix+json;version=2.1",
        }
    }

    /// Returns the start of a file in this format: spreadsheets on Windows read UTF-8 without a byte order mark as another
    /// encoding.
    pub fn mark(self) -> &'static [u8] {
        if self == Self::Csv { "\u{feff}".as_bytes() } else { b"" }
    }

    /// Returns the `Content-Security-Policy` of a format that browsers open.
    pub fn content_security_policy(self) -> Option<String> {
        (self == Self::Html).then(html::content_security_policy)
    }

    /// Writes the run. `print` prints a page as a PDF; it is only called for that format.
    ///
    /// # Errors
    /// Returns the errors of `out` and of the templates, and the error of `print` as their source.
    pub fn write<E: Into<Box<dyn Error + Send + Sync>>>(
        self,
        out: &mut dyn Write,
        run: &RunRecord,
        catalog: &Catalog,
        print: impl FnOnce(&str) -> Result<Vec<u8>, E>,
    ) -> io::Result<()> {
        match self {
            Self::Json => write_json(out, run),
            Self::Ndjson => run.results.iter().try_for_each(|result| write_line(out, result)),
            Self::Csv => csv::write(out, &run.results),
            Self::Html => out.write_all(html::page(run, catalog)?.as_bytes()),
            Self::Pdf => out.write_all(&print(&html::page(run, catalog)?).map_err(io::Error::other)?),
            Self::Md => out.write_all(markdown::page(run, catalog)?.as_bytes()),
            Self::Graphml | Self::Stix => {
                let graph = Graph::of(&Vec::from_iter(run.findings()), catalog.profiles());
                self.write_graph(out, &graph, Some(run))
            }
        }
    }

    /// Writes a graph in one of the formats of graphs, with the coverage of `run` if it is the graph of one run.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_graph(self, out: &mut dyn Write, graph: &Graph, run: Option<&RunRecord>) -> io::Result<()> {
        match self {
            Self::Graphml => GraphMl { graph, run }.write_into(out).map_err(io::Error::other),
            Self::Stix => write_json(out, &stix(graph, run)),
            _ => write_json(out, graph),
        }
    }
}

/// Writes a family of runs as one indented JSON document: the first run, and the others in its member `children`.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write_family(out: &mut dyn Write, root: &RunRecord, children: &[RunRecord]) -> io::Result<()> {
    write_json(out, &Family { root, children })
}

#[derive(Serialize)]
struct Family<'a> {
    #[serde(flatten)]
    root: &'a RunRecord,
    /// The other runs in the order in which they were started.
    children: &'a [RunRecord],
}

/// Writes a line of NDJSON.
fn write_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", json(&serde_json::to_string(value)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::{result, run};

    fn written(format: Format) -> String {
        let mut out = Vec::new();
        let (run, catalog) =
            (run(vec![result(1, "=HYPERLINK(1)\n"), result(2, "octocat")]), Catalog::from_text("none", "[]"));
        let print = |page: &str| Ok::<_, io::Error>(format!("printed {page}").into_bytes());
        format.write(&mut out, &run, &catalog.unwrap(), print).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_have_no_characters_that_a_terminal_interprets() {
        for format in [Format::Json, Format::Ndjson] {
            let shown = written(format);
            assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{shown:?}");
        }
        assert_eq!(written(Format::Ndjson).lines().count(), 2);
    }

    #[test]
    fn a_pdf_is_the_printed_page_and_an_error_of_the_printer_is_kept() {
        assert!(written(Format::Pdf).starts_with("printed <!DOCTYPE html>"));
        let (run, catalog) = (run(Vec::new()), Catalog::from_text("none", "[]").unwrap());
        let error = Format::Pdf
            .write(&mut Vec::new(), &run, &catalog, |_| Err::<Vec<u8>, _>("no paper"))
            .unwrap_err();
        assert_eq!(error.to_string(), "no paper");
    }
}
