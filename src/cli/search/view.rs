//! The formats of results: a table for people, and the same files as a server's reports. Text of sites is
//! escaped for terminals and spreadsheets.

use std::io::Write;

use clap::ValueEnum;

use super::row::{about, page_of, with_reason, without_hits};
use super::terminal::Terminal;
use crate::base::text::{line, padded, plain};
use crate::cli::exit::Failure;
use crate::model::run::ResultRecord;
use crate::modules::catalog::Catalog;
use crate::modules::probe::ProbeError;
use crate::report;
use crate::runs::family::plan::NextSearch;
use crate::runs::record::RunRecord;

/// Widths of the columns before the value. They are fixed because rows are written before the last result is
/// known.
const TYPE_WIDTH: usize = 12;
const PLATFORM_WIDTH: usize = 24;

/// The format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people: in a terminal by category, else row by row
    Table,
    /// The run and how each module ended, at the end
    Json,
    /// One result on each line, at the end
    Ndjson,
    /// One row for each result, with a header, at the end
    Csv,
    /// One HTML page to read, print or keep, at the end
    Html,
    /// The page as a browser prints it, at the end (needs --browser)
    Pdf,
    /// Markdown, for notes and language models, at the end
    Md,
    /// The graph as GraphML, for Gephi, yEd and Neo4j, at the end
    Graphml,
    /// The graph as a STIX 2.1 bundle, at the end
    Stix,
}

/// Prints a page as a PDF.
pub(super) type Print<'p> = dyn Fn(&str) -> Result<Vec<u8>, ProbeError> + 'p;

/// Writes results as they are found (the table, if the output is no terminal), or at the end.
pub(super) struct View {
    format: Format,
    /// The terminal, if that is the output.
    terminal: Option<Terminal>,
    /// Whether the table lists the modules that found nothing.
    all: bool,
    has_head: bool,
}

impl Format {
    /// The suffixes of files.
    pub(super) const SUFFIXES: [(&'static str, Self); 9] = [
        ("html", Self::Html),
        ("json", Self::Json),
        ("ndjson", Self::Ndjson),
        ("csv", Self::Csv),
        ("pdf", Self::Pdf),
        ("md", Self::Md),
        ("graphml", Self::Graphml),
        ("stix", Self::Stix),
        ("txt", Self::Table),
    ];

    /// Returns the format of a file with this suffix.
    pub(super) fn of_suffix(suffix: &str) -> Option<Self> {
        let suffix = suffix.to_lowercase();
        Self::SUFFIXES.into_iter().find(|(known, _)| *known == suffix).map(|(_, format)| format)
    }

    /// Returns whether the format can hold a search and those that its leads have started.
    pub(super) fn takes_families(self) -> bool {
        matches!(self, Self::Table | Self::Json)
    }

    /// Returns whether the format can hold the searches of a list.
    pub(super) fn takes_lists(self) -> bool {
        matches!(self, Self::Table | Self::Json | Self::Ndjson | Self::Csv)
    }
}

impl View {
    /// Creates a view of standard output.
    pub(super) fn new(format: Format, all: bool) -> Self {
        let terminal = (format == Format::Table).then(Terminal::of_output).flatten();
        Self { format, terminal, all, has_head: false }
    }

    /// Creates a view of a file.
    pub(super) fn of_file(format: Format, all: bool) -> Self {
        Self { format, terminal: None, all, has_head: false }
    }

    /// Writes a result of the table and flushes it, with its first source. The other formats write each
    /// result once, at the end, when no source can be added any more.
    pub(super) fn result(&mut self, out: &mut dyn Write, result: &ResultRecord) -> Result<(), Failure> {
        if self.format != Format::Table || self.terminal.is_some() {
            return Ok(());
        }
        if !self.has_head {
            self.has_head = true;
            writeln!(out, "{}", columns("CONF", "TYPE", "PLATFORM", "VALUE"))?;
        }
        writeln!(out, "{}", table_line(result))?;
        Ok(out.flush()?)
    }

    /// Writes a line of the table about the search that a lead starts.
    pub(super) fn child(&mut self, out: &mut dyn Write, search: &NextSearch) -> Result<(), Failure> {
        if self.format != Format::Table || self.terminal.is_some() {
            return Ok(());
        }
        self.has_head = false;
        let (class, query) = (search.class.as_str(), plain(search.query.raw()));
        writeln!(out, "\n{} lead to the {} {query}", class, search.query.search_type())?;
        Ok(out.flush()?)
    }

    /// Writes the rest after the last result. `children` are the searches that leads have started.
    pub(super) fn finish(
        &self,
        out: &mut dyn Write,
        run: &RunRecord,
        children: &[RunRecord],
        catalog: &Catalog,
        print: &Print<'_>,
    ) -> Result<(), Failure> {
        if self.format == Format::Json && run.summary.follow.is_some() {
            return Ok(report::write_family(out, run, children)?);
        }
        let format = match self.format {
            Format::Table => return self.finish_table(out, run, children, catalog),
            Format::Json => report::Format::Json,
            Format::Ndjson => report::Format::Ndjson,
            Format::Csv => report::Format::Csv,
            Format::Html => report::Format::Html,
            Format::Pdf => report::Format::Pdf,
            Format::Md => report::Format::Md,
            Format::Graphml => report::Format::Graphml,
            Format::Stix => report::Format::Stix,
        };
        Ok(format.write(out, run, catalog, print)?)
    }

    /// Writes the rest of the table after the last result.
    pub(super) fn finish_table(
        &self,
        out: &mut dyn Write,
        run: &RunRecord,
        children: &[RunRecord],
        catalog: &Catalog,
    ) -> Result<(), Failure> {
        let Some(terminal) = self.terminal else {
            let others = without_hits(run).into_iter().filter(|_| self.all);
            for (outcome, modules) in others {
                for module in modules {
                    writeln!(out, "{}", columns("-", outcome.as_str(), &with_reason(module), "-"))?;
                }
            }
            return Ok(());
        };
        terminal.write(out, run, catalog, self.all)?;
        for child in children {
            let (kind, query) = (child.summary.search_type, plain(&child.summary.query));
            writeln!(out, "\n{kind} {query}\n")?;
            terminal.write(out, child, catalog, self.all)?;
        }
        Ok(())
    }

    /// Returns whether results are shown at the end, in a terminal.
    pub(super) fn is_of_terminal(&self) -> bool {
        self.terminal.is_some()
    }

    /// Writes the head again before the next result.
    pub(super) fn begin_again(&mut self) {
        self.has_head = false;
    }

    /// Writes the table of a run that has ended.
    pub(super) fn table(
        &mut self,
        out: &mut dyn Write,
        run: &RunRecord,
        catalog: &Catalog,
    ) -> Result<(), Failure> {
        run.results.iter().try_for_each(|result| self.result(out, result))?;
        self.finish_table(out, run, &[], catalog)
    }
}

fn columns(confidence: &str, kind: &str, platform: &str, value: &str) -> String {
    let (kind, platform) = (padded(kind, TYPE_WIDTH), padded(platform, PLATFORM_WIDTH));
    format!("{confidence:<4}  {kind}  {platform}  {}", line(value)).trim_end().to_owned()
}

fn table_line(result: &ResultRecord) -> String {
    let value = result.value.as_deref().unwrap_or("-");
    let about = about(result);
    let parts = [Some(value), Some(about.as_str()).filter(|about| !about.is_empty()), page_of(result)];
    columns(
        &format!("{:.2}", result.confidence),
        &result.result_type,
        result.platform.as_deref().unwrap_or("-"),
        &parts.into_iter().flatten().collect::<Vec<_>>().join("  "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(id: u32, value: &str) -> ResultRecord {
        serde_json::from_value(json!({
            "id": id, "type": "profile", "entity_type": "profile", "platform": "Git\u{1b}Hub", "value": value,
            "confidence": 0.9, "source": "github", "metadata": {"bio": "=cmd()\u{9b}"},
            "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    /// Returns the text that is written as results are found.
    fn shown(format: Format) -> String {
        let mut out = Vec::new();
        let mut view = View::of_file(format, false);
        for result in [result(1, "=HYPERLINK(1)\n"), result(2, "octocat")] {
            view.result(&mut out, &result).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_has_a_head_and_a_line_each() {
        assert_eq!(
            shown(Format::Table),
            "CONF  TYPE          PLATFORM                  VALUE\n\
             0.90  profile       Git\u{fffd}Hub                   =HYPERLINK(1)   =cmd()\u{fffd}\n\
             0.90  profile       Git\u{fffd}Hub                   octocat  =cmd()\u{fffd}\n"
        );
    }

    #[test]
    fn text_from_sites_stays_in_its_cell() {
        let mut result = result(1, &format!("o{}ctocat", "\u{0301}".repeat(500)));
        result.platform = Some("名前\u{202e}".to_owned());
        let shown = table_line(&result);
        let value = shown.find("o\u{0301}").unwrap();
        assert_eq!(crate::base::text::columns(&shown[..value]), 4 + 2 + TYPE_WIDTH + 2 + PLATFORM_WIDTH + 2);
        assert_eq!(shown.matches('\u{0301}').count(), 4);
        assert!(!shown.contains('\u{202e}'));
    }

    #[test]
    fn programs_get_nothing_before_the_end() {
        for format in [Format::Json, Format::Ndjson, Format::Csv, Format::Html] {
            assert_eq!(shown(format), "", "{format:?}");
        }
    }

    #[test]
    fn the_table_shows_the_page_to_open() {
        let mut result = result(1, "octocat");
        result.metadata.insert("profile_url".into(), "https://example.org/octocat".into());
        assert!(table_line(&result).ends_with(" octocat  =cmd()\u{fffd}  https://example.org/octocat"));
        result.value = Some("https://example.org/octocat".into());
        assert_eq!(table_line(&result).matches("https://").count(), 1);
    }
}
