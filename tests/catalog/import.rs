//! Lists of other tools: each entry is imported, or left out with a reason.

use std::path::PathBuf;

use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;
use sightline::modules::import::report::{ListReport, NoteKind};
use sightline::modules::import::take_over;

use crate::checks::cases::play;
use crate::support::modules::with;

mod bad_input;
mod command;
mod loading;

#[test]
fn imported_entries_ask_and_judge_as_their_tools_do() {
    assert!(play(include_str!("imported.txt")) > 100);
}

/// Returns a list of that tool without entries.
pub(crate) fn empty(tool: &str) -> Value {
    match tool {
        "sherlock" => json!({"$schema": "x"}),
        "maigret" => json!({"sites": {}, "engines": {}, "tags": ["forum"]}),
        "whatsmyname" => json!({"license": [], "authors": [], "categories": ["misc"], "sites": []}),
        other => panic!("{other}"),
    }
}

/// Adds a sample entry with these changes to a list, or another value.
pub(crate) fn add(list: &mut Value, name: &str, changes: &Value) {
    let sample = match &list["sites"] {
        Value::Array(_) => json!({
            "name": name, "uri_check": "http://site.example/u/{account}", "cat": "social", "e_code": 200,
            "e_string": "member since", "m_code": 404, "m_string": "nobody here", "known": ["ann", "ben"],
        }),
        Value::Object(_) => json!({
            "url": "{urlMain}u/{username}", "urlMain": "http://site.example/", "checkType": "message",
            "presenseStrs": ["since"], "absenceStrs": ["no such {member}"],
            "usernameClaimed": "ann", "usernameUnclaimed": "noone",
        }),
        _ => json!({
            "url": "http://site.example/{}", "urlMain": "http://site.example/", "errorType": "status_code",
            "username_claimed": "ann",
        }),
    };
    let entry = if changes.is_object() { with(sample, changes) } else { changes.clone() };
    match &mut list["sites"] {
        Value::Array(sites) => sites.push(entry),
        Value::Object(sites) => drop(sites.insert(name.to_owned(), entry)),
        _ => {
            list.as_object_mut().unwrap().remove("sites");
            list[name] = entry;
        }
    }
}

/// Returns the notes of this kind as `NAME: REASON`.
fn notes(report: &ListReport, kind: NoteKind) -> Vec<String> {
    let notes = report.notes.iter().filter(|note| note.outcome == kind);
    notes.map(|note| format!("{}: {}", note.name, note.reason)).collect()
}

fn sherlock(sites: &[(&str, Value)]) -> Value {
    let mut list = empty("sherlock");
    sites.iter().for_each(|(name, changes)| add(&mut list, name, changes));
    list
}

/// A small list in each format.
fn samples() -> [Value; 3] {
    [("whatsmyname", "Lake View"), ("sherlock", "Pond"), ("maigret", "Meadow")].map(|(tool, name)| {
        let mut list = empty(tool);
        add(&mut list, name, &json!({}));
        list
    })
}
