//! Untrusted lists: each mistake is reported, and no entry is lost.

use proptest::prelude::*;

use super::*;

fn refused(text: &str) -> String {
    take_over("list.json", text).unwrap_err()
}

#[test]
fn an_unrecognized_file_is_refused_with_a_reason_for_each_format() {
    assert_eq!(refused("{"), "it is not valid JSON: EOF while parsing an object at line 1 column 1");
    for text in ["{\"sites\": 7, \"a\": {}}", "\"x\""] {
        assert_eq!(
            refused(text),
            "unknown format: expected an array of entries (Sightline's own format), an object with an array `sites` \
             (WhatsMyName) or an object `sites` (Maigret), or an object of entries with `url` and `errorType` (Sherlock)"
        );
    }
    assert!(refused(&format!("{{\"sites\": {}", "[".repeat(1_000_000))).contains("recursion limit"));
    let many = json!({"sites": vec![json!({}); 20_001]}).to_string();
    assert_eq!(refused(&many), "it has 20001 entries; at most 20000 are imported");
}

#[test]
fn a_byte_order_mark_does_not_change_the_import() {
    for list in samples() {
        let (plain, marked) = (list.to_string(), format!("\u{feff}{list}"));
        let taken = take_over("list.json", &marked).unwrap();
        assert_eq!(taken.modules.len(), 1);
        assert_eq!(taken.report.notes, take_over("list.json", &plain).unwrap().report.notes);
    }
}

#[test]
fn an_invalid_entry_is_reported_with_its_position() {
    let [mut list, ..] = samples();
    list["sites"] = json!([7, list["sites"][0], null, {"name": 1}, {}]);
    let taken = take_over("list.json", &list.to_string()).unwrap();
    assert_eq!(
        notes(&taken.report, NoteKind::LeftOut),
        [
            "[0]: the entry is not an object",
            "[2]: the entry is not an object",
            "[3]: `name`: invalid type: integer `1`, expected a string",
            "[4]: `uri_check` is missing",
        ]
    );
}

#[test]
fn control_characters_in_names_are_not_printed() {
    let mut list = sherlock(&[("Fine", json!({}))]);
    list["Evil\u{1b}[2J\u{202e}\nok: all imported"] = json!({"url": "\u{7}", "errorType": "a\u{1b}[31m"});
    let name = "n".repeat(5_000);
    list[&name] = json!(1);
    let report = take_over("list.json", &list.to_string()).unwrap().report;
    let lines: Vec<String> = report.lines(NoteKind::LeftOut).collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        assert!(
            !line.contains(|c: char| c.is_control() || c == '\u{202e}') && line.len() < 1_000,
            "{line:?}"
        );
    }
}

/// A value that may appear anywhere in a list.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        r"[{}\[\]()\\*+?|a-c#/:. \u{0}\u{e9}\u{e000}]{0,12}".prop_map(Value::from),
        Just(json!("https://{}.a.example/{username}{account}")),
        Just(json!(["a", 1, null])),
        Just(json!({"a": {"b": ["{"]}, "Cookie": "x"})),
        Just(json!({})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Every entry is imported, or left out with a reason.
    #[test]
    fn no_entry_is_lost(kind in 0..3usize, changes in prop::collection::vec((any::<prop::sample::Index>(), odd()), 0..4)) {
        let members: &[&[&str]] = &[
            &["name", "uri_check", "uri_pretty", "post_body", "headers", "strip_bad_char", "e_code", "e_string", "m_string", "m_code", "known", "cat", "valid", "protection", "new"],
            &["url", "urlMain", "urlProbe", "errorType", "errorMsg", "errorCode", "regexCheck", "isNSFW", "tags", "headers", "request_method", "request_payload", "username_claimed", "__comment__"],
            &["url", "urlMain", "urlProbe", "urlSubpath", "checkType", "presenseStrs", "absenceStrs", "errors", "regexCheck", "tags", "headers", "alexaRank", "activation", "ignore403", "requestMethod", "requestPayload", "usernameClaimed", "type", "protection", "engine", "getParams", "disabled"],
        ];
        let mut list = samples()[kind].clone();
        let site = match kind {
            0 => &mut list["sites"][0],
            1 => &mut list["Pond"],
            _ => &mut list["sites"]["Meadow"],
        };
        for (index, value) in changes {
            site[*index.get(members[kind])] = value;
        }
        if let Ok(taken) = take_over("list.json", &list.to_string()) {
            let report = taken.report;
            prop_assert_eq!(report.entries, 1);
            prop_assert_eq!(report.taken_over, taken.modules.len());
            prop_assert_eq!(report.taken_over + report.count(NoteKind::LeftOut), 1, "{:?}", report.notes);
            // An imported entry is unchanged after it is written and read again.
            let entries: Vec<_> = taken.modules.iter().map(|module| module.entry().clone()).collect();
            let text = sightline::modules::catalog::format::write(entries.clone());
            let again = Catalog::from_text("again.json", &text).unwrap();
            prop_assert!(again.modules().iter().map(|module| module.entry()).eq(entries.iter()));
        }
    }
}
