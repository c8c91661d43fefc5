//! The forms in which results are written: a table for people, and the files that the server gives too.
//! What sites say reaches no terminal and no spreadsheet as it is.

use std::io::Write;

use super::Format;
use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::report;
use crate::runs::record::RunRecord;
use crate::runs::run::ResultRecord;

/// Widths of the columns that come before the value: results are written before the last one is known.
const TYPE_WIDTH: usize = 12;
const PLATFORM_WIDTH: usize = 24;

/// Writes results as they come (the table), or at the end.
pub(super) struct View {
    format: Format,
    has_head: bool,
}

impl View {
    pub(super) fn new(format: Format) -> Self {
        Self { format, has_head: false }
    }

    /// One result, as its first source has it: for people, and flushed at once. Programs get results whole,
    /// each once, when no source can join them any more.
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

    /// After the last result.
    pub(super) fn finish(&self, out: &mut dyn Write, run: &RunRecord) -> Result<(), Failure> {
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
    let line = format!("{confidence:<4}  {kind:<TYPE_WIDTH$}  {platform:<PLATFORM_WIDTH$}  {value}");
    line.trim_end().to_owned()
}

fn table_line(result: &ResultRecord) -> String {
    let value = result.value.as_deref().unwrap_or("-");
    // What a person wants to open, where it is not the value itself.
    let link =
        result.metadata.get("profile_url").and_then(|link| link.as_str()).filter(|link| *link != value);
    let shown = match link {
        Some(link) => format!("{value}  {link}"),
        None => value.to_owned(),
    };
    columns(
        &format!("{:.2}", result.confidence),
        &plain(&result.result_type),
        &plain(result.platform.as_deref().unwrap_or("-")),
        &plain(&shown),
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

    /// What is written as results come in.
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
