//! Sherlock.

use super::*;
use crate::net::site::to;

pub(super) fn site() -> Value {
    json!({
        "url": "http://site.example/{}", "urlMain": "http://site.example/", "errorType": "status_code",
        "username_claimed": "ann",
    })
}

fn list(entries: &[(&str, Value)]) -> Value {
    let mut list = json!({"$schema": "data.schema.json"});
    for (name, changes) in entries {
        let mut site = site();
        for (member, value) in changes.as_object().unwrap() {
            site[member] = value.clone();
        }
        list[*name] = site;
    }
    list
}

/// `/ann` is there, whatever `kind` of site it is; the name says how everybody else is told.
fn pond(request: &Received) -> Vec<u8> {
    match request.path() {
        "/ann" => status(200, "Ann"),
        "/moved" => to(302, "/members/moved"),
        "/members/moved" => status(200, "Ann"),
        "/lost" => to(302, "/404"),
        "/404" => status(404, "gone"),
        "/400" => status(400, "no such name"),
        "/403" => status(403, "gone fishing"),
        "/429" => status(429, "gone fishing"),
        "/500" => status(500, "gone fishing"),
        "/204" => b"HTTP/1.1 204 X\r\n\r\n".to_vec(),
        "/said" => status(200, "<b>gone {fishing}</b>"),
        "/home" => to(302, "/"),
        "/" => status(200, "welcome"),
        _ => status(404, "gone {fishing}"),
    }
}

#[test]
fn each_error_type_tells_a_missing_account_its_way() {
    let list = list(&[
        ("Status", json!({})),
        ("Code", json!({"errorCode": [204, 403]})),
        ("Message", json!({"errorType": "message", "errorMsg": ["gone {fishing}", "no such name"]})),
        ("Redirect", json!({"errorType": "response_url", "errorUrl": "http://site.example/"})),
        (
            "All",
            json!({"errorType": ["status_code", "message"], "errorMsg": "gone {fishing}", "errorCode": 204}),
        ),
    ]);
    let lab = Lab::new(&list, pond);
    let table = [
        ("name", ["status", "code", "message", "redirect", "all"]),
        ("ann", ["hit"; 5]),
        ("404", ["miss", "miss", "error unrecognized", "miss", "miss"]),
        ("400", ["miss", "miss", "miss", "miss", "miss"]),
        ("said", ["hit", "hit", "miss", "hit", "miss"]),
        ("204", ["hit", "miss", "hit", "hit", "miss"]),
        // Redirects are followed, but where they are the sign.
        ("moved", ["hit", "hit", "hit", "miss", "hit"]),
        ("lost", ["miss", "miss", "error unrecognized", "miss", "miss"]),
        // What may be a block or a defect is no miss; the list may say that a code is one.
        ("403", ["blocked forbidden", "miss", "blocked forbidden", "blocked forbidden", "blocked forbidden"]),
        ("429", ["rate_limited rate_limit"; 5]),
        ("500", ["error server_error"; 5]),
    ];
    for (name, outcomes) in &table[1..] {
        for (id, want) in table[0].1.iter().zip(outcomes) {
            assert_eq!(lab.outcome(&format!("sherlock.{id}"), name), *want, "{id} {name}");
        }
    }
    // Evidence, not trust: a bare status is worth little.
    let confidence = |id: &str| lab.check(id, "ann").findings[0].confidence;
    assert!(confidence("sherlock.status") < confidence("sherlock.message"));
}

#[test]
fn a_site_that_says_yes_to_everyone_is_unreliable() {
    let lab = Lab::new(&list(&[("Pond", json!({}))]), |_| status(200, "welcome"));
    assert_eq!(lab.outcome("sherlock.pond", "ann"), "unreliable control_hit");
}

#[test]
fn the_probe_is_what_the_entry_says() {
    let list = list(&[
        (
            "Api",
            json!({
                "url": "https://pond.example/@{}", "urlProbe": "http://site.example/api", "request_method": "POST",
                "request_payload": {"q": "a({})", "deep": [{"{}": "{}", "n": 1}]}, "headers": {"X-Pond": "{}"},
            }),
        ),
        ("Head", json!({"request_method": "HEAD"})),
        ("Plain", json!({})),
    ]);
    let lab = Lab::new(&list, pond);
    let hit = lab.check("sherlock.head", "ann");
    assert_eq!(hit.outcome.as_str(), "hit");
    lab.check("sherlock.plain", "bob");
    lab.check("sherlock.api", "bob");
    let received = lab.site.received();
    let lines: Vec<&str> = received.iter().map(Received::line).collect();
    assert_eq!(lines[0], "HEAD /ann HTTP/1.1");
    // Where the tool would save the body with HEAD, barriers have to be seen.
    assert_eq!(lines[2..], ["GET /bob HTTP/1.1", "POST /api HTTP/1.1"]);
    let body: Value = serde_json::from_slice(&received[3].body).unwrap();
    assert_eq!(body, json!({"q": "a(bob)", "deep": [{"{}": "bob", "n": 1}]}));
    assert_eq!(received[3].header("x-pond").as_deref(), Some("bob"));
    assert_eq!(lab.module("sherlock.api").entry().profile.as_deref(), Some("https://pond.example/@{query}"));
}

#[test]
fn names_that_a_site_cannot_have_are_skipped() {
    let list = list(&[
        ("Bound", json!({"regexCheck": "^[a-z]{2,}$"})),
        ("Found", json!({"regexCheck": "[a-z]{3}"})),
        ("Ahead", json!({"regexCheck": "^(?!-)[a-z-]+$"})),
        ("Known", json!({"regexCheck": "^[0-9]+$"})),
    ]);
    let lab = Lab::new(&list, pond);
    for (id, name, want) in [
        ("bound", "ann", "hit"),
        ("bound", "ann1", "skipped not_accepted"),
        ("found", "1ann1", "miss"),
        ("found", "1an1", "skipped not_accepted"),
        // Look-around is left out, the entry stays.
        ("ahead", "-x", "miss"),
    ] {
        assert_eq!(lab.outcome(&format!("sherlock.{id}"), name), want, "{id} {name}");
    }
    assert_eq!(
        notes(&lab.report, NoteKind::Changed),
        [
            "Ahead: `regexCheck` is not looked at: it looks around, which takes more than linear time",
            "Known: its known name `ann` is none that could be asked here",
        ]
    );
}

#[test]
fn what_an_entry_says_beside_its_rules_is_kept() {
    let entry = only_entry(&list(&[(
        "Pond & Sons",
        json!({"url": "https://{}.pond.example", "urlMain": "https://pond.example/", "isNSFW": true, "tags": "gaming", "__comment__": "a\nword"}),
    )]));
    let want = json!({
        "id": "sherlock.pond-sons", "platform": "Pond & Sons", "type": "username", "category": "adult",
        "tags": ["sherlock", "gaming"], "nsfw": true, "home": "https://pond.example/",
        "profile": "https://{query}.pond.example",
        "probes": [{"url": "https://{query}.pond.example", "follow": true}],
        "hit": [{"status": ["2xx"]}], "miss": [{"status": [400, 404, 410, 422]}], "known": ["ann"], "note": "a word",
    });
    assert_eq!(entry, want);
}

#[test]
fn what_cannot_be_asked_is_left_out_with_the_reason() {
    let list = list(&[
        ("Empty", json!({"errorType": "message"})),
        ("Type", json!({"errorType": "smell"})),
        ("None", json!({"errorType": null})),
        ("Method", json!({"request_method": "PATCH"})),
        ("Body", json!({"request_payload": {"a": "{}"}})),
        ("Nobody", json!({"url": "https://pond.example/"})),
        ("Number", json!({"url": 7})),
        ("Bearer", json!({"headers": {"Authorization": "Bearer x"}})),
    ]);
    let mut list = list;
    list["Text"] = json!("x");
    list["Fine"] = site();
    let imported = take_over("list.json", &list.to_string()).unwrap();
    assert_eq!(imported.modules.len(), 1);
    assert_eq!(
        notes(&imported.report, NoteKind::LeftOut),
        [
            "Empty: its type is `message`, but `errorMsg` holds none",
            "Type: the type `smell`; status_code, message and response_url are known",
            "None: `errorType` is missing",
            "Method: the method PATCH; GET, HEAD, POST and PUT are sent",
            "Body: it sends a body with GET or HEAD; bodies go with POST and PUT",
            "Nobody: neither its address nor its `request_payload` holds `{}`",
            "Number: `url` is a number; a text is due",
            "Bearer: it sends a `Authorization` header: what a list carries there is somebody's session or proof",
            "Text: the entry is a text; an object is due",
        ]
    );
}
