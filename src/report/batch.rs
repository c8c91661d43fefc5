//! A batch as a file: the results of all its searches, and the matrix of its queries and platforms.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;
use utoipa::ToSchema;

use super::{Format, csv, write_line};
use crate::base::ids::{BatchId, RunId};
use crate::base::pages::items;
use crate::base::text::{cell, json, write_csv};
use crate::model::batch::{Batch, BatchRow, BatchStatus};
use crate::model::run::ResultRecord;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::runs::batches::{BatchMatrix, MatrixColumn};
use crate::runs::record::RunRecord;
use crate::runs::service::Runs;
use crate::store::Store;

/// The number of searches that are read from the store at once.
const PAGE: usize = 50;

/// A search of a batch, with its run.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchSearchReport<'a> {
    /// Place of the search in the request, from 1.
    #[schema(minimum = 1)]
    pub row: u32,
    /// Type of the query.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: &'a str,
    /// `pending`, `running`, `completed`, `failed`, `refused` or `skipped`.
    #[schema(examples("completed"))]
    pub status: &'a str,
    /// Run of the search; null if it was not started.
    #[schema(required)]
    pub run: Option<&'a RunRecord>,
}

/// The results of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchReport<'a> {
    /// Identifies the batch.
    pub batch_id: BatchId,
    /// Name of the batch; null if it has none.
    #[schema(required, examples("applicants of May"))]
    pub name: Option<&'a str>,
    /// State of the batch.
    pub status: BatchStatus,
    /// The searches, in the order of the request.
    pub searches: Vec<BatchSearchReport<'a>>,
}

#[derive(Serialize)]
struct ResultLine<'a> {
    row: u32,
    query_type: SearchType,
    query: &'a str,
    run_id: RunId,
    #[serde(flatten)]
    result: &'a ResultRecord,
}

/// Writes the results of a batch piece by piece, because a batch can have more of them than fit into memory.
pub struct BatchWriter<'a> {
    out: &'a mut dyn Write,
    /// One of [`Format::OF_BATCHES`].
    format: Format,
    is_first: bool,
}

impl<'a> BatchWriter<'a> {
    /// Writes what comes before the first search: the head of a batch, without searches.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn begin(out: &'a mut dyn Write, format: Format, batch: &BatchReport<'_>) -> io::Result<Self> {
        if format == Format::Json {
            let head = serde_json::to_string(batch)?;
            // The list is written search by search.
            out.write_all(json(head.trim_end_matches("]}")).as_bytes())?;
        } else if format == Format::Csv {
            let head = ["row", "query_type", "query", "run_id"].into_iter().chain(csv::columns());
            write_csv(out, &head.collect::<Vec<_>>())?;
        }
        Ok(Self { out, format, is_first: true })
    }

    /// Writes a search with its run, if it was started.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn search(&mut self, search: &BatchSearchReport<'_>) -> io::Result<()> {
        if self.format == Format::Json {
            self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
            self.is_first = false;
            return self.out.write_all(json(&serde_json::to_string(search)?).as_bytes());
        }
        let BatchSearchReport { row, search_type: query_type, query, ref run, .. } = *search;
        let Some(run) = run else { return Ok(()) };
        let run_id = run.summary.id;
        run.results.iter().try_for_each(|result| {
            if self.format == Format::Ndjson {
                return write_line(self.out, &ResultLine { row, query_type, query, run_id, result });
            }
            let search = [row.to_string(), query_type.to_string(), cell(query), run_id.to_string()];
            write_csv(self.out, &search.into_iter().chain(csv::row(result)).collect::<Vec<_>>())
        })
    }

    /// Writes what comes after the last search.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn end(self) -> io::Result<()> {
        if self.format == Format::Json {
            self.out.write_all(b"\n]}\n")?;
        }
        self.out.flush()
    }
}

/// Writes the results that the searches of a batch have found so far, in one of [`Format::OF_BATCHES`].
///
/// # Errors
/// Returns an error if the store or `out` fails. The file is then incomplete.
pub fn write_batch(
    store: &Store,
    runs: &Runs,
    batch: &Batch,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (batch_id, name, status) = (batch.id, batch.name.as_deref(), batch.status);
    let head = BatchReport { batch_id, name, status, searches: Vec::new() };
    let mut file = BatchWriter::begin(out, format, &head)?;
    let rows =
        |last: Option<&BatchRow>| store.batch_rows(batch.id, last.map_or(0, |last| last.position), PAGE);
    for row in items(PAGE, rows) {
        let row = row?;
        let found = match row.run {
            Some(run) => store.run(run, batch.account)?,
            None => None,
        };
        let record = found.map(|found| runs.record(found)).transpose()?;
        let BatchRow { position, search_type, ref query, ref status, .. } = row;
        file.search(&BatchSearchReport { row: position, search_type, query, status, run: record.as_ref() })?;
    }
    file.end()
}

impl BatchMatrix {
    /// Returns the names of the columns. A platform with several modules has a column for each, with the id of the
    /// module in its name.
    pub fn titles(&self) -> Vec<String> {
        let mut modules: HashMap<&str, usize> = HashMap::new();
        self.columns.iter().for_each(|column| *modules.entry(&column.platform).or_default() += 1);
        let title = |MatrixColumn { module, platform, .. }: &MatrixColumn| match modules[platform.as_str()] {
            1 => platform.clone(),
            _ => format!("{platform} ({module})"),
        };
        self.columns.iter().map(title).collect()
    }

    /// Writes the matrix as CSV.
    ///
    /// # Errors
    /// Returns the errors of `out`.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let titles = self.titles();
        let head = ["row", "type", "query", "status"].map(str::to_owned).into_iter();
        write_csv(out, &head.chain(titles.iter().map(|title| cell(title))).collect::<Vec<_>>())?;
        self.rows.iter().try_for_each(|row| {
            let (number, kind) = (row.row.to_string(), row.search_type.to_string());
            let head = [number, kind, cell(&row.query), row.status.clone()];
            let outcomes = row.outcomes.iter().map(|outcome| outcome.map_or("", Outcome::as_str).to_owned());
            write_csv(out, &head.into_iter().chain(outcomes).collect::<Vec<_>>())
        })
    }
}
