//! What is accepted as a batch, and what a dry run tells.

use serde_json::{Value, json};

use super::{accepted, ended, names, post, post_csv, read};
use crate::retention::suppress::suppressing;
use crate::support::server::Setup;

#[test]
fn a_dry_run_tells_price_duplicates_and_invalid_searches_and_stores_nothing() {
    let server = Setup::new().start();
    let key = server.new_key("pro");
    let mut body = names(&["octocat", "@octocat", "hubot"]);
    let searches = body["searches"].as_array_mut().unwrap();
    searches.push(json!({"type": "username", "query": "a b"}));
    searches.push(json!({"type": "email"}));
    searches.push(json!({"type": "username", "query": "x", "modules": ["no_such_module"]}));
    searches.push(json!("octocat"));
    body["dry_run"] = true.into();
    let answer = post(&server, &key, &body);
    assert_eq!(answer.status, 200, "{answer}");
    let told = answer.json();
    assert_eq!((&told["searches"], &told["credits"]), (&json!(2), &json!(2)), "{answer}");
    assert_eq!(told["duplicates"], json!([{"row": 2, "same_as": 1}]));
    let invalid = told["invalid"].as_array().unwrap();
    let fields: Vec<(u64, &str)> =
        invalid.iter().map(|row| (row["row"].as_u64().unwrap(), row["field"].as_str().unwrap())).collect();
    assert_eq!(fields, [(4, "query"), (5, "query"), (6, "modules"), (7, "searches")]);
    assert!(invalid.iter().all(|row| row["allowed"] != "" && row["line"].is_null()), "{answer}");
    body["dry_run"] = false.into();
    let answer = post(&server, &key, &body);
    answer.is_error(400, "invalid_request");
    assert_eq!(answer.json()["detail"]["rows"].as_array().unwrap().len(), 4, "{answer}");
    let credits = server.request("GET", "/v1/credits").key(&key).send().json();
    let batches = server.request("GET", "/v1/batches").key(&key).send().json();
    assert_eq!((&credits["credits_used"], &batches["count"]), (&json!(0), &json!(0)));
}

#[test]
fn a_search_with_variants_takes_the_best_ten() {
    let server = Setup::new().start();
    let search = |query: &str, more: &Value| {
        let mut search = json!({"type": "username", "query": query});
        search.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        search
    };
    let wanted =
        server.request("POST", "/v1/variants").key(&server.key).json(&json!({"username": "ada.lovelace"}));
    let wanted = wanted.send().json()["variants"].as_array().unwrap()[..10].to_vec();
    let wanted: Vec<&str> = wanted.iter().map(|variant| variant["username"].as_str().unwrap()).collect();
    let searches = [
        search("ada.lovelace", &json!({"variants": true, "modules": ["github"]})),
        // The list has this search already: it is one of the variants.
        search(wanted[1], &json!({"modules": ["github"]})),
        search("hubot", &json!({"variants": null})),
    ];
    let preview = post(&server, &server.key, &json!({"searches": searches, "dry_run": true})).json();
    assert_eq!((&preview["credits"], &preview["duplicate_count"]), (&json!(11), &json!(0)), "{preview}");
    let batch = ended(&server, &accepted(&server, &json!({"searches": searches})));
    let rows = batch["searches"].as_array().unwrap();
    let rows: Vec<(u64, &str)> =
        rows.iter().map(|row| (row["row"].as_u64().unwrap(), row["query"].as_str().unwrap())).collect();
    assert_eq!(rows[..3], [(1, "ada.lovelace"), (2, wanted[1]), (3, "hubot")]);
    let others: Vec<(u64, &str)> = (5..).zip(wanted[2..].iter().copied()).collect();
    assert_eq!(rows[3..], others);
    assert_eq!(batch["total"], 11);
    for (more, message) in
        [(json!({"type": "domain", "query": "example.com"}), "usernames only"), (json!({}), "true or false")]
    {
        let flag = if more == json!({}) { json!("yes") } else { json!(true) };
        let mut search = search("octocat", &json!({"variants": flag}));
        search.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = post(&server, &server.key, &json!({"searches": [search]}));
        answer.is_error(400, "invalid_request");
        let row = &answer.json()["detail"]["rows"][0];
        assert_eq!(row["field"], "variants", "{answer}");
        assert!(row["allowed"].as_str().unwrap().contains(message), "{answer}");
    }
    let many: Vec<Value> =
        (0..101).map(|n| search(&format!("name.of{n}"), &json!({"variants": true}))).collect();
    post(&server, &server.key, &json!({"searches": many})).is_error(400, "invalid_request");
}

#[test]
fn csv_is_accepted_as_spreadsheets_write_it() {
    let server = Setup::new().start();
    let csv = b"\xef\xbb\xbftype;query\r\nusername;octocat\r\nusername;@octocat\r\nemail;nobody\r\n";
    let answer = post_csv(&server, "?dry_run=true", csv);
    assert_eq!(answer.status, 200, "{answer}");
    let told = answer.json();
    assert_eq!((&told["searches"], &told["duplicate_count"]), (&json!(1), &json!(1)), "{answer}");
    assert_eq!((&told["invalid"][0]["row"], &told["invalid"][0]["line"]), (&json!(3), &json!(4)), "{answer}");
    let answer = post_csv(&server, "?type=username&name=two+names", b"octocat\nhubot\n");
    assert_eq!(answer.status, 201, "{answer}");
    assert_eq!((&answer.json()["total"], &answer.json()["name"]), (&json!(2), &json!("two names")));
    post_csv(&server, "", b"a,b\n1,2\n").is_error(400, "invalid_request");
    post_csv(&server, "", b"octocat\n").is_error(400, "invalid_request");
    let request = server.request("POST", "/v1/batches").key(&server.key);
    request
        .header("Content-Type", "text/plain")
        .body(b"octocat")
        .send()
        .is_error(415, "unsupported_media_type");
}

#[test]
fn a_thousand_searches_are_accepted_at_once_and_one_more_is_not() {
    let server = Setup::new().start();
    let purpose = "x".repeat(200);
    let search = |number: usize| json!({"type": "username", "query": format!("name{number}"), "modules": ["github"], "purpose": purpose});
    let body = |count: usize| json!({"searches": (0..count).map(search).collect::<Vec<Value>>()});
    // This is more than other addresses accept.
    assert!(body(1000).to_string().len() > 200_000);
    let id = accepted(&server, &body(1000));
    let batch = read(&server, &id);
    assert_eq!((&batch["total"], batch["searches"].as_array().unwrap().len()), (&json!(1000), 1000));
    assert_eq!(server.delete(&format!("/v1/batches/{id}")).status, 204);
    let batch = ended(&server, &id);
    assert_eq!(batch["status"], "stopped");
    assert!(batch["counts"]["skipped"].as_u64().unwrap() > 0, "{batch}");
    for count in [0, 1001] {
        post(&server, &server.key, &body(count)).is_error(400, "invalid_request");
    }
    let large = vec![b' '; 70_000];
    let request = server.request("POST", "/v1/searches").key(&server.key);
    request.header("Content-Type", "application/json").body(&large).send().is_error(413, "payload_too_large");
    let large = vec![b'\n'; 2 * 1024 * 1024 + 1];
    post_csv(&server, "", &large).is_error(413, "payload_too_large");
}

#[test]
fn a_repeated_request_gets_the_same_batch() {
    let server = Setup::new().start();
    let send = |body: &Value| {
        let request = server.request("POST", "/v1/batches").key(&server.key).json(body);
        request.header("Idempotency-Key", "order-1").send()
    };
    let first = send(&names(&["octocat"]));
    assert_eq!(first.status, 201, "{first}");
    assert_eq!(send(&names(&["octocat"])).json()["batch_id"], first.json()["batch_id"]);
    send(&names(&["hubot"])).is_error(422, "idempotency_mismatch");
}

#[test]
fn batches_belong_to_their_account() {
    let server = Setup::new().start();
    let id = accepted(&server, &names(&["octocat"]));
    let stranger = server.new_key("pro");
    for (method, path) in [
        ("GET", format!("/v1/batches/{id}")),
        ("DELETE", format!("/v1/batches/{id}")),
        ("GET", format!("/v1/batches/{id}/export")),
        ("GET", format!("/v1/batches/{id}/matrix")),
        ("GET", "/v1/batches/x".to_owned()),
    ] {
        server.request(method, &path).key(&stranger).send().is_error(404, "not_found");
    }
    let premium = json!({"searches": [{"type": "username", "query": "octocat", "premium": true}]});
    post(&server, &server.new_key("free"), &premium).is_error(403, "plan_required");
}

#[test]
fn a_suppressed_identifier_is_refused_when_its_turn_comes() {
    let (server, _folder) = suppressing("username", "@Octocat\n");
    let id = accepted(&server, &names(&["octocat", "hubot"]));
    let batch = ended(&server, &id);
    assert_eq!(batch["searches"][0]["status"], "refused");
    assert_eq!(batch["searches"][0]["reason"], "suppressed");
    assert_eq!(batch["searches"][1]["status"], "completed");
    assert_eq!(batch["status"], "completed");
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
}
