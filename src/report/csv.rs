//! CSV with one row for each result (RFC 4180). A cell that a spreadsheet would run as a formula, also after
//! a `;`, starts with `'`: see [`cell`]. This also applies to telephone numbers that start with `+`.
//!
//! Metadata that most profiles have are separate columns, empty for a result without them. The column
//! `metadata` contains all metadata as JSON. `sources` lists the ids of the modules that found the result.
//! `note` and `verdict` are what the owner of the run has noted.

use std::io::{self, Write};

use serde_json::Value;

use crate::base::clock::rfc3339_millis;
use crate::base::text::{cell, json, write_csv};
use crate::model::entity::merge;
use crate::model::run::ResultRecord;

/// The name of a column, and its cell of a result.
type Column = (&'static str, fn(&ResultRecord) -> String);
const COLUMNS: [Column; 19] = [
    ("id", |it| it.id.to_string()),
    ("type", |it| it.result_type.clone()),
    ("platform", |it| it.platform.clone().unwrap_or_default()),
    ("value", |it| it.value.clone().unwrap_or_default()),
    ("confidence", |it| format!("{:.2}", it.confidence)),
    ("source", |it| it.source.clone()),
    ("created_at", |it| rfc3339_millis(it.created_at)),
    // Metadata that are useful for sorting or filtering.
    ("profile_url", |it| text_of(it.metadata.get("profile_url"))),
    ("display_name", |it| text_of(it.metadata.get("display_name"))),
    ("user_id", |it| text_of(it.metadata.get("user_id"))),
    ("bio", |it| text_of(it.metadata.get("bio"))),
    ("location", |it| text_of(it.metadata.get("location"))),
    ("website", |it| text_of(it.metadata.get("website"))),
    ("avatar_url", |it| text_of(it.metadata.get("avatar_url"))),
    // The time at which the profile was created. The column `created_at` is that at which the result was found.
    ("since", |it| text_of(it.metadata.get("created_at"))),
    ("sources", |it| merge::modules(it).join(" ")),
    ("metadata", metadata),
    ("note", |it| it.note().unwrap_or_default().to_owned()),
    ("verdict", |it| it.verdict().map_or_else(String::new, |it| it.to_string())),
];

/// Writes the header and a row for each result.
///
/// # Errors
/// Returns the errors of `out`.
pub fn write(out: &mut dyn Write, results: &[ResultRecord]) -> io::Result<()> {
    write_csv(out, &columns().collect::<Vec<&str>>())?;
    results.iter().try_for_each(|result| write_csv(out, &row(result).collect::<Vec<_>>()))
}

/// Returns the names of the columns.
pub(super) fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|(name, _)| *name)
}

/// Returns the cells of a result.
pub(super) fn row(result: &ResultRecord) -> impl Iterator<Item = String> {
    COLUMNS.iter().map(|(_, of)| cell(&of(result)))
}

/// Returns all metadata as JSON.
fn metadata(result: &ResultRecord) -> String {
    if result.metadata.is_empty() {
        return String::new();
    }
    // The text is escaped inside the JSON. An apostrophe after the `;`, which `cell` would add, would make the JSON
    // invalid. It has a form, because its names are texts.
    json(&serde_json::to_string(&result.metadata).unwrap_or_default()).replace(';', "\\u003b")
}

/// Returns a member as the text of one cell. For a list it is the first item, which the site shows first.
fn text_of(member: Option<&Value>) -> String {
    match member {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => text_of(items.first()),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::base::ids::{AccountId, RunId};
    use crate::model::coverage::Coverage;
    use crate::model::notes::RunNotes;
    use crate::model::run::RunOptions;
    use crate::model::run::Thumbnails;
    use crate::model::run::{ModuleReport, Progress, RunSummary, Status};
    use crate::modules::query::SearchType;
    use crate::runs::record::RunRecord;
    use serde_json::json;

    pub(crate) fn result(id: u32, value: &str) -> ResultRecord {
        serde_json::from_value(json!({
            "id": id, "type": "profile", "entity_type": "profile", "platform": "Git\u{1b}Hub", "value": value,
            "confidence": 0.9, "source": "github",
            "metadata": {
                "bio": "=cmd()\u{9b}\r\nline;=cmd()", "created_at": "2011-01-25T18:44:36Z", "user_id": 583_231,
                "website": ["https://a.example/?q=\"1,2\"", "second"], "profile_url": "javascript:alert(1)",
                "sources": [{"module": "github", "platform": "GitHub", "confidence": 0.9},
                            {"module": "gists", "platform": "Gists", "confidence": 0.5}],
            },
            "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    fn module(id: &str, outcome: &str, reason: Option<&str>) -> ModuleReport {
        serde_json::from_value(json!({
            "module": id, "platform": format!("{id} <b>&"), "status": outcome, "reason": reason,
            "http_status": 200, "elapsed_ms": 12,
        }))
        .unwrap()
    }

    /// Returns a completed run with these results, a hit, a miss, a block and a skip.
    pub(crate) fn run(results: Vec<ResultRecord>) -> RunRecord {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let modules = vec![
            module("github", "hit", None),
            module("walled", "blocked", Some("captcha")),
            module("quiet", "miss", None),
            module("keyed", "skipped", Some("needs_key")),
        ];
        let coverage = Coverage::of(modules.iter().map(|module| module.status));
        let summary = RunSummary {
            id: RunId::new(),
            account: AccountId::new(),
            status: Status::Completed,
            search_type: SearchType::Username,
            query: "octocat".into(),
            premium: false,
            options: RunOptions::default(),
            choice: None,
            follow: None,
            family: None,
            watch: None,
            batch: None,
            retry_of: None,
            simulated: false,
            total_results: 2,
            revision: 1,
            progress: Progress { modules_total: 4, modules_completed: 4, modules_with_hits: 1 },
            coverage,
            credits_charged: 0,
            created_at: now,
            completed_at: Some(now),
            stopped_at: None,
            error: None,
            queue_position: None,
            notes: RunNotes::default(),
        };
        let thumbnails = Thumbnails::new();
        RunRecord { summary, results, modules, lookups: Vec::new(), follow: None, as_of: now, thumbnails }
    }

    #[test]
    fn cells_are_quoted_and_formulas_neutralised() {
        let mut out = Vec::new();
        write(&mut out, &[result(1, "=HYPERLINK(1)\n"), result(2, "octocat")]).unwrap();
        let shown = String::from_utf8(out).unwrap();
        assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{shown:?}");
        assert_eq!(shown.matches("\r\n").count(), 3, "{shown:?}");
        let mut rows = ::csv::Reader::from_reader(shown.as_bytes());
        let head: Vec<String> = rows.headers().unwrap().iter().map(str::to_owned).collect();
        let rows: Vec<::csv::StringRecord> = rows.records().map(Result::unwrap).collect();
        let of = |row: usize, column: &str| {
            rows[row].get(head.iter().position(|name| name == column).unwrap()).unwrap()
        };
        for (column, want) in [
            ("id", "1"),
            ("platform", "Git\u{fffd}Hub"),
            ("value", "'=HYPERLINK(1) "),
            ("confidence", "0.90"),
            ("created_at", "2026-01-01T00:00:00.000Z"),
            ("bio", "'=cmd()\u{fffd}  line;'=cmd()"),
            ("user_id", "583231"),
            ("website", "https://a.example/?q=\"1,2\""),
            ("location", ""),
            ("since", "2011-01-25T18:44:36Z"),
            ("sources", "github gists"),
        ] {
            assert_eq!(of(0, column), want, "{column}");
        }
        assert_eq!(of(1, "value"), "octocat");
        assert!(!of(0, "metadata").contains(';'));
        let metadata: Value = serde_json::from_str(of(0, "metadata")).unwrap();
        assert_eq!(metadata, Value::Object(result(1, "").metadata));
    }
}
