//! The output of searches: standard output and files, each in a format. The table has a row for each result as it is found;
//! the other formats are written when a search has ended, since a result may get further sources until then.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::queries::Row;
use super::table::Table;
use crate::app::SearchEvent;
use crate::base::encoding::gunzip;
use crate::base::ids::BatchId;
use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::cli::files::{Replacement, cannot_write};
use crate::model::batch::BatchStatus;
use crate::model::entity::merge;
use crate::modules::near::did_you_mean;
use crate::report::batch::{BatchReport, BatchSearchReport, BatchWriter};
use crate::report::{self, write_family};
use crate::runs::family::plan::NextSearch;
use crate::runs::record::RunRecord;
use crate::runs::service::Runs;

/// The format of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// The table for people.
    Table,
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
                "--output {shown}: the suffix names the format: expected {allowed}{meant}"
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
            Self::Report(format) => report::Format::OF_BATCHES.contains(&format),
        }
    }

    /// Returns the start of a file in this format. Other outputs have no mark: a program would take it for a part of the
    /// first column's name.
    pub(super) fn mark(self) -> &'static [u8] {
        if let Self::Report(format) = self { format.mark() } else { b"" }
    }

    pub(super) fn is_pdf(self) -> bool {
        self == Self::Report(report::Format::Pdf)
    }
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
    /// The folder of the answers that are kept as evidence.
    Evidence(PathBuf),
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
            // A single search is the first one, and needs no heading.
            Format::Table => Self::Table { out, table, headed: (!is_list).then_some(1) },
            Format::Report(format) if is_list => {
                // The document is complete when it is read.
                let (batch_id, status) = (BatchId::new(), BatchStatus::Completed);
                let head = BatchReport { batch_id, name: None, status, searches: Vec::new() };
                Self::List(BatchWriter::begin(out, format, &head)?)
            }
            Format::Report(format) => Self::Report { out, format, failure: None },
        })
    }

    /// Writes what happens during the search of `row`.
    pub(super) fn note(&mut self, row: &Row, event: SearchEvent<'_>) -> Result<(), Failure> {
        let (kind, query) = (row.query.search_type(), row.query.raw());
        let listed =
            |status, run| BatchSearchReport { row: row.position, search_type: kind, query, status, run };
        match (self, event) {
            (Self::Table { .. }, SearchEvent::Progress(_) | SearchEvent::Suppressed) => {}
            (Self::Table { out, table, headed }, event) => {
                if headed.replace(row.position) != Some(row.position) {
                    table.heading(*out, &format!("{kind} {}", plain(query)))?;
                }
                note_in_table(*out, table, event)?;
            }
            (Self::List(list), SearchEvent::Ended(runs, _)) => {
                list.search(&listed(runs[0].summary.status.as_str(), Some(&runs[0])))?;
            }
            (Self::List(list), SearchEvent::Suppressed) => {
                list.search(&listed("refused", None))?;
            }
            (Self::Report { out, format: report::Format::Json, .. }, SearchEvent::Ended(runs, _))
                if runs[0].summary.follow.is_some() =>
            {
                write_family(*out, &runs[0], &runs[1..])?;
            }
            (Self::Evidence(folder), SearchEvent::Ended(runs, engine)) => {
                runs.iter().try_for_each(|run| write_evidence(folder, run, engine))?;
            }
            (Self::Report { out, format, failure }, SearchEvent::Ended(runs, engine)) => {
                let print = |page: &str| engine.print(page);
                match format.write(*out, &runs[0], &engine.catalog(), print) {
                    Err(error) if *format == report::Format::Pdf => *failure = Some(error.into()),
                    written => written?,
                }
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
            Self::Evidence(_) => Ok(()),
        }
    }
}

/// Writes the answers that a run has kept into a folder. The name of each has its hash, so equal answers are one file.
fn write_evidence(folder: &Path, run: &RunRecord, engine: &Runs) -> Result<(), Failure> {
    for (module, kept) in run.results.iter().flat_map(merge::evidence) {
        let path = folder.join(format!("{module}-{}.txt", kept.sha256));
        let Some(answer) = engine.evidence(run.summary.id, &kept.sha256)? else { continue };
        let mut file = Replacement::begin_private(&path)?;
        file.write_all(&gunzip(&answer)?).map_err(|error| cannot_write(&path, &error))?;
        file.finish()?;
    }
    Ok(())
}

fn note_in_table(out: &mut dyn Write, table: &mut Table, event: SearchEvent<'_>) -> io::Result<()> {
    match event {
        SearchEvent::Result(result) => table.result(out, result),
        SearchEvent::Child(NextSearch { member, query, .. }) => {
            let (class, kind, query) = (member.class.as_str(), query.search_type(), plain(query.raw()));
            table.heading(out, &format!("{class} lead to the {kind} {query}"))
        }
        SearchEvent::Ended(runs, _) => runs.iter().try_for_each(|run| {
            if run.summary.family.is_some() {
                let (kind, query) = (run.summary.search_type, plain(&run.summary.query));
                table.heading(out, &format!("{kind} {query}"))?;
            }
            table.end(out, run)
        }),
        SearchEvent::Progress(_) | SearchEvent::Suppressed => Ok(()),
    }
}
