//! The forms in which results are written. What sites say reaches no terminal and no spreadsheet as it is.

use std::io::Write;

use super::Format;
use crate::api::wire::run::RunBody;
use crate::cli::exit::Failure;
use crate::cli::text::{cell, json, plain, write_csv, write_json};
use crate::runs::run::{ResultRecord, RunSummary};

/// Widths of the columns that come before the value: results are written before the last one is known.
const TYPE_WIDTH: usize = 12;
const PLATFORM_WIDTH: usize = 24;

const CSV_HEAD: [&str; 8] =
    ["id", "type", "platform", "value", "confidence", "source", "created_at", "metadata"];

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
        self.head(out)?;
        writeln!(out, "{}", table_line(result))?;
        Ok(out.flush()?)
    }

    /// After the last result.
    pub(super) fn finish(
        &mut self,
        out: &mut dyn Write,
        run: &RunSummary,
        results: &[ResultRecord],
    ) -> Result<(), Failure> {
        match self.format {
            Format::Table => {}
            Format::Json => {
                write_json(out, &RunBody { head: run.into(), results: results.iter().collect() })?;
            }
            Format::Ndjson => {
                for result in results {
                    writeln!(out, "{}", json(&serde_json::to_string(result)?))?;
                }
            }
            Format::Csv => {
                self.head(out)?;
                for result in results {
                    write_csv(out, &csv_row(result)?)?;
                }
            }
        }
        Ok(())
    }

    fn head(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.has_head {
            return Ok(());
        }
        self.has_head = true;
        match self.format {
            Format::Table => writeln!(out, "{}", columns("CONF", "TYPE", "PLATFORM", "VALUE"))?,
            Format::Csv => write_csv(out, &CSV_HEAD)?,
            Format::Json | Format::Ndjson => {}
        }
        Ok(())
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

fn csv_row(result: &ResultRecord) -> Result<[String; 8], Failure> {
    Ok([
        result.id.to_string(),
        cell(&result.result_type),
        cell(result.platform.as_deref().unwrap_or("")),
        cell(result.value.as_deref().unwrap_or("")),
        format!("{:.2}", result.confidence),
        cell(&result.source),
        crate::base::clock::rfc3339_millis(result.created_at),
        if result.metadata.is_empty() {
            String::new()
        } else {
            cell(&json(&serde_json::to_string(&result.metadata)?))
        },
    ])
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

    fn shown(format: Format) -> String {
        let mut out = Vec::new();
        let mut view = View::new(format);
        let results = [result(1, "=HYPERLINK(1)\n"), result(2, "octocat")];
        for result in &results {
            view.result(&mut out, result).unwrap();
        }
        // Programs get nothing before the end, people nothing at the end.
        assert_eq!(out.is_empty(), format != Format::Table);
        view.finish(&mut out, &ended(), &results).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn ended() -> RunSummary {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        RunSummary {
            id: crate::base::ids::RunId::new(),
            account: crate::base::ids::AccountId::new(),
            status: crate::runs::run::Status::Completed,
            search_type: crate::modules::query::SearchType::Username,
            query: "octocat".into(),
            premium: false,
            simulated: false,
            total_results: 2,
            revision: 1,
            progress: crate::runs::run::Progress::default(),
            coverage: crate::runs::run::Coverage::default(),
            credits_charged: 0,
            created_at: now,
            completed_at: Some(now),
            error: None,
        }
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
    fn the_table_shows_the_page_to_open() {
        let mut result = result(1, "octocat");
        result.metadata.insert("profile_url".into(), "https://example.org/octocat".into());
        assert!(table_line(&result).ends_with(" octocat  https://example.org/octocat"));
        result.value = Some("https://example.org/octocat".into());
        assert_eq!(table_line(&result).matches("https://").count(), 1);
    }

    #[test]
    fn csv_cells_are_quoted_and_neutralised() {
        let shown = shown(Format::Csv);
        assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{shown:?}");
        let mut rows = csv::Reader::from_reader(shown.as_bytes());
        assert_eq!(rows.headers().unwrap().iter().collect::<Vec<_>>(), CSV_HEAD);
        let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
        assert_eq!((rows.len(), &rows[0][3], &rows[1][3]), (2, "'=HYPERLINK(1) ", "octocat"));
        let metadata: serde_json::Value = serde_json::from_str(&rows[0][7]).unwrap();
        assert_eq!(metadata["bio"], "=cmd()\u{9b}");
    }

    #[test]
    fn ndjson_is_one_result_a_line_and_means_the_same() {
        let shown = shown(Format::Ndjson);
        assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{shown:?}");
        let back: Vec<ResultRecord> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(back, [result(1, "=HYPERLINK(1)\n"), result(2, "octocat")]);
    }

    #[test]
    fn json_is_one_whole_run() {
        let run: serde_json::Value = serde_json::from_str(&shown(Format::Json)).unwrap();
        assert_eq!((&run["query"], run["results"].as_array().unwrap().len()), (&json!("octocat"), 2));
    }
}
