//! Import of Sherlock's list.

use super::*;
use crate::support::site::to;

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

/// The account `/ann` exists on each kind of site. The name of the kind says how others are reported.
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
        // Redirects are followed unless the rules test them.
        ("moved", ["hit", "hit", "hit", "miss", "hit"]),
        ("lost", ["miss", "miss", "error unrecognized", "miss", "miss"]),
        // A status that may be a block or an error is not a miss, unless the list says so.
        ("403", ["blocked forbidden", "miss", "blocked forbidden", "blocked forbidden", "blocked forbidden"]),
        ("429", ["rate_limited rate_limit"; 5]),
        ("500", ["error server_error"; 5]),
    ];
    for (name, outcomes) in &table[1..] {
        for (id, want) in table[0].1.iter().zip(outcomes) {
            assert_eq!(lab.outcome(&format!("sherlock.{id}"), name), *want, "{id} {name}");
        }
    }
    // A status alone gives a low confidence.
    let confidence = |id: &str| lab.check(id, "ann").findings[0].confidence;
    assert!(confidence("sherlock.status") < confidence("sherlock.message"));
}

#[test]
fn a_site_that_says_yes_to_everyone_is_unreliable() {
    let lab = Lab::new(&list(&[("Pond", json!({}))]), |_| status(200, "welcome"));
    assert_eq!(lab.outcome("sherlock.pond", "ann"), "unreliable control_hit");
}

#[test]
fn the_probe_follows_the_entry() {
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
    // GET is used instead of the tool's HEAD, because barriers are recognized in the body.
    // Each miss is confirmed with the known account.
    let of_misses = ["GET /bob HTTP/1.1", "GET /ann HTTP/1.1", "POST /api HTTP/1.1", "POST /api HTTP/1.1"];
    assert_eq!(lines[2..], of_misses);
    let body: Value = serde_json::from_slice(&received[4].body).unwrap();
    assert_eq!(body, json!({"q": "a(bob)", "deep": [{"{}": "bob", "n": 1}]}));
    assert_eq!(received[4].header("x-pond").as_deref(), Some("bob"));
    assert_eq!(
        &***lab.module("sherlock.api").entry().profile.as_ref().unwrap(),
        "https://pond.example/@{query}"
    );
}

#[test]
fn names_that_a_site_cannot_have_are_skipped() {
    let list = list(&[
        ("Bound", json!({"regexCheck": "^[a-z]{2,}$"})),
        ("Found", json!({"regexCheck": "[a-z]{3}"})),
        ("Ahead", json!({"regexCheck": "^(?!-)[a-z-]+$"})),
        ("Costly", json!({"regexCheck": "^(?:a{1,100}){1,100}$"})),
        ("Known", json!({"regexCheck": "^[0-9]+$"})),
    ]);
    let lab = Lab::new(&list, pond);
    for (id, name, want) in [
        ("bound", "ann", "hit"),
        ("bound", "ann1", "skipped not_accepted"),
        ("found", "1ann1", "miss"),
        ("found", "1an1", "skipped not_accepted"),
        // The look-around is left out, and the entry is kept.
        ("ahead", "-x", "miss"),
        ("costly", "x", "miss"),
    ] {
        assert_eq!(lab.outcome(&format!("sherlock.{id}"), name), want, "{id} {name}");
    }
    assert_eq!(
        notes(&lab.report, NoteKind::Changed),
        [
            "Ahead: `regexCheck` is ignored: look-around, including look-ahead and look-behind, is not supported",
            "Costly: `regexCheck` is ignored: the regex `^(?:a{1,100}){1,100}$` is too costly: with its \
             repetitions written out it has 10002 positions, allowed are 1000",
            "Known: its known name `ann` is not valid here",
        ]
    );
}

#[test]
fn what_an_entry_says_beside_its_rules_is_kept() {
    let entry = only_entry(&list(&[(
        "Pond & Sons",
        json!({"url": "https://{}.pond.example", "urlMain": "https://pond.example/", "isNSFW": true, "tags": "gaming"}),
    )]));
    let want = json!({
        "id": "sherlock.pond-sons", "platform": "Pond & Sons", "type": "username", "category": "adult",
        "tags": ["sherlock", "gaming"], "nsfw": true, "home": "https://pond.example/",
        "profile": "https://{query}.pond.example",
        "probes": [{"url": "https://{query}.pond.example", "follow": true}],
        "hit": [{"status": ["2xx"]}], "miss": [{"status": [400, 404, 410, 422]}], "known": ["ann"],
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
            "Empty: its type is `message`, but it has neither presence nor absence texts",
            "Type: unknown type `smell`; status_code, message, response_url are supported",
            "None: the type of its check is missing",
            "Method: probes[0].method: unknown variant `PATCH`, expected one of `GET`, `HEAD`, `POST`, `PUT`",
            "Body: probes[0].method: GET has no body; use POST or PUT",
            format!("Nobody: {NOT_ABOUT_THE_QUERY}").as_str(),
            "Number: `url`: invalid type: integer `7`, expected a string",
            "Bearer: it sends a `Authorization` header, which may contain another person's session or credentials",
            "Text: the entry is not an object",
        ]
    );
}
