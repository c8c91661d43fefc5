//! Reads reports in JSON, as `search --format json` and the API write them.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;

use super::exit::Failure;
use crate::base::ids::RunId;
use crate::modules::query::{Query, SearchType};
use crate::runs::record::Findings;
use crate::runs::run::ResultRecord;

/// The most bytes of a report. The largest runs have some ten megabytes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The report that a command reads.
#[derive(Debug, Args)]
pub(super) struct ReportFile {
    /// A report in JSON, from `search --format json` or the export of a run; - reads standard input
    #[arg(value_name = "REPORT.json")]
    path: PathBuf,
}

/// The members of a report that commands use.
#[derive(Debug, Deserialize)]
pub(super) struct Report {
    run_id: RunId,
    #[serde(rename = "type")]
    search_type: SearchType,
    query: String,
    results: Vec<ResultRecord>,
}

impl ReportFile {
    /// Reads the report.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is too large, or is not such a report. The message says where.
    pub(super) fn read(&self) -> Result<Report, Failure> {
        let usage = |text: String| Failure::Usage(format!("{}: {text}", self.path.display()));
        let text =
            read_text(&self.path).map_err(|error| usage(format!("cannot read the report ({error})")))?;
        let allowed = "a report from `search --format json` or `/export?format=json` is allowed";
        serde_json::from_str(&text)
            .map_err(|error| usage(format!("not a report in JSON ({error}); {allowed}")))
    }
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

impl Report {
    /// Returns what the search was asked and what it found.
    ///
    /// # Errors
    /// Fails if the query is not valid.
    pub(super) fn findings(&self) -> Result<Findings<'_>, Failure> {
        let query = Query::parse(self.search_type, &self.query)
            .map_err(|error| Failure::Usage(format!("the report's query is not valid: {error}")))?;
        Ok(Findings { run_id: self.run_id, query, results: &self.results })
    }
}
