//! `report`: a saved search in another format. Reads reports in JSON, as `search --format json` and the API write them.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use jiff::Timestamp;
use serde::Deserialize;

use super::catalog::load;
use super::exit::{Exit, Failure};
use super::files;
use super::search::write_table;
use crate::base::text::write_json;
use crate::config::CatalogConfig;
use crate::report::Format;
use crate::runs::graph::Graph;
use crate::runs::people::people;
use crate::runs::record::{Findings, RunRecord};

/// The most bytes of a report. The largest runs have some ten megabytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The formats. A PDF needs the browser of a search, and JSON is what is read.
const FORMATS: [&str; 9] = ["table", "people", "graph", "ndjson", "csv", "html", "md", "graphml", "stix"];

/// Write a saved search in another format
///
/// `people` groups the accounts by who they probably belong to, with the evidence, as JSON; the exit code is then 1 if no
/// two accounts belong together. `graph` is what was found and what joins it, as JSON; `graphml` opens in Gephi, yEd and
/// Neo4j, `stix` is a bundle of version 2.1. All four include the searches that leads have started.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline search octocat --sandbox --format json > octocat.json
  sightline report octocat.json --format html > octocat.html
  sightline search octocat --sandbox --follow --format json | sightline report - --format graphml")]
pub(crate) struct ReportArgs {
    /// A report in JSON, from `search --format json` or the export of a run; - reads standard input
    #[arg(value_name = "REPORT.json")]
    path: PathBuf,
    /// Format to write
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = PossibleValuesParser::new(FORMATS))]
    format: String,
    #[command(flatten)]
    catalog: CatalogConfig,
}

pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let report = SavedReport::read(&args.path)?;
    let catalog = load(&args.catalog)?;
    let graph = || Ok::<_, Failure>(Graph::of(&report.findings()?, catalog.profiles()));
    match (args.format.as_str(), Format::from_name(&args.format)) {
        ("people", _) => {
            let found = people(&report.findings()?, catalog.profiles());
            write_json(out, &found)?;
            return Ok(if found.people.is_empty() { Exit::NothingFound } else { Exit::Done });
        }
        ("graph", _) => Format::Json.write_graph(out, &graph()?, None)?,
        (_, Some(format @ (Format::Graphml | Format::Stix))) => format.write_graph(out, &graph()?, None)?,
        (_, Some(format)) => {
            let print = |_: &str| Err::<Vec<u8>, _>("a PDF needs the browser of a search");
            format.write(out, report.record()?, &catalog, print)?;
        }
        (_, None) => write_table(out, report.record()?)?,
    }
    Ok(Exit::Done)
}

/// A saved search.
#[derive(Debug, Deserialize)]
pub(super) struct SavedReport {
    #[serde(flatten)]
    run: RunRecord,
    /// The searches that leads have started.
    #[serde(default)]
    children: Vec<RunRecord>,
}

impl SavedReport {
    /// Reads a report. `-` means standard input.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is too large, or is not such a report. The message says where.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let usage = |text: String| Failure::Usage(format!("{}: {text}", path.display()));
        let text = files::read(path, MAX_BYTES)
            .map_err(|error| usage(format!("cannot read the report ({error})")))?;
        let expected = "expected a report from `search --format json` or `/export?format=json`";
        let mut report: Self = serde_json::from_slice(&text)
            .map_err(|error| usage(format!("not a report in JSON (line {}): {expected}", error.line())))?;
        report.run.as_of = report.run.summary.completed_at.unwrap_or_else(Timestamp::now);
        Ok(report)
    }

    /// Returns the run with its modules, which the answer of `GET /v1/searches/{run_id}` does not have.
    fn record(&self) -> Result<&RunRecord, Failure> {
        if self.run.modules.is_empty() && self.run.summary.progress.modules_completed > 0 {
            let text = "the report has no `modules`; a report from `search --format json` or `/export?format=json` has them";
            return Err(Failure::usage(text));
        }
        Ok(&self.run)
    }

    /// Returns the run as one side of a diff.
    ///
    /// # Errors
    /// Fails if the query is not valid, or the report does not say how the modules ended.
    pub(super) fn to_compare(&self) -> Result<Findings<'_>, Failure> {
        findings(self.record()?)
    }

    /// Returns what the search and those that its leads have started were asked and what they found, the search first.
    fn findings(&self) -> Result<Vec<Findings<'_>>, Failure> {
        std::iter::once(&self.run).chain(&self.children).map(findings).collect()
    }
}

fn findings(run: &RunRecord) -> Result<Findings<'_>, Failure> {
    run.findings().ok_or_else(|| Failure::usage("the report's query is not valid"))
}
