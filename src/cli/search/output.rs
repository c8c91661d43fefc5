//! The output of searches: standard output and files, each in a format. The table has a row for each result as it is found;
//! the other formats are written when a search has ended, since a result may get further sources until then.

use std::io::Write;
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::table::Table;
use crate::app::SearchRequest;
use crate::base::ids::{AccountId, BatchId};
use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::cli::replace::Replacement;
use crate::config::SandboxMode;
use crate::model::batch::{Batch, BatchRow, Counts, RowRefusal, RowState};
use crate::model::run::ResultRecord;
use crate::model::search::Search;
use crate::modules::catalog::Catalog;
use crate::modules::near::did_you_mean;
use crate::modules::probe::ProbeError;
use crate::report::batch::{BatchFormat, BatchWriter};
use crate::report::{self, write_family};
use crate::runs::family::plan::NextSearch;
use crate::runs::record::RunRecord;

use super::queries::Row;

/// The format of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Format {
    /// The table for people.
    Table,
    /// A report.
    Report(report::Format),
}

impl Format {
    /// Returns the parser of a format's name.
    pub(in crate::cli) fn parser() -> impl TypedValueParser<Value = Self> {
        let names = PossibleValuesParser::new(
            ["table"].into_iter().chain(report::Format::ALL.map(report::Format::as_str)),
        );
        names.map(|name| report::Format::from_name(&name).map_or(Self::Table, Self::Report))
    }

    /// Returns the format of a file whose suffix names it.
    ///
    /// # Errors
    /// Fails if the suffix is unknown.
    fn of_file(path: &Path) -> Result<Self, Failure> {
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default().to_lowercase();
        if suffix == "txt" {
            return Ok(Self::Table);
        }
        let known = || report::Format::ALL.map(report::Format::as_str).into_iter().chain(["txt"]);
        report::Format::from_name(&suffix).map(Self::Report).ok_or_else(|| {
            let shown = path.display().to_string();
            let (shown, allowed) = (plain(&shown), known().collect::<Vec<_>>().join(", "));
            let meant = did_you_mean([suffix.as_str()], known);
            Failure::Usage(format!(
                "--output {shown}: the suffix names the format: {allowed} are allowed{meant}"
            ))
        })
    }

    /// Returns whether the format can hold a search and those that its leads have started.
    pub(super) fn takes_families(self) -> bool {
        matches!(self, Self::Table | Self::Report(report::Format::Json))
    }

    /// Returns whether the format can hold the searches of a list.
    pub(super) fn takes_lists(self) -> bool {
        self == Self::Table || self.of_batch().is_some()
    }

    pub(super) fn is_pdf(self) -> bool {
        self == Self::Report(report::Format::Pdf)
    }

    fn of_batch(self) -> Option<BatchFormat> {
        let Self::Report(format) = self else { return None };
        BatchFormat::from_name(format.as_str())
    }
}

/// A file that is being written. It replaces an earlier one only when it is complete.
pub(super) struct OutputFile {
    pub(super) format: Format,
    file: Replacement,
}

impl OutputFile {
    /// Begins to write a file whose suffix names the format.
    ///
    /// # Errors
    /// Fails if the suffix is unknown, or the folder cannot be written.
    pub(super) fn begin(path: &Path) -> Result<Self, Failure> {
        Ok(Self { format: Format::of_file(path)?, file: Replacement::begin_private(path)? })
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.file.finish()
    }
}

/// Prints a page as a PDF.
pub(super) type Print<'p> = dyn Fn(&str) -> Result<Vec<u8>, ProbeError> + 'p;

/// The searches that are written.
pub(super) struct Written<'w> {
    pub(super) request: &'w SearchRequest,
    /// Whether they are those of a list.
    pub(super) is_list: bool,
    /// Whether tables list the modules that found nothing.
    pub(super) all: bool,
}

/// An output that is being written.
pub(super) enum Output<'o> {
    /// A table, with the place in the list of the search whose heading was written last.
    Table { out: &'o mut dyn Write, table: Table, headed: Option<u32> },
    /// The file of a list.
    List(BatchWriter<'o>),
    /// The report of one search. If it is a PDF, with the failure to write it: a browser may fail, which must not keep the
    /// other files from being written.
    Report { out: &'o mut dyn Write, format: report::Format, failure: Option<Failure> },
}

impl<'o> Output<'o> {
    /// Begins to write to standard output.
    pub(super) fn standard(
        out: &'o mut dyn Write,
        format: Format,
        what: &Written<'_>,
    ) -> Result<Self, Failure> {
        Self::begin(out, format, what, Table::of_output)
    }

    /// Begins to write to a file.
    pub(super) fn file(file: &'o mut OutputFile, what: &Written<'_>) -> Result<Self, Failure> {
        Self::begin(&mut file.file, file.format, what, Table::of_file)
    }

    fn begin(
        out: &'o mut dyn Write,
        format: Format,
        what: &Written<'_>,
        table: fn(bool) -> Table,
    ) -> Result<Self, Failure> {
        Ok(match format {
            Format::Table => Self::Table { out, table: table(what.all), headed: None },
            Format::Report(_) if what.is_list => {
                let format = format.of_batch().ok_or_else(|| Failure::Usage("one search only".to_owned()))?;
                Self::List(BatchWriter::begin(out, format, &batch_of(what.request))?)
            }
            Format::Report(format) => Self::Report { out, format, failure: None },
        })
    }

    /// Writes a result that was found. `row` is its search, if that is one of a list.
    pub(super) fn result(&mut self, row: Option<&Row>, result: &ResultRecord) -> Result<(), Failure> {
        if let Some(row) = row {
            self.head(row)?;
        }
        let Self::Table { out, table, .. } = self else { return Ok(()) };
        Ok(table.result(*out, result)?)
    }

    /// Writes the heading of a search of a list in a table, unless it was written last.
    fn head(&mut self, row: &Row) -> Result<(), Failure> {
        if let Self::Table { out, table, headed } = self
            && headed.replace(row.position) != Some(row.position)
        {
            table.heading(*out, &format!("{} {}", row.query.search_type(), plain(row.query.raw())))?;
        }
        Ok(())
    }

    /// Writes that a lead starts a search.
    pub(super) fn child(&mut self, search: &NextSearch) -> Result<(), Failure> {
        let Self::Table { out, table, .. } = self else { return Ok(()) };
        let (class, query) = (search.class.as_str(), plain(search.query.raw()));
        Ok(table.heading(*out, &format!("{class} lead to the {} {query}", search.query.search_type()))?)
    }

    /// Writes the end of a search, and of those that its leads have started.
    pub(super) fn ended(
        &mut self,
        run: &RunRecord,
        children: &[RunRecord],
        catalog: &Catalog,
        print: &Print<'_>,
    ) -> Result<(), Failure> {
        match self {
            Self::Table { out, table, .. } => {
                table.end(*out, run)?;
                for child in children {
                    let (kind, query) = (child.summary.search_type, plain(&child.summary.query));
                    table.heading(*out, &format!("{kind} {query}"))?;
                    table.end(*out, child)?;
                }
            }
            Self::Report { out, format: report::Format::Json, .. } if run.summary.follow.is_some() => {
                write_family(*out, run, children)?;
            }
            Self::Report { out, format, failure } => match format.write(*out, run, catalog, print) {
                Err(error) if *format == report::Format::Pdf => *failure = Some(error.into()),
                written => written?,
            },
            Self::List(_) => {}
        }
        Ok(())
    }

    /// Writes the end of a search of a list. There is no run for a query that is suppressed.
    pub(super) fn row(
        &mut self,
        request: &SearchRequest,
        row: &Row,
        run: Option<&RunRecord>,
    ) -> Result<(), Failure> {
        if run.is_some() {
            self.head(row)?;
        }
        match (self, run) {
            (Self::Table { out, table, .. }, Some(run)) => table.end(*out, run)?,
            (Self::List(list), run) => {
                let SearchRequest { premium, options, choice, .. } = request;
                let (premium, options, choice) = (*premium, *options, choice.clone());
                let search = Search { premium, options, choice, ..Search::plain(&row.query) };
                let state = run.map_or(RowState::Refused(RowRefusal::Suppressed), |run| {
                    RowState::Started(Box::new(run.summary.clone()))
                });
                list.search(&BatchRow { position: row.position, search, state }, run)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes what follows the last search.
    pub(super) fn end(self) -> Result<(), Failure> {
        match self {
            Self::Report { failure: Some(failure), .. } => Err(failure),
            Self::Table { out, .. } | Self::Report { out, .. } => Ok(out.flush()?),
            Self::List(list) => Ok(list.end()?),
        }
    }
}

/// Returns the batch as which a list is written. It has ended, because the document is complete when it is read.
fn batch_of(request: &SearchRequest) -> Batch {
    let now = jiff::Timestamp::now();
    Batch {
        id: BatchId::new(),
        account: AccountId::new(),
        name: None,
        simulated: request.engine.sandbox != SandboxMode::Off,
        created_at: now,
        stopped_at: None,
        ended_at: Some(now),
        lacks_credits: false,
        counts: Counts::default(),
        began_at: Some(now),
    }
}
