//! `report`: a saved search in another format. Reads reports in JSON, as `search --format json` and the API write them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use jiff::Timestamp;
use serde::Deserialize;

use super::catalog::load;
use super::exit::{Exit, Failure};
use super::search::write_table;
use crate::base::ids::{AccountId, RunId};
use crate::base::text::write_json;
use crate::config::CatalogConfig;
use crate::model::coverage::Coverage;
use crate::model::notes::RunNotes;
use crate::model::run::{
    ModuleReport, Progress, ResultRecord, RunError, RunOptions, RunSummary, Status, Thumbnails, count,
};
use crate::modules::query::{Query, SearchType};
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
            format.write(out, &report.record()?, &catalog, print)?;
        }
        (_, None) => write_table(out, &report.record()?)?,
    }
    Ok(Exit::Done)
}

/// The members of a report that commands use.
#[derive(Debug, Deserialize)]
pub(super) struct SavedReport {
    run_id: RunId,
    #[serde(rename = "type")]
    search_type: SearchType,
    query: String,
    status: Status,
    #[serde(default)]
    sandbox: bool,
    #[serde(default)]
    premium: bool,
    #[serde(default)]
    progress: Progress,
    #[serde(default)]
    coverage: Coverage,
    created_at: Timestamp,
    completed_at: Option<Timestamp>,
    stopped_at: Option<Timestamp>,
    error: Option<RunError>,
    #[serde(default)]
    tags: Vec<String>,
    note: Option<String>,
    results: Vec<ResultRecord>,
    /// The searches that leads have started.
    #[serde(default)]
    children: Vec<SavedReport>,
    /// The answer of `GET /v1/searches/{run_id}` has none.
    modules: Option<Vec<ModuleReport>>,
}

fn read_text(path: &Path) -> io::Result<String> {
    let source: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path)?),
    };
    let mut text = String::new();
    let read = source.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES {
        return Err(io::Error::other(format!("it is larger than {} MiB", MAX_BYTES >> 20)));
    }
    Ok(text)
}

impl SavedReport {
    /// Reads a report. `-` means standard input.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is too large, or is not such a report. The message says where.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let usage = |text: String| Failure::Usage(format!("{}: {text}", path.display()));
        let text = read_text(path).map_err(|error| usage(format!("cannot read the report ({error})")))?;
        let allowed = "a report from `search --format json` or `/export?format=json` is allowed";
        serde_json::from_str(&text)
            .map_err(|error| usage(format!("not a report in JSON ({error}); {allowed}")))
    }

    /// Returns the run as reports show it.
    fn record(&self) -> Result<RunRecord, Failure> {
        let summary = RunSummary {
            id: self.run_id,
            account: AccountId::new(),
            status: self.status,
            search_type: self.search_type,
            query: self.query.clone(),
            premium: self.premium,
            options: RunOptions::default(),
            choice: None,
            follow: None,
            family: None,
            watch: None,
            batch: None,
            retry_of: None,
            simulated: self.sandbox,
            total_results: count(self.results.len()),
            revision: 0,
            progress: self.progress,
            coverage: self.coverage,
            credits_charged: 0,
            created_at: self.created_at,
            completed_at: self.completed_at,
            stopped_at: self.stopped_at,
            error: self.error.clone(),
            queue_position: None,
            notes: RunNotes { tags: self.tags.clone(), note: self.note.clone() },
        };
        Ok(RunRecord {
            summary,
            results: self.results.clone(),
            modules: self.modules()?.to_vec(),
            lookups: Vec::new(),
            follow: None,
            as_of: self.completed_at.unwrap_or_else(Timestamp::now),
            thumbnails: Thumbnails::new(),
        })
    }

    fn modules(&self) -> Result<&[ModuleReport], Failure> {
        self.modules.as_deref().ok_or_else(|| {
            let text = "the report has no `modules`; a report from `search --format json` or `/export?format=json` has them";
            Failure::Usage(text.to_owned())
        })
    }

    /// Returns the run as one side of a diff.
    ///
    /// # Errors
    /// Fails if the query is not valid, or the report does not say how the modules ended.
    pub(super) fn to_compare(&self) -> Result<Findings<'_>, Failure> {
        self.modules()?;
        self.own()
    }

    /// Returns what the search and those that its leads have started were asked and what they found, the search first.
    fn findings(&self) -> Result<Vec<Findings<'_>>, Failure> {
        std::iter::once(self).chain(&self.children).map(Self::own).collect()
    }

    fn own(&self) -> Result<Findings<'_>, Failure> {
        let query = Query::parse(self.search_type, &self.query)
            .map_err(|error| Failure::Usage(format!("the report's query is not valid: {error}")))?;
        let Self { run_id, status, sandbox: simulated, created_at, ref results, ref modules, .. } = *self;
        let (depth, modules) = (0, modules.as_deref().unwrap_or_default());
        Ok(Findings { run_id, query, depth, status, simulated, created_at, results, modules })
    }
}
