//! Mistakes are reported with file, entry and field. Valid entries load.

use super::*;

/// Returns the mistakes: a change of an entry, the message about it, and whether the JSON Schema refuses it, too.
pub(super) fn mistakes() -> Vec<(Value, &'static str, bool)> {
    let mut found = Vec::new();
    for section in include_str!("mistakes.txt").split("\n# ").skip(1) {
        let lines: Vec<&str> = section.lines().skip(1).filter(|line| !line.is_empty()).collect();
        found.extend(lines.chunks(2).map(|case| {
            let marked = case[0].strip_prefix("! ");
            let is_refused = marked.is_some() || section.starts_with("Structure");
            (marked.unwrap_or(case[0]).parse().unwrap(), case[1].strip_prefix("  ").unwrap(), is_refused)
        }));
    }
    found
}

#[test]
fn mistakes_name_file_entry_and_field() {
    let all = mistakes();
    assert!(all.len() > 160);
    let told = |changes: &Value| faults(changes).join("\n");
    let want = |want: &str| if want == "valid" { String::new() } else { format!("f.json: {want}") };
    let wrong = all.into_iter().filter(|(changes, wanted, _)| told(changes) != want(wanted));
    let wrong: Vec<String> = wrong.map(|(changes, ..)| format!("{changes}\n  {}", told(&changes))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn exceeded_limits_are_reported() {
    let rules: Vec<Value> = (0..51).map(|n| json!({"words": [format!("no {n}")]})).collect();
    let names: Vec<String> = (0..51).map(|n| format!("name{n}")).collect();
    for (changes, want) in [
        (json!({"miss": rules}), "miss"),
        (json!({"barrier": rules}), "barrier"),
        (json!({"known": names}), "known"),
    ] {
        assert_eq!(
            faults(&changes),
            [format!("f.json: site: {want}: having 51 parts is not allowed here; expected 0 to 50")]
        );
    }
}
