//! Import of WhatsMyName's list.

use super::*;

pub(super) fn site() -> Value {
    json!({
        "name": "Lake View", "uri_check": "http://site.example/u/{account}", "cat": "social",
        "e_code": 200, "e_string": "member since", "m_code": 404, "m_string": "nobody here",
        "known": ["ann", "ben"],
    })
}

fn list(changes: &[Value]) -> Value {
    let sites = changes.iter().map(|changes| with(site(), changes));
    json!({"license": [], "sites": sites.collect::<Vec<_>>()})
}

#[test]
fn code_and_text_together_tell_a_hit_from_a_miss() {
    let lab = Lab::new(&list(&[json!({})]), |request| match request.path() {
        "/u/ann" => status(200, "member since 1999"),
        "/u/text" => status(200, "nothing to see"),
        "/u/code" => status(500, "member since 1999"),
        "/u/moved" => crate::support::site::to(302, "/u/ann"),
        "/u/bare" => status(404, ""),
        _ => status(404, "nobody here"),
    });
    assert_eq!(lab.outcome("wmn.lake-view", "ann"), "hit");
    assert_eq!(lab.outcome("wmn.lake-view", "cid"), "miss");
    for (name, why) in [
        ("text", "error unrecognized"),
        ("code", "error server_error"),
        ("bare", "error unrecognized"),
        // A redirect is an answer that matches no rule of the entry.
        ("moved", "error unrecognized"),
    ] {
        assert_eq!(lab.outcome("wmn.lake-view", name), why, "{name}");
    }
    let hit = lab.check("wmn.lake-view", "ann");
    assert_eq!(hit.findings[0].platform.as_deref(), Some("Lake View"));
    assert_eq!(hit.findings[0].metadata["profile_url"], lab.site.url("/u/ann"));
}

#[test]
fn a_body_makes_a_post_and_the_pretty_address_is_the_profile() {
    let changes = json!({
        "uri_check": "http://site.example/api?q={\"x\"}", "post_body": "{\"query\":\"q{user(name:\\\"{account}\\\"){id}}\"}",
        "headers": {"Content-Type": "application/json", "X-Lake": "{account} {b}", "TE": "trailers"},
        "uri_pretty": "https://lake.example/@{account}#", "strip_bad_char": ".", "known": ["a.nn", "."],
    });
    let lab = Lab::new(&list(&[changes]), |request| {
        let is_ann = request.body == br#"{"query":"q{user(name:\"ann\"){id}}"}"#;
        if is_ann { status(200, "member since") } else { status(404, "nobody here") }
    });
    let hit = lab.check("wmn.lake-view", "a.n.n");
    assert_eq!(hit.outcome.as_str(), "hit", "{hit:?}");
    assert_eq!(hit.findings[0].metadata["profile_url"], "https://lake.example/@ann");
    let received = &lab.site.received()[0];
    assert_eq!(received.line(), "POST /api?q=%7B%22x%22%7D HTTP/1.1");
    assert_eq!(received.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(received.header("x-lake").as_deref(), Some("ann {b}"));
    assert_eq!(
        notes(&lab.report, NoteKind::Changed),
        [
            "Lake View: the header `TE` is set by the program",
            "Lake View: its known name `.` is not valid here",
        ]
    );
    assert_eq!(lab.module("wmn.lake-view").entry().known, ["a.nn"]);
}

#[test]
fn a_body_is_json_or_form_fields() {
    for (body, kind, want) in [
        ("{\"n\":[\"{account}\", \"{b}\"]}", "json", json!({"n": ["{query}", "{{b}}"]})),
        ("n={account}&b=%7Bc%7D+d", "form", json!({"b": "{{c}} d", "n": "{query}"})),
    ] {
        let entry = only_entry(&list(&[json!({"uri_check": "https://lake.example/", "post_body": body})]));
        assert_eq!((&entry["probes"][0][kind], &entry["probes"][0]["method"]), (&want, &json!("POST")));
    }
}

#[test]
fn empty_texts_leave_the_codes() {
    let rules = |changes: Value| {
        let entry = only_entry(&list(&[changes]));
        (entry["hit"].clone(), entry.get("miss").cloned())
    };
    assert_eq!(
        rules(json!({"m_string": "", "m_code": 302})),
        (json!([{"status": [200], "words": ["member since"]}]), Some(json!([{"status": [302]}])))
    );
    assert_eq!(
        rules(json!({"e_string": "", "m_code": 200})),
        (
            json!([{"status": [200], "no_word": ["nobody here"]}]),
            Some(json!([{"status": [200], "words": ["nobody here"]}]))
        )
    );
    // Such an answer has no body.
    assert_eq!(rules(json!({"m_code": 304})).1, Some(json!([{"status": [304]}])));
    // An empty answer is not a miss.
    assert_eq!(
        rules(json!({"m_string": "", "m_code": 200})),
        (json!([{"status": [200], "words": ["member since"]}]), None)
    );
}

#[test]
fn what_an_entry_says_beside_its_rules_is_kept() {
    let all = list(&[
        json!({"name": "Off", "valid": false}),
        json!({"name": "Night", "cat": "xx NSFW xx"}),
        json!({"name": "Ночь", "known": ["ночь"]}),
        json!({"name": "night!"}),
    ]);
    let imported = take_over("list.json", &all.to_string()).unwrap();
    let entries: Vec<_> = imported.modules.iter().map(Module::entry).collect();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["wmn.off", "wmn.night", "wmn.site-example", "wmn.night-2"]);
    assert!(!entries[0].enabled && entries[1].enabled);
    assert!(entries[1].nsfw && entries[1].category == "adult" && !entries[0].nsfw);
    assert_eq!(entries[1].tags, ["whatsmyname"]);
    assert_eq!(serde_json::to_value(entries[2]).unwrap()["scripts"], "any", "its known name says so");
    let report = &imported.report;
    assert_eq!((report.entries, report.off, report.taken_over), (4, 1, 4));
}

#[test]
fn what_cannot_be_asked_is_left_out_with_the_reason() {
    let all = list(&[
        json!({"name": "Bare", "uri_check": "https://lake.example/"}),
        json!({"name": "Schemeless", "uri_check": "lake.example/{account}"}),
        json!({"name": "Session", "headers": {"cookie": "id=1"}}),
        json!({"name": "Same", "m_code": 200, "m_string": "member since"}),
        json!({"name": "Nothing", "m_code": 200, "m_string": "", "e_string": ""}),
        json!({"name": "Codes", "e_code": [200, 201]}),
        json!({"name": "Code", "e_code": 20}),
        json!({"name": "User", "uri_check": "https://a:b@lake.example/{account}"}),
        json!({"name": "Onion", "uri_check": "http://lakelakelake.onion/{account}"}),
    ]);
    let imported = take_over("list.json", &all.to_string()).unwrap();
    assert_eq!(imported.modules.len(), 0);
    assert_eq!(
        notes(&imported.report, NoteKind::LeftOut),
        [
            format!("Bare: {NOT_ABOUT_THE_QUERY}").as_str(),
            "Schemeless: `lake.example/{account}` is not a web address",
            "Session: it sends a `cookie` header, which may contain another person's session or credentials",
            "Same: hit[0]: the same rule is in `miss`: it would always be a conflict",
            "Nothing: nothing distinguishes an existing account from a missing one",
            "Codes: `e_code`: invalid type: sequence, expected u16",
            "Code: hit[0].status[0]: 20 is not allowed here; allowed are 100 to 599 and \"1xx\" to \"5xx\"",
            "User: probes[0].url: a URL must not have a user name or password here",
            "Onion: `lakelakelake.onion` is not on the public web, which is required",
        ]
    );
}
