//! `search --from FILE` and `search QUERY QUERY…`: the searches of a list, in its order.

use std::io::{self, Read, Write};
use std::path::Path;

use super::files::{Output, OutputFile};
use super::outcome::{exit_of, go_on, show, summary};
use super::view::{Format, View};
use crate::app::{self, SearchEvent, SearchRequest};
use crate::base::ids::{AccountId, BatchId};
use crate::base::text::plain;
use crate::cli::bar::Bar;
use crate::cli::exit::{Exit, Failure};
use crate::config::SandboxMode;
use crate::model::batch::{Batch, BatchRow, Counts, RowRefusal, RowState};
use crate::model::run::ResultRecord;
use crate::model::search::Search;
use crate::modules::catalog::Catalog;
use crate::modules::query::{Query, SearchType};
use crate::report::batch::{BatchFormat, BatchWriter};
use crate::runs::batches::table;
use crate::runs::proof::Stop;
use crate::runs::record::RunRecord;

/// The most bytes of a list. A thousand queries take fewer.
const MAX_BYTES: u64 = 2 * 1024 * 1024;

/// A search of the list.
pub(super) struct Row {
    pub(super) position: u32,
    pub(super) query: Query,
}

/// Reads a list. Queries that are listed twice are searched once. The texts whose types are recognized are added to
/// `recognized`.
///
/// # Errors
/// Fails if the file cannot be read, or if a query is not valid: then nothing is searched.
pub(super) fn read(
    file: &Path,
    search_type: Option<SearchType>,
    recognized: &mut Vec<String>,
) -> Result<Vec<Row>, Failure> {
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
    let of_query = |query: &str| {
        Some(search_type.unwrap_or_else(|| {
            recognized.push(query.to_owned());
            SearchType::recognized(query)
        }))
    };
    let draft = table::read_with(&bytes, of_query)
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
    output: Output,
    stop: &Stop,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let Output { format, all, mut files } = output;
    let mut reports = vec![Report::begin(out, format, all, true, request)?];
    for file in &mut files {
        let format = file.format;
        reports.push(Report::begin(file.writer(), format, all, false, request)?);
    }
    let (bar, mut broken, mut exit) = (Bar::new(), None, Exit::NothingFound);
    let queries: Vec<Query> = rows.iter().map(|row| row.query.clone()).collect();
    let done = app::search_all(request, &queries, stop, |index, event| {
        let row = &rows[index];
        let (kind, query) = (row.query.search_type(), plain(row.query.raw()));
        let mut each = |tell: &mut dyn FnMut(&mut Report<'_>) -> Result<(), Failure>| {
            bar.suspend_while(|| reports.iter_mut().try_for_each(tell))
        };
        let shown = match event {
            SearchEvent::Progress(progress) => {
                show(&bar, progress, &format!("{} of {}: {query}, ", index + 1, rows.len()));
                Ok(())
            }
            // A search of a list follows no leads.
            SearchEvent::Child(_) => Ok(()),
            SearchEvent::Result(result) => each(&mut |report| report.result(row, result)),
            SearchEvent::Ended(run, catalog) => {
                exit = worse(exit, exit_of(run));
                let ended = each(&mut |report| report.ended(row, request, Some((run, catalog))));
                bar.suspend_while(|| {
                    let _ = writeln!(io::stderr(), "{kind} {query}: {}", summary(run));
                });
                ended
            }
            SearchEvent::Suppressed => {
                bar.suspend_while(|| {
                    let _ = writeln!(io::stderr(), "{kind} {query}: suppressed, so it was not searched");
                });
                each(&mut |report| report.ended(row, request, None))
            }
        };
        go_on(shown, &mut broken)
    });
    bar.clear();
    if let Some(failure) = broken {
        return Err(failure);
    }
    done?;
    reports.into_iter().try_for_each(Report::end)?;
    files.into_iter().try_for_each(OutputFile::finish)?;
    Ok(exit)
}

fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::Failed, _) | (_, Exit::Failed) => Exit::Failed,
        (Exit::Done, _) | (_, Exit::Done) => Exit::Done,
        _ => other,
    }
}

/// Writes the line above the results of a query.
fn head(out: &mut dyn Write, row: &Row, headed: &mut Option<u32>) -> io::Result<()> {
    let space = if headed.is_some() { "\n" } else { "" };
    *headed = Some(row.position);
    writeln!(out, "{space}{} {}", row.query.search_type(), plain(row.query.raw()))
}

/// Writes the results of the list: a table with a heading for each query, or the same file as that of a batch.
enum Report<'a> {
    Table { out: &'a mut dyn Write, view: View, headed: Option<u32> },
    File(BatchWriter<'a>),
}

impl<'a> Report<'a> {
    fn begin(
        out: &'a mut dyn Write,
        format: Format,
        all: bool,
        is_output: bool,
        request: &SearchRequest,
    ) -> Result<Self, Failure> {
        let file = match format {
            Format::Json => BatchFormat::Json,
            Format::Ndjson => BatchFormat::Ndjson,
            Format::Csv => BatchFormat::Csv,
            // The formats that hold one search are refused before.
            Format::Table | Format::Html | Format::Pdf | Format::Md | Format::Graphml | Format::Stix => {
                let view =
                    if is_output { View::new(Format::Table, all) } else { View::of_file(Format::Table, all) };
                return Ok(Self::Table { out, view, headed: None });
            }
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

    fn result(&mut self, row: &Row, result: &ResultRecord) -> Result<(), Failure> {
        let Self::Table { out, view, headed } = self else { return Ok(()) };
        if view.is_of_terminal() {
            return Ok(());
        }
        if *headed != Some(row.position) {
            head(*out, row, headed)?;
            view.begin_again();
        }
        view.result(*out, result)
    }

    fn ended(
        &mut self,
        row: &Row,
        request: &SearchRequest,
        ended: Option<(&RunRecord, &Catalog)>,
    ) -> Result<(), Failure> {
        let file = match self {
            Self::File(file) => file,
            Self::Table { out, view, headed } => {
                let Some((run, catalog)) = ended else { return Ok(()) };
                if view.is_of_terminal() {
                    head(*out, row, headed)?;
                }
                return view.finish_table(*out, run, &[], catalog);
            }
        };
        let run = ended.map(|(run, _)| run);
        let SearchRequest { premium, options, choice, .. } = request;
        let (premium, options, choice) = (*premium, *options, choice.clone());
        let search = Search { premium, options, choice, ..Search::plain(&row.query) };
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
