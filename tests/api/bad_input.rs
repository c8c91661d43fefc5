//! Invalid values for each field of each endpoint: the documented error, never a 500, never a charge.

use serde_json::{Value, json};

use super::openapi::operations;
use crate::support::eventually;
use crate::support::server::{Answer, Server, Setup};

fn post(server: &Server, body: &str) -> Answer {
    server
        .request("POST", "/v1/searches")
        .key(&server.key)
        .header("Content-Type", "application/json")
        .body(body.as_bytes())
        .send()
}

fn refused(answer: &Answer, field: &str) {
    let body = answer.is_error(400, "invalid_request");
    assert_eq!(body["detail"]["field"], field, "{answer}");
    assert!(!body["detail"]["allowed"].is_null(), "{answer}");
    assert!(!body["message"].as_str().unwrap().is_empty(), "{answer}");
}

#[test]
fn every_wrong_search_body_is_refused_with_its_field_and_costs_nothing() {
    let server = Setup::new().start();
    let long = "a".repeat(2000);
    let queries: &[(&str, &str)] = &[
        ("username", ""),
        ("username", "   "),
        ("username", "@"),
        ("username", "two words"),
        ("username", "a/b"),
        ("username", "a?b"),
        ("username", "semi;colon"),
        ("username", "<script>"),
        ("username", "line\\nbreak"),
        ("username", "nul\\u0000"),
        ("username", "zero\\u200bwidth"),
        ("username", "bidi\\u202etext"),
        ("username", "emoji\\ud83d\\ude00"),
        ("username", &long),
        ("username", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("email", "alice"),
        ("email", "alice@"),
        ("email", "@example.com"),
        ("email", "a@b@example.com"),
        ("email", ".alice@example.com"),
        ("email", "al..ice@example.com"),
        ("email", "\\\"quoted local\\\"@example.com"),
        ("email", "alice@localhost"),
        ("email", "alice@127.0.0.1"),
        ("email", "alice@[127.0.0.1]"),
        ("email", "alice@example.internal"),
        ("email", "alice@example.com\\r\\nBcc: x@example.com"),
        ("email", &long),
        ("domain", ""),
        ("domain", "localhost"),
        ("domain", "com"),
        ("domain", "co.uk"),
        ("domain", "127.0.0.1"),
        ("domain", "2130706433"),
        ("domain", "0x7f000001"),
        ("domain", "[::1]"),
        ("domain", "::1"),
        ("domain", "printer.local"),
        ("domain", "db.internal"),
        ("domain", "x.onion"),
        ("domain", "x.test"),
        ("domain", "-bad-.com"),
        ("domain", "a..com"),
        ("domain", "exa mple.com"),
        ("domain", "http://"),
        ("domain", "javascript:alert(1)"),
        ("domain", "file:///etc/passwd"),
        ("domain", &long),
    ];
    for (search_type, query) in queries {
        let answer = post(&server, &format!(r#"{{"type":"{search_type}","query":"{query}"}}"#));
        refused(&answer, "query");
    }
    for (body, field) in [
        (r#"{"query":"alice"}"#, "type"),
        (r#"{"type":null,"query":"alice"}"#, "type"),
        (r#"{"type":1,"query":"alice"}"#, "type"),
        (r#"{"type":["username"],"query":"alice"}"#, "type"),
        (r#"{"type":{"username":null},"query":"alice"}"#, "type"),
        (r#"{"type":{"username":5},"query":"alice"}"#, "type"),
        (r#"{"type":"","query":"alice"}"#, "type"),
        (r#"{"type":"Username","query":"alice"}"#, "type"),
        (r#"{"type":"phone","query":"alice"}"#, "type"),
        (r#"{"type":" username","query":"alice"}"#, "type"),
        (r#"{"type":"username\u0000","query":"alice"}"#, "type"),
        (r#"{"type":"username\u000a","query":"alice"}"#, "type"),
        (r#"{"type":"\u001b[2Jusername","query":"alice"}"#, "type"),
        (r#"{"type":"user\u200bname","query":"alice"}"#, "type"),
        // Cyrillic а and full-width u, which look like Latin letters.
        (r#"{"type":"usern\u0430me","query":"alice"}"#, "type"),
        (r#"{"type":"usernаme","query":"alice"}"#, "type"),
        (r#"{"type":"\uff55sername","query":"alice"}"#, "type"),
        (&format!(r#"{{"type":"{long}","query":"alice"}}"#), "type"),
        (&format!(r#"{{"type":"username{}","query":"alice"}}"#, " ".repeat(2000)), "type"),
        (r#"{"type":"username"}"#, "query"),
        (r#"{"type":"username","query":null}"#, "query"),
        (r#"{"type":"username","query":7}"#, "query"),
        (r#"{"type":"username","query":["alice"]}"#, "query"),
        (r#"{"type":"username","query":{"a":1}}"#, "query"),
        (r#"{"type":"username","query":"alice","wait":"true"}"#, "wait"),
        (r#"{"type":"username","query":"alice","wait":1}"#, "wait"),
        (r#"{"type":"username","query":"alice","wait":{}}"#, "wait"),
        (r#"{"type":"username","query":"alice","stream":"yes"}"#, "stream"),
        (r#"{"type":"username","query":"alice","premium":[]}"#, "premium"),
        (r#"{"type":"username","query":"alice","premium":0}"#, "premium"),
        (r#"{"type":"username","query":"alice","premium":"yes"}"#, "premium"),
        // Ignored for this type, but still validated.
        (r#"{"type":"domain","query":"example.com","premium":"yes"}"#, "premium"),
        (r#"{"type":"username","query":"alice","follow":true}"#, "follow"),
        (r#"{"type":"username","query":"alice","follow":[1,10,"stated"]}"#, "follow"),
        (r#"{"type":"username","query":"alice","follow":{"links":{"stated":null}}}"#, "follow.links"),
        (r#"{"type":"username","query":"alice","follow":{"depth":0}}"#, "follow.depth"),
        (r#"{"type":"username","query":"alice","follow":{"depth":4}}"#, "follow.depth"),
        (r#"{"type":"username","query":"alice","follow":{"depth":"1"}}"#, "follow.depth"),
        (r#"{"type":"username","query":"alice","follow":{"max_searches":51}}"#, "follow.max_searches"),
        (r#"{"type":"username","query":"alice","follow":{"max_searches":1.5}}"#, "follow.max_searches"),
        (r#"{"type":"username","query":"alice","follow":{"links":"all"}}"#, "follow.links"),
        (r#"{"type":"username","query":"alice","purpose":"  "}"#, "purpose"),
        (r#"{"type":"username","query":"alice","purpose":"a\nb"}"#, "purpose"),
        (r#"{"type":"username","query":"alice","purpose":7}"#, "purpose"),
        (r#"{"type":"username","query":"alice","query":"bob"}"#, "body"),
        (r#"{"type":"username","query":"alice","quer\u0079":"bob"}"#, "body"),
        (r#"{"type":"username","query":"alice","follow":{"depth":1,"depth":2}}"#, "body"),
        (r#"{"type":"username","query":"alice","x":[{"y":{"a":1,"b":":","a":1}}]}"#, "body"),
        ("\u{feff}", "body"),
        ("\u{feff}\u{feff}{}", "body"),
        ("", "body"),
        ("{", "body"),
        ("{}{}", "body"),
        ("null", "body"),
        ("[]", "body"),
        ("\"text\"", "body"),
        ("{'type':'username'}", "body"),
        (r#"{"type":"username","query":"alice",}"#, "body"),
        (r#"{"type":"username","query":"\ud800"}"#, "body"),
        (r#"{"type":"username","query":"NaN","wait":NaN}"#, "body"),
    ] {
        refused(&post(&server, body), field);
    }
    for body in [
        r#"{"query":"alice"}"#,
        r#"{"type":1,"query":"alice"}"#,
        r#"{"type":{},"query":"alice"}"#,
        r#"{"type":"phone","query":"alice"}"#,
    ] {
        let allowed = post(&server, body).json()["detail"]["allowed"].clone();
        assert_eq!(allowed, serde_json::json!(["domain", "email", "username"]), "{body}");
    }
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    refused(&post(&server, &deep), "body");
    refused(&post(&server, &format!(r#"{{"type":"username","query":"alice","x":{deep}}}"#)), "body");
    let invalid_utf8 = server
        .request("POST", "/v1/searches")
        .key(&server.key)
        .header("Content-Type", "application/json")
        .body(b"{\"type\":\"username\",\"query\":\"\xff\xfe\"}")
        .send();
    refused(&invalid_utf8, "body");
    charged(&server, 0, 0);
}

/// A member that stands twice could be read as two requests, and some programs begin a file with a byte order mark.
#[test]
fn every_body_is_refused_for_a_repeated_member_and_read_with_a_byte_order_mark() {
    let server = Setup::new().start();
    let ask = |path: &str, body: &str| {
        let request =
            server.request("POST", path).key(&server.key).header("Content-Type", "application/json");
        request.body(body.as_bytes()).send()
    };
    for (path, valid, repeated) in [
        (
            "/v1/searches",
            r#"{"type":"username","query":"alice","purpose":"{\"a:\\"}"#,
            r#"{"type":"username","query":"a","follow":{"links":"stated","links":"verified"}}"#,
        ),
        (
            "/v1/batches?dry_run=true",
            r#"{"searches":[{"type":"username","query":"alice"},{"type":"username","query":"bob"}]}"#,
            r#"{"searches":[{"type":"username","query":"alice","query":"bob"}]}"#,
        ),
        (
            "/v1/watches",
            r#"{"type":"username","query":"alice","every":"1d"}"#,
            r#"{"type":"username","query":"alice","every":"1d","follow":{"depth":1,"depth":1}}"#,
        ),
    ] {
        let read = ask(path, &format!("\u{feff}{valid}"));
        assert!(matches!(read.status, 200 | 201), "{read}");
        refused(&ask(path, repeated), "body");
    }
}

#[test]
fn international_domains_and_other_scripts_are_searched() {
    let server = Setup::new().all_modules().start();
    // The first has a Cyrillic а: it is another domain than the Latin one, and is returned as it was sent.
    for (search_type, query) in [
        ("domain", "\u{430}pple.com"),
        ("domain", "bücher.de"),
        ("email", "alice@bücher.de"),
        ("username", "мария"),
    ] {
        let answer = server.post(&json!({"type": search_type, "query": query}));
        assert_eq!(answer.status, 200, "{answer}");
        let run = server.finished(answer.json()["run_id"].as_str().unwrap());
        assert_eq!(run["query"], query);
    }
    charged(&server, 4, 4);
}

#[test]
fn wrong_framing_types_and_sizes_are_refused() {
    let server = Setup::new().start();
    let body = br#"{"type":"username","query":"alice"}"#;
    for content_type in [
        None,
        Some(""),
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/jsonp"),
        Some("application/json; charset=latin1"),
    ] {
        let mut request = server.request("POST", "/v1/searches").key(&server.key).body(body);
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        request.send().is_error(415, "unsupported_media_type");
    }
    for content_type in ["application/json", "Application/JSON", "application/json; charset=UTF-8"] {
        let request = server.request("POST", "/v1/searches").key(&server.key).body(body);
        assert_eq!(request.header("Content-Type", content_type).send().status, 200);
    }
    let padding = " ".repeat(65 * 1024);
    let large = format!(r#"{{"type":"username","query":"alice"{padding}}}"#);
    post(&server, &large).is_error(413, "payload_too_large");
    let just_fits = format!("{}{}", r#"{"type":"username","query":"alice"}"#, " ".repeat(65_536 - 35));
    assert_eq!(just_fits.len(), 65_536);
    assert_eq!(post(&server, &just_fits).status, 200);
    charged(&server, 4, 4);
}

#[test]
fn wrong_list_parameters_are_refused() {
    let server = Setup::new().start();
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=abc", "limit"),
        ("limit=-1", "limit"),
        ("limit=", "limit"),
        ("limit=1.5", "limit"),
        ("limit=%2B5", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("limit=1&limit=2", "limit"),
        ("limit=%00", "limit"),
        // An Arabic and a full-width three.
        ("limit=%D9%A3", "limit"),
        ("limit=%EF%BC%91", "limit"),
        ("cursor=x", "cursor"),
        ("cursor=", "cursor"),
        ("cursor=ffffffffffffffff.00000000000000000000000000000000", "cursor"),
        (&format!("cursor={}", "f".repeat(5000)), "cursor"),
        (&format!("cursor={}", "%20".repeat(1000)), "cursor"),
        ("type=phone", "type"),
        ("status=done", "status"),
    ] {
        refused(&server.get(&format!("/v1/searches?{query}")), field);
    }
    let twice = server.get("/v1/searches?type=email&type=email").json();
    assert_eq!(twice["message"], "type is given twice");
    for query in ["limit=1", "limit=100", "type=email", "status=failed", "unknown=1&unknown=2"] {
        assert_eq!(server.get(&format!("/v1/searches?{query}")).status, 200, "{query}");
    }
    charged(&server, 0, 0);
}

/// Returns path and method of each operation on a run, and of requests with other mistakes.
fn requests_for_a_run() -> Vec<(String, String)> {
    let all = operations().map(|(path, method, _)| (path.to_owned(), method.to_uppercase()));
    let mut all: Vec<_> = all.filter(|(path, _)| path.contains("{run_id}")).collect();
    let formats = ["json", "ndjson", "csv", "html", "md", "xml", "csv&format=csv"];
    let more = formats.map(|format| format!("export?format={format}"));
    for end in more.iter().map(String::as_str).chain(["stream?after=x", "graph?format=xml"]) {
        all.push((format!("/v1/searches/{{run_id}}/{end}"), "GET".to_owned()));
    }
    all
}

#[test]
fn malformed_unknown_deleted_and_foreign_runs_are_the_same_404() {
    // One run goes on until the end of the test.
    let server = Setup::new().flag("--check-timeout=10m").flag("--run-timeout=1h").start();
    let owner = server.new_key("pro");
    let read = |id: &str| server.request("GET", &format!("/v1/searches/{id}")).key(&owner).send().json();
    let [ended, running] = ["everybody", "silent"].map(|query| {
        let body = json!({"type": "username", "query": query, "modules": ["github", "gitlab"]});
        let answer = server.request("POST", "/v1/searches").key(&owner).json(&body).send().json();
        answer["run_id"].as_str().unwrap().to_owned()
    });
    eventually("one has ended", || read(&ended)["status"] == "completed");
    let (before, other) = (read(&ended), server.search("username", "alice"));
    let deleted = server.search("username", "alice");
    server.finished(&deleted);
    let path = format!("/v1/searches/{deleted}");
    assert_eq!(server.delete(&path).status, 204);
    let ids = [
        ended.clone(),
        running.clone(),
        deleted,
        "00000000-0000-0000-0000-000000000000".into(),
        "not-a-uuid".into(),
        ended.replace('-', ""),
        format!("{ended}0"),
        "%01%0a".into(),
        "%ff".into(),
        "%00".into(),
        "..%2f..%2fetc".into(),
        "'%20or%201=1".into(),
        "%C3%A9".into(),
        "x".repeat(3000),
    ];
    for (path, method) in requests_for_a_run() {
        let path = path.replace("{other}", &other).replace("{lead_id}", "1").replace("{result_id}", "1");
        let answer = |id: &String| {
            let request = server.request(&method, &path.replace("{run_id}", id)).key(&server.key);
            let request = request.header("X-Request-Id", "same");
            let notes = json!({"tags": ["x"], "not_this_person": true});
            let answer = if method == "PATCH" { request.json(&notes).send() } else { request.send() };
            answer.is_error(404, "not_found");
            String::from_utf8(answer.body).unwrap()
        };
        let bodies: Vec<String> = ids.iter().map(answer).collect();
        // With a well-formed id of a run, an operation on a result says that the result is unknown.
        let (formed, malformed) = bodies.split_at(if path.contains("/results/") { 4 } else { 0 });
        for same in [formed, malformed] {
            assert!(same.iter().all(|body| *body == same[0]), "{method} {path}: {same:#?}");
        }
    }
    // They are unknown as the second run of a comparison, too.
    for second in &ids[..4] {
        server.get(&format!("/v1/searches/{other}/diff/{second}")).is_error(404, "not_found");
    }
    // Their owner still has them, unchanged.
    assert_eq!(read(&ended), before);
    let running = read(&running);
    assert_eq!((&running["status"], running.get("tags")), (&json!("running"), None), "{running}");
    assert!(running["stopped_at"].is_null(), "{running}");
    server.get("/v1/nothing").is_error(404, "not_found");
    // The deleted run was charged.
    charged(&server, 2, 1);
}

#[test]
fn wrong_after_and_idempotency_keys_are_refused() {
    let server = Setup::new().start();
    let run = server.search("username", "alice");
    for after in ["abc", "-1", "1.5", "99999999999", ""] {
        refused(&server.get(&format!("/v1/searches/{run}/stream?after={after}")), "after");
    }
    let long = "k".repeat(256);
    for key in ["", &long, "tab\there"] {
        let answer = server.post_once(key, &json!({"type": "username", "query": "bob"}));
        assert_eq!(answer.status, 400, "{answer}");
        answer.is_error(400, "invalid_request");
    }
    charged(&server, 1, 1);
}

/// Asserts the used credits and the number of stored runs.
fn charged(server: &Server, credits: u64, runs: usize) {
    let balance = server.get("/v1/credits").json();
    assert_eq!(balance["credits_used"], credits, "{balance}");
    let list: Value = server.get("/v1/searches").json();
    assert_eq!(list["count"], runs, "{list}");
}
