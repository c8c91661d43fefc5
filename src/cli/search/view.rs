//! The formats of results: a table for people, and the same files as a server's reports. Text of sites is
//! escaped for terminals and spreadsheets.

use std::io::Write;

use clap::ValueEnum;

use crate::base::text::{line, padded, plain};
use crate::cli::exit::Failure;
use crate::report;
use crate::runs::family::plan::NextSearch;
use crate::runs::record::RunRecord;
use crate::runs::run::ResultRecord;

/// Widths of the columns before the value. They are fixed because rows are written before the last result is
/// known.
const TYPE_WIDTH: usize = 12;
const PLATFORM_WIDTH: usize = 24;

/// The format of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people, row by row
    Table,
    /// The run and how each module ended, at the end
    Json,
    /// One result on each line, at the end
    Ndjson,
    /// One row for each result, with a header, at the end
    Csv,
    /// One HTML page to read, print or keep, at the end
    Html,
}

/// Writes results as they are found (the table), or at the end.
pub(super) struct View {
    format: Format,
    has_head: bool,
}

impl Format {
    /// Returns whether the format can hold several searches.
    pub(super) fn takes_families(self) -> bool {
        matches!(self, Self::Table | Self::Json)
    }
}

impl View {
    pub(super) fn new(format: Format) -> Self {
        Self { format, has_head: false }
    }

    /// Writes a result of the table and flushes it, with its first source. The other formats write each
    /// result once, at the end, when no source can be added any more.
    pub(super) fn result(&mut self, out: &mut dyn Write, result: &ResultRecord) -> Result<(), Failure> {
        if self.format != Format::Table {
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
        if self.format != Format::Table {
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
    ) -> Result<(), Failure> {
        if self.format == Format::Json && run.summary.follow.is_some() {
            return Ok(report::write_family(out, run, children)?);
        }
        let format = match self.format {
            Format::Table => return Ok(()),
            Format::Json => report::Format::Json,
            Format::Ndjson => report::Format::Ndjson,
            Format::Csv => report::Format::Csv,
            Format::Html => report::Format::Html,
        };
        Ok(format.write(out, run)?)
    }
}

fn columns(confidence: &str, kind: &str, platform: &str, value: &str) -> String {
    let (kind, platform) = (padded(kind, TYPE_WIDTH), padded(platform, PLATFORM_WIDTH));
    format!("{confidence:<4}  {kind}  {platform}  {}", line(value)).trim_end().to_owned()
}

fn table_line(result: &ResultRecord) -> String {
    let value = result.value.as_deref().unwrap_or("-");
    // The page that a person wants to open, if it is not the value itself.
    let link =
        result.metadata.get("profile_url").and_then(|link| link.as_str()).filter(|link| *link != value);
    let shown = match link {
        Some(link) => format!("{value}  {link}"),
        None => value.to_owned(),
    };
    columns(
        &format!("{:.2}", result.confidence),
        &result.result_type,
        result.platform.as_deref().unwrap_or("-"),
        &shown,
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
        let mut view = View::new(format);
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
             0.90  profile       Git\u{fffd}Hub                   =HYPERLINK(1)\n\
             0.90  profile       Git\u{fffd}Hub                   octocat\n"
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
        assert!(table_line(&result).ends_with(" octocat  https://example.org/octocat"));
        result.value = Some("https://example.org/octocat".into());
        assert_eq!(table_line(&result).matches("https://").count(), 1);
    }
}
