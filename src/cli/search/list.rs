//! `search TYPE --from FILE`: the searches of a list, in its order.

use std::io::{self, Read, Write};
use std::path::Path;

use super::outcome::{exit_of, go_on, show, summary};
use super::view::{Format, View};
use crate::app::{self, ListEvent, SearchRequest};
use crate::base::ids::{AccountId, BatchId};
use crate::base::text::plain;
use crate::cli::bar::Bar;
use crate::cli::exit::{Exit, Failure};
use crate::config::SandboxMode;
use crate::modules::query::{Query, SearchType};
use crate::report::batch::{BatchFormat, BatchWriter};
use crate::runs::batches::batch::{Batch, BatchRow, Counts, RowRefusal, RowState};
use crate::runs::batches::search::BatchSearch;
use crate::runs::batches::table;
use crate::runs::record::RunRecord;

/// The most bytes of a list. A thousand queries take fewer.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// A search of the list.
pub(super) struct Row {
    position: u32,
    query: Query,
}

/// Reads a list. Queries that are listed twice are searched once.
///
/// # Errors
/// Fails if the file cannot be read, or if a query is not valid: then nothing is searched.
pub(super) fn read(file: &Path, search_type: SearchType) -> Result<Vec<Row>, Failure> {
    let name = file.display();
    let cannot_read = |error: io::Error| Failure::Failed(format!("cannot read {name}: {error}"));
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = match file == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(std::fs::File::open(file).map_err(cannot_read)?),
    };
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(cannot_read)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::Usage(format!("{name} is larger than {} MiB", MAX_BYTES / 1024 / 1024)));
    }
    let draft = table::read(&bytes, Some(search_type))
        .map_err(|error| Failure::Usage(format!("invalid list {name}: {error}")))?;
    if !draft.invalid.is_empty() {
        let rows = draft.invalid.iter().map(|row| {
            let line = row.line.map_or_else(|| format!("row {}", row.row), |line| format!("line {line}"));
            format!("{line}: {} ({}): {}", row.message, row.field, row.allowed)
        });
        let told = rows.collect::<Vec<_>>().join("\n  ");
        return Err(Failure::Usage(format!("invalid list {name}, nothing was searched:\n  {told}")));
    }
    let rows = draft.rows.into_iter().map(|(position, search)| {
        let query = Query::parse(search.search_type, &search.query)
            .map_err(|error| Failure::Usage(format!("invalid query in row {position}: {error}")))?;
        Ok(Row { position, query })
    });
    rows.collect()
}

/// Searches for each query. The exit code is that of the worst search, and 1 only if nothing was found for any query.
pub(super) fn search(
    request: &SearchRequest,
    rows: &[Row],
    format: Format,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut report = Report::begin(out, format, request)?;
    let (bar, mut broken, mut exit) = (Bar::new(), None, Exit::NothingFound);
    let queries: Vec<Query> = rows.iter().map(|row| row.query.clone()).collect();
    let done = app::search_all(request, &queries, |index, event| {
        let row = &rows[index];
        let (kind, query) = (row.query.search_type(), plain(row.query.raw()));
        let shown = match event {
            ListEvent::Progress(progress) => {
                show(&bar, progress, &format!("{} of {}: {query}, ", index + 1, rows.len()));
                Ok(())
            }
            ListEvent::Result(result) => bar.suspend_while(|| report.result(row, result)),
            ListEvent::Ended(run) => bar.suspend_while(|| {
                exit = worse(exit, exit_of(&run.summary));
                let _ = writeln!(io::stderr(), "{kind} {query}: {}", summary(run));
                report.ended(row, request, Some(run))
            }),
            ListEvent::Suppressed => bar.suspend_while(|| {
                let _ = writeln!(io::stderr(), "{kind} {query}: suppressed, so it was not searched");
                report.ended(row, request, None)
            }),
        };
        go_on(shown, &mut broken)
    });
    bar.clear();
    if let Some(failure) = broken {
        return Err(failure);
    }
    done?;
    report.end()?;
    Ok(exit)
}

fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Failed, _) | (_, Exit::Failed) => Exit::Failed,
        (Exit::Done, _) | (_, Exit::Done) => Exit::Done,
        _ => other,
    }
}

/// Writes the results of the list: a table with a heading for each query, or the same file as that of a batch.
enum Report<'a> {
    Table { out: &'a mut dyn Write, view: View, headed: Option<u32> },
    File(BatchWriter<'a>),
}

impl<'a> Report<'a> {
    fn begin(out: &'a mut dyn Write, format: Format, request: &SearchRequest) -> Result<Self, Failure> {
        let file = match format {
            Format::Table | Format::Html => {
                return Ok(Self::Table { out, view: View::new(Format::Table), headed: None });
            }
            Format::Json => BatchFormat::Json,
            Format::Ndjson => BatchFormat::Ndjson,
            Format::Csv => BatchFormat::Csv,
        };
        let now = jiff::Timestamp::now();
        let batch = Batch {
            id: BatchId::new(),
            account: AccountId::new(),
            name: None,
            simulated: request.engine.sandbox != SandboxMode::Off,
            created_at: now,
            stopped_at: None,
            // The document is complete when it is read.
            ended_at: Some(now),
            lacks_credits: false,
            counts: Counts::default(),
            began_at: Some(now),
        };
        Ok(Self::File(BatchWriter::begin(out, file, &batch)?))
    }

    fn result(&mut self, row: &Row, result: &crate::runs::run::ResultRecord) -> Result<(), Failure> {
        let Self::Table { out, view, headed } = self else { return Ok(()) };
        if *headed != Some(row.position) {
            let space = if headed.is_some() { "\n" } else { "" };
            writeln!(out, "{space}{} {}", row.query.search_type(), plain(row.query.raw()))?;
            (*headed, *view) = (Some(row.position), View::new(Format::Table));
        }
        view.result(*out, result)
    }

    fn ended(&mut self, row: &Row, request: &SearchRequest, run: Option<&RunRecord>) -> Result<(), Failure> {
        let Self::File(file) = self else { return Ok(()) };
        let SearchRequest { premium, options, choice, .. } = request;
        let (premium, options, choice) = (*premium, *options, choice.clone());
        let search = BatchSearch { premium, options, choice, ..BatchSearch::plain(&row.query) };
        let state = match run {
            Some(run) => RowState::Started(Box::new(run.summary.clone())),
            None => RowState::Refused(RowRefusal::Suppressed),
        };
        Ok(file.search(&BatchRow { position: row.position, search, state }, run)?)
    }

    fn end(self) -> Result<(), Failure> {
        match self {
            Self::Table { out, .. } => Ok(out.flush()?),
            Self::File(file) => Ok(file.end()?),
        }
    }
}
