//! One row a result (RFC 4180). No cell runs in a spreadsheet: what would be taken for a formula begins with
//! `'` there (see [`cell`]), so a telephone number does too, and what would be one after a `;`.
//!
//! The metadata that most profiles have comes in columns of its own, of a result that lacks it empty; the
//! column `metadata` has all of it, as JSON. `sources` are the ids of the modules that found it.

use std::io::{self, Write};

use serde_json::Value;

use crate::base::clock::rfc3339_millis;
use crate::base::text::{cell, json, write_csv};
use crate::runs::entity::merge::SOURCES;
use crate::runs::run::ResultRecord;

/// Before the columns of [`METADATA`].
const BEFORE: [&str; 7] = ["id", "type", "platform", "value", "confidence", "source", "created_at"];
/// Column, and the metadata's member: those that a spreadsheet is sorted and looked through by.
const METADATA: [(&str, &str); 8] = [
    ("profile_url", "profile_url"),
    ("display_name", "display_name"),
    ("user_id", "user_id"),
    ("bio", "bio"),
    ("location", "location"),
    ("website", "website"),
    ("avatar_url", "avatar_url"),
    // Not when we found it: when it was made.
    ("since", "created_at"),
];
const AFTER: [&str; 2] = ["sources", "metadata"];

/// Writes the head and a row for each result.
///
/// # Errors
/// What `out` says.
pub fn write(out: &mut dyn Write, results: &[ResultRecord]) -> io::Result<()> {
    let head: Vec<&str> = BEFORE.into_iter().chain(METADATA.map(|(column, _)| column)).chain(AFTER).collect();
    write_csv(out, &head)?;
    results.iter().try_for_each(|result| write_csv(out, &row(result)?))
}

fn row(result: &ResultRecord) -> io::Result<Vec<String>> {
    let mut cells = vec![
        result.id.to_string(),
        cell(&result.result_type),
        cell(result.platform.as_deref().unwrap_or("")),
        cell(result.value.as_deref().unwrap_or("")),
        format!("{:.2}", result.confidence),
        cell(&result.source),
        rfc3339_millis(result.created_at),
    ];
    cells.extend(METADATA.map(|(_, member)| cell(&text_of(result.metadata.get(member)))));
    cells.push(cell(&sources_of(result)));
    cells.push(match result.metadata.is_empty() {
        true => String::new(),
        // It stays JSON: what `cell` would do to it after a `;` could not be undone.
        false => cell(&json(&serde_json::to_string(&result.metadata)?).replace(';', "\\u003b")),
    });
    Ok(cells)
}

/// A member as one cell: of a list the first, which is the one that a site shows first.
fn text_of(member: Option<&Value>) -> String {
    match member {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => text_of(items.first()),
        Some(other) => other.to_string(),
    }
}

/// The ids of the modules that found it, separated by spaces.
fn sources_of(result: &ResultRecord) -> String {
    let named = result.metadata.get(SOURCES).and_then(Value::as_array);
    let ids: Vec<&str> =
        named.into_iter().flatten().filter_map(|source| source.get("module")?.as_str()).collect();
    // Results of old versions name their first source alone.
    if ids.is_empty() { result.source.clone() } else { ids.join(" ") }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::ids::{AccountId, RunId};
    use crate::modules::query::SearchType;
    use crate::runs::record::RunRecord;
    use crate::runs::run::{Coverage, ModuleReport, Progress, RunSummary, Status};
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

    /// A completed run with these results, a hit, a miss, a block and a skip.
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
            simulated: false,
            total_results: 2,
            revision: 1,
            progress: Progress { modules_total: 4, modules_completed: 4, modules_with_hits: 1 },
            coverage,
            credits_charged: 0,
            created_at: now,
            completed_at: Some(now),
            error: None,
        };
        RunRecord { summary, results, modules, as_of: now }
    }

    #[test]
    fn cells_are_quoted_and_neutralised_and_lose_nothing() {
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
