//! The output of searches: standard output and files, each in a format. The table has a row for each result as it is found;
//! the other formats are written when a search has ended, since a result may get further sources until then.

use std::io::Write;
use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::queries::Row;
use super::table::Table;
use crate::base::ids::BatchId;
use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::model::batch::BatchStatus;
use crate::model::run::ResultRecord;
use crate::modules::catalog::Catalog;
use crate::modules::near::did_you_mean;
use crate::modules::probe::ProbeError;
use crate::report::batch::{BatchReport, BatchSearchReport, BatchWriter};
use crate::report::{self, write_family};
use crate::runs::family::plan::NextSearch;
use crate::runs::record::RunRecord;

/// The format of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// The table for people.
    Table,
    /// A report.
    Report(report::Format),
}

impl Format {
    /// Returns the parser of a format's name.
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        let names = ["table"].into_iter().chain(report::Format::ALL.map(report::Format::as_str));
        PossibleValuesParser::new(names)
            .map(|name| report::Format::from_name(&name).map_or(Self::Table, Self::Report))
    }

    /// Returns the format of a file whose suffix names it.
    ///
    /// # Errors
    /// Fails if the suffix is unknown.
    pub(super) fn of_file(path: &Path) -> Result<Self, Failure> {
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default().to_lowercase();
        if suffix == "txt" {
            return Ok(Self::Table);
        }
        report::Format::from_name(&suffix).map(Self::Report).ok_or_else(|| {
            let known = || report::Format::ALL.map(report::Format::as_str).into_iter().chain(["txt"]);
            let (allowed, meant) =
                (known().collect::<Vec<_>>().join(", "), did_you_mean([suffix.as_str()], known));
            let shown = plain(&path.display().to_string()).into_owned();
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
        match self {
            Self::Table => true,
            Self::Report(format) => report::Format::OF_BATCHES.contains(&format.as_str()),
        }
    }

    pub(super) fn is_pdf(self) -> bool {
        self == Self::Report(report::Format::Pdf)
    }
}

/// Prints a page as a PDF.
pub(super) type Print<'p> = dyn Fn(&str) -> Result<Vec<u8>, ProbeError> + 'p;

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
    /// Begins to write the search, or the searches of a list: `table` if the format is that of tables.
    pub(super) fn begin(
        out: &'o mut dyn Write,
        format: Format,
        is_list: bool,
        table: Table,
    ) -> Result<Self, Failure> {
        Ok(match format {
            Format::Table => Self::Table { out, table, headed: None },
            Format::Report(format) if is_list => {
                // The document is complete when it is read.
                let (batch_id, status) = (BatchId::new(), BatchStatus::Completed);
                let head = BatchReport { batch_id, name: None, status, searches: Vec::new() };
                Self::List(BatchWriter::begin(out, format, &head)?)
            }
            Format::Report(format) => Self::Report { out, format, failure: None },
        })
    }

    /// Writes a result that was found. `row` is its search, if that is one of a list.
    pub(super) fn result(&mut self, row: Option<&Row>, result: &ResultRecord) -> Result<(), Failure> {
        row.map_or(Ok(()), |row| self.head(row))?;
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
        let (class, query) = (search.member.class.as_str(), plain(search.query.raw()));
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
    pub(super) fn row(&mut self, row: &Row, run: Option<&RunRecord>) -> Result<(), Failure> {
        if run.is_some() {
            self.head(row)?;
        }
        match (self, run) {
            (Self::Table { out, table, .. }, Some(run)) => table.end(*out, run)?,
            (Self::List(list), run) => {
                let status = run.map_or("refused", |run| run.summary.status.as_str());
                let (query, search_type) = (row.query.raw(), row.query.search_type());
                let row = row.position;
                list.search(&BatchSearchReport { row, search_type, query, status, run })?;
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
