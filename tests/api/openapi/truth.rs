//! Real answers compared with the document: status, media type, headers, body, events.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schemas::Schemas;
use super::{ask, operation, resolve};
use crate::retention::suppress::suppressing;
use crate::support::databases::postgres;
use crate::support::eventually;
use crate::support::server::{Answer, Event, Server, Setup};
use crate::support::site::{Site, with_headers};

/// Headers of HTTP itself, which the document does not describe.
const OF_HTTP: [&str; 6] =
    ["date", "content-length", "content-type", "content-encoding", "connection", "transfer-encoding"];

/// Compares answers with the document, and collects the errors that it has seen.
struct Judge {
    schemas: Schemas,
    errors: RefCell<BTreeSet<(u16, String)>>,
}

impl Judge {
    fn new() -> Self {
        Self { schemas: Schemas::new(), errors: RefCell::default() }
    }

    /// Returns the documented response for a status, and its address.
    fn response(&self, path: &str, method: &str, status: u16) -> (String, &'static Value) {
        let response = &operation(path, method)["responses"][status.to_string()];
        assert!(!response.is_null(), "{method} {path} answered {status}, which is not documented");
        let pointer = match response["$ref"].as_str() {
            Some(reference) => reference.trim_start_matches('#').to_owned(),
            None => format!("/paths/{}/{method}/responses/{status}", path.replace('/', "~1")),
        };
        (pointer, resolve(response))
    }

    fn headers(&self, documented: &Value, sent: &[(String, String)]) {
        for name in ["X-Request-Id", "Cache-Control", "X-Content-Type-Options"] {
            assert!(
                sent.iter().any(|(sent, _)| sent.eq_ignore_ascii_case(name)),
                "{name} is missing: {sent:?}"
            );
        }
        let documented = documented["headers"].as_object().unwrap();
        for (name, value) in sent.iter().filter(|(name, _)| !OF_HTTP.contains(&name.to_lowercase().as_str()))
        {
            let known = documented.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let (_, header) = known.unwrap_or_else(|| panic!("{name}: {value} is not documented"));
            let pointer = header["$ref"].as_str().unwrap().trim_start_matches('#').to_owned() + "/schema";
            let value = match resolve(header)["schema"]["type"].as_str() {
                Some("integer") => json!(value.parse::<u64>().unwrap()),
                _ => json!(value),
            };
            self.schemas.check(&pointer, &value);
        }
    }

    /// Checks one answer of an operation.
    #[track_caller]
    fn judge(&self, path: &str, method: &str, answer: &Answer) {
        let (pointer, response) = self.response(path, method, answer.status);
        self.headers(response, &answer.headers);
        match answer.header("content-type") {
            None => assert!(response["content"].is_null() && answer.body.is_empty(), "{answer}"),
            Some(media_type) => {
                let media_type = media_type.split(';').next().unwrap();
                assert!(
                    !response["content"][media_type].is_null(),
                    "{media_type} is not documented: {answer}"
                );
                let schema = format!("{pointer}/content/{}/schema", media_type.replace('/', "~1"));
                let value = match media_type.ends_with("json") && media_type != "application/x-ndjson" {
                    true => answer.json(),
                    false => json!(String::from_utf8(answer.body.clone()).unwrap()),
                };
                self.schemas.check(&schema, &value);
            }
        }
        if answer.status >= 400 {
            let code = answer.json()["error"].as_str().unwrap().to_owned();
            self.errors.borrow_mut().insert((answer.status, code));
        }
    }

    fn event(&self, event: &Event) {
        let event = json!({"event": event.event, "data": event.data.to_string()});
        self.schemas.check("/components/schemas/StreamEvent", &event);
    }
}

const SEARCHES: &str = "/v1/searches";
const RUN: &str = "/v1/searches/{run_id}";
const ANNOTATION: &str = "/v1/searches/{run_id}/results/{result_id}/annotation";
const EXPORT: &str = "/v1/searches/{run_id}/export";
const DIFF: &str = "/v1/searches/{run_id}/diff/{other}";
const STREAM: &str = "/v1/searches/{run_id}/stream";
const WATCHES: &str = "/v1/watches";
const WATCH: &str = "/v1/watches/{watch_id}";
const WEBHOOKS: &str = "/v1/webhooks";
const WEBHOOK: &str = "/v1/webhooks/{webhook_id}";

fn get(judge: &Judge, server: &Server, path: &str, address: &str, headers: &[(&str, &str)]) -> Answer {
    let key = format!("Bearer {}", server.key);
    let mut all = vec![("Authorization", key.as_str())];
    all.extend(headers);
    let answer = ask(server, "GET", address, &all, None);
    judge.judge(path, "get", &answer);
    answer
}

fn post(judge: &Judge, server: &Server, headers: &[(&str, &str)], body: &Value) -> Answer {
    let key = format!("Bearer {}", server.key);
    let mut all = vec![("Authorization", key.as_str()), ("Content-Type", "application/json")];
    all.extend(headers);
    let answer = ask(server, "POST", SEARCHES, &all, Some(&body.to_string()));
    judge.judge(SEARCHES, "post", &answer);
    answer
}

#[test]
fn every_success_is_as_documented() {
    let judge = Judge::new();
    let server = Setup::new().start();
    let mut runs = Vec::new();
    for (kind, query) in [
        ("username", "alice"),
        ("email", "alice@example.com"),
        ("domain", "example.com"),
        ("username", "broken.smith"),
    ] {
        let waited = post(
            &judge,
            &server,
            &[("Prefer", "wait=30")],
            &json!({"type": kind, "query": query, "wait": true}),
        );
        assert_eq!(waited.header("preference-applied"), Some("wait=30"));
        let run = waited.header("x-run-id").unwrap().to_owned();
        // On a busy machine the whole search may take longer than the wait.
        let status = server.finished(&run)["status"].clone();
        assert_eq!(status, if query.starts_with("broken") { "failed" } else { "completed" }, "{waited}");
        runs.push(run);
    }
    let small = json!({"type": "username", "query": "alice", "modules": ["github"], "wait": true});
    let small_run = post(&judge, &server, &[], &small);
    assert_eq!(small_run.json()["status"], "completed");
    post(
        &judge,
        &server,
        &[("Idempotency-Key", "one")],
        &json!({"type": "username", "query": "bob", "premium": true}),
    );
    for path in ["/v1/me", "/v1/credits", "/v1/modules", "/v1/health", "/v1/capabilities", "/openapi.json"] {
        get(&judge, &server, path, path, &[]);
        get(&judge, &server, path, path, &[("Accept-Encoding", "gzip"), ("X-Request-Id", "mine")]);
    }
    for run in &runs {
        let address = RUN.replace("{run_id}", run);
        let whole = get(&judge, &server, RUN, &address, &[]);
        let tag = whole.header("etag").unwrap().to_owned();
        assert_eq!(get(&judge, &server, RUN, &address, &[("If-None-Match", &tag)]).status, 304);
        get(&judge, &server, "/v1/searches/{run_id}/modules", &format!("{address}/modules"), &[]);
        get(&judge, &server, DIFF, &format!("{address}/diff/{run}"), &[]);
        for format in ["json", "ndjson", "csv", "html"] {
            get(&judge, &server, EXPORT, &format!("{address}/export?format={format}"), &[]);
        }
    }
    // Another choice of modules: the results of the others are unknown.
    let less = small_run.json()["run_id"].as_str().unwrap().to_owned();
    get(&judge, &server, DIFF, &format!("/v1/searches/{}/diff/{less}", runs[0]), &[]);
    let page = get(&judge, &server, SEARCHES, "/v1/searches?limit=2&type=username&status=completed", &[]);
    let cursor = page.json()["next_cursor"].as_str().map(str::to_owned);
    let cursor = cursor.unwrap_or_else(|| {
        get(&judge, &server, SEARCHES, "/v1/searches?limit=1", &[]).json()["next_cursor"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    get(&judge, &server, SEARCHES, &format!("/v1/searches?cursor={cursor}"), &[]);
    let deleted = server.delete(&RUN.replace("{run_id}", &runs[0]));
    judge.judge(RUN, "delete", &deleted);
    // The pro plan has a number where the unlimited plan has the word.
    let pro = server.new_key("pro");
    for path in ["/v1/me", "/v1/credits"] {
        judge.judge(path, "get", &ask(&server, "GET", path, &[("X-API-Key", &pro)], None));
    }
    webhooks(&judge);
    watches(&judge, &server);
    notes(&judge, &server, &runs[1]);
    let health = Setup::real().start().request("GET", "/v1/health").send();
    judge.judge("/v1/health", "get", &health);
}

/// Calls every operation on notes, and reads what has them.
fn notes(judge: &Judge, server: &Server, run: &str) {
    let headers: &[(&str, &str)] = &[("X-API-Key", &server.key), ("Content-Type", "application/json")];
    let address = RUN.replace("{run_id}", run);
    for (path, address, body) in [
        (RUN, address.clone(), json!({"tags": ["Case-7", "prüfung"], "note": "first\nsecond"})),
        (
            ANNOTATION,
            format!("{address}/results/1/annotation"),
            json!({"note": "x", "not_this_person": true}),
        ),
    ] {
        let answer = ask(server, "PATCH", &address, headers, Some(&body.to_string()));
        assert_eq!(answer.status, 200, "{answer}");
        judge.judge(path, "patch", &answer);
    }
    get(judge, server, RUN, &address, &[]);
    get(judge, server, EXPORT, &format!("{address}/export?format=json"), &[]);
    let listed = get(judge, server, SEARCHES, "/v1/searches?tag=case-7", &[]).json();
    assert_eq!(listed["count"], 1, "{listed}");
}

/// Calls every operation on watches.
fn watches(judge: &Judge, server: &Server) {
    let headers: &[(&str, &str)] = &[("X-API-Key", &server.key), ("Content-Type", "application/json")];
    let call = |method: &str, path: &str, address: &str, body: Option<&Value>| {
        let headers = if body.is_some() { headers } else { &headers[..1] };
        let answer = ask(server, method, address, headers, body.map(Value::to_string).as_deref());
        judge.judge(path, &method.to_lowercase(), &answer);
        answer.json()
    };
    let body = json!({"type": "username", "query": "everybody", "modules": ["github"], "every": "1d"});
    let created = call("POST", WATCHES, WATCHES, Some(&body));
    let address = format!("{WATCHES}/{}", created["id"].as_str().unwrap());
    call("POST", &format!("{WATCH}/run"), &format!("{address}/run"), None);
    let pause = json!({"state": "paused", "every": "12h", "notify_on": ["removed"], "webhook_id": null});
    call("PATCH", WATCH, &address, Some(&pause));
    call("GET", WATCH, &address, None);
    call("GET", WATCHES, &format!("{WATCHES}?limit=1"), None);
    for list in ["runs", "changes"] {
        call("GET", &format!("{WATCH}/{list}"), &format!("{address}/{list}?limit=1"), None);
    }
    let deleted = server.delete(&address);
    judge.judge(WATCH, "delete", &deleted);
}

/// Calls every operation on webhooks.
fn webhooks(judge: &Judge) {
    let receiver = Site::saying(with_headers("", b"thanks"));
    let server = Setup::new().flag("--allow-private-targets").start();
    let key = ("X-API-Key", server.key.as_str());
    let call = |method: &str, path: &str, address: &str, body: Option<&Value>| {
        let headers: &[(&str, &str)] = &[key, ("Content-Type", "application/json")];
        let headers = if body.is_some() { headers } else { &headers[..1] };
        let answer = ask(&server, method, address, headers, body.map(Value::to_string).as_deref());
        judge.judge(path, &method.to_lowercase(), &answer);
        answer
    };
    let body = json!({"url": receiver.url("/"), "events": ["run.completed", "run.failed"]});
    let created = call("POST", WEBHOOKS, WEBHOOKS, Some(&body)).json();
    let address = format!("{WEBHOOKS}/{}", created["id"].as_str().unwrap());
    let delivery = call("POST", &format!("{WEBHOOK}/test"), &format!("{address}/test"), None).json();
    let delivery = format!("{address}/deliveries/{}", delivery["id"].as_str().unwrap());
    let (list, listed) = (format!("{WEBHOOK}/deliveries"), format!("{address}/deliveries?limit=1"));
    eventually("the message is delivered", || {
        call("GET", &list, &listed, None).json()["deliveries"][0]["status"] == "delivered"
    });
    call("POST", &format!("{list}/{{delivery_id}}/replay"), &format!("{delivery}/replay"), None);
    call("POST", &format!("{WEBHOOK}/rotate"), &format!("{address}/rotate"), None);
    call("PATCH", WEBHOOK, &address, Some(&json!({"enabled": false})));
    call("GET", WEBHOOK, &address, None);
    call("GET", WEBHOOKS, WEBHOOKS, None);
    call("DELETE", WEBHOOK, &address, None);
}

/// Creates one webhook too many, and one on a server without a key for its secret.
fn refused_webhooks(judge: &Judge) {
    let body = json!({"url": "https://hooks.example.com/", "events": ["run.failed"]}).to_string();
    let create = |server: &Server| {
        let headers = [("X-API-Key", server.key.as_str()), ("Content-Type", "application/json")];
        let answer = ask(server, "POST", WEBHOOKS, &headers, Some(&body));
        judge.judge(WEBHOOKS, "post", &answer);
        answer
    };
    let server = Setup::new().start();
    let statuses: Vec<u16> = (0..11).map(|_| create(&server).status).collect();
    assert_eq!((statuses[9], statuses[10]), (201, 409));
    let database = postgres();
    create(&Setup::new().database(&database.url).start()).is_error(503, "webhooks_unavailable");
}

/// Opens one stream where one is allowed.
fn overload(judge: &Judge) {
    let server = Setup::new().realistic().flag("--max-streams=1").start();
    let body = json!({"type": "username", "query": "alice", "stream": true});
    let mut open = server.request("POST", SEARCHES).key(&server.key).json(&body).stream();
    assert_eq!(open.next().unwrap().event, "run");
    let refused = post(judge, &server, &[], &body);
    refused.is_error(503, "overloaded");
}

#[test]
fn every_event_is_as_documented() {
    let judge = Judge::new();
    let server = Setup::new().all_modules().start();
    let mut seen = BTreeSet::new();
    for (kind, query) in [("username", "alice"), ("domain", "example.com"), ("username", "broken.smith")] {
        let body = json!({"type": kind, "query": query, "stream": true});
        let stream = server.request("POST", SEARCHES).key(&server.key).json(&body).stream();
        let run = stream.header("x-run-id").unwrap().to_owned();
        judge_head(&judge, SEARCHES, "post", &stream.headers);
        let attached = format!("/v1/searches/{run}/stream?after=1");
        for event in stream.all() {
            judge.event(&event);
            seen.insert(event.event);
        }
        let stream = server.stream(&attached);
        judge_head(&judge, STREAM, "get", &stream.headers);
        stream.all().iter().for_each(|event| judge.event(event));
    }
    // Its leads start searches.
    let body = json!({"type": "username", "query": "person8", "stream": true, "follow": {"max_searches": 1}});
    let stream = server.request("POST", SEARCHES).key(&server.key).json(&body).stream();
    for event in stream.all() {
        judge.event(&event);
        seen.insert(event.event);
    }
    let server = Setup::new().all_modules().realistic().flag("--times=stream=100ms").start();
    let body = json!({"type": "username", "query": "alice", "stream": true});
    for event in server.request("POST", SEARCHES).key(&server.key).json(&body).stream().all() {
        judge.event(&event);
        seen.insert(event.event);
    }
    let mut server = Setup::new().all_modules().realistic().start();
    let mut stream = server.request("POST", SEARCHES).key(&server.key).json(&body).stream();
    assert_eq!(stream.next().unwrap().event, "run");
    assert!(server.terminate().success());
    for event in stream.all() {
        judge.event(&event);
        seen.insert(event.event);
    }
    let documented = super::DOCUMENT["components"]["schemas"]["StreamEvent"]["discriminator"]["mapping"]
        .as_object()
        .unwrap();
    assert_eq!(
        seen.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        documented.keys().map(String::as_str).collect()
    );
}

fn judge_head(judge: &Judge, path: &str, method: &str, headers: &[(String, String)]) {
    let (_, response) = judge.response(path, method, 200);
    judge.headers(response, headers);
    let media_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type")).unwrap();
    assert!(!response["content"][&media_type.1].is_null(), "{media_type:?}");
}

mod postgres {
    use super::*;

    #[test]
    fn every_error_is_as_documented() {
        let judge = Judge::new();
        let server = Setup::new()
            .flag("--plans=free=5,basic=30:premium,pro=1:api,unlimited=unlimited:api:premium")
            .start();
        let good = json!({"type": "username", "query": "alice"});
        post(&judge, &server, &[], &json!({"type": "username"}));
        post(&judge, &server, &[], &json!({"type": "username", "query": "a b"}));
        post(&judge, &server, &[], &json!({"type": "username", "query": "alice", "modules": ["none.such"]}));
        post(&judge, &server, &[("Idempotency-Key", "k")], &good);
        post(&judge, &server, &[("Idempotency-Key", "k")], &json!({"type": "username", "query": "bob"}));
        let keyed = |key: &str, headers: &[(&str, &str)], body: &str| {
            let mut all = vec![("X-API-Key", key)];
            all.extend(headers);
            judge.judge(SEARCHES, "post", &ask(&server, "POST", SEARCHES, &all, Some(body)));
        };
        let json_type = ("Content-Type", "application/json");
        keyed("nonsense", &[json_type], &good.to_string());
        keyed(&server.new_key("basic"), &[json_type], &good.to_string());
        let pro = server.new_key("pro");
        keyed(&pro, &[json_type], &good.to_string());
        keyed(&pro, &[json_type], &good.to_string());
        let large = format!("{{\"x\":\"{}\"}}", "x".repeat(70_000));
        keyed(&server.key, &[json_type], &large);
        keyed(&server.key, &[("Content-Type", "text/plain")], &good.to_string());
        let [ended, other, running] = ["nobody", "nobody2", "silent"].map(|query| {
            let run = server.search("username", query);
            if query != "silent" {
                server.finished(&run);
            }
            run
        });
        for (path, address) in [
            (DIFF, format!("/v1/searches/{ended}/diff/{running}")),
            (DIFF, format!("/v1/searches/{ended}/diff/{other}")),
            (RUN, "/v1/searches/018f4a7e-5c1d-7b3a-9e2f-0123456789ab".to_owned()),
            (STREAM, "/v1/searches/x/stream".to_owned()),
            (SEARCHES, "/v1/searches?limit=0".to_owned()),
            (EXPORT, "/v1/searches/x/export".to_owned()),
            ("/v1/me", format!("/v1/me?{}", "x".repeat(9000))),
        ] {
            get(&judge, &server, path, &address, &[]);
        }
        let long = "x".repeat(40_000);
        get(&judge, &server, "/v1/health", "/v1/health", &[("X-Long", &long)]);
        let limited = Setup::new()
            .flag("--rate-limits=read=1")
            .flag("--rate-limits=search=1")
            .flag("--rate-limits=stream=1")
            .start();
        for _ in 0..2 {
            get(&judge, &limited, "/v1/me", "/v1/me", &[]);
            post(&judge, &limited, &[], &good);
            get(&judge, &limited, STREAM, "/v1/searches/x/stream", &[]);
        }
        // Without the simulated web there is no browser.
        let real = Setup::real().start();
        post(&judge, &real, &[], &json!({"type": "username", "query": "alice", "premium": true}));
        overload(&judge);
        refused_webhooks(&judge);
        let (quiet, _list) = suppressing("username", "alice");
        post(&judge, &quiet, &[], &good);
        let seen = judge.errors.take();
        // Not produced here: a slow body, one in chunks, a race, a defect, an unavailable database.
        let elsewhere = [
            (408, "invalid_request"),
            (411, "invalid_request"),
            (409, "idempotency_conflict"),
            (500, "internal_error"),
            (503, "unavailable"),
            (405, "method_not_allowed"),
        ];
        let all: BTreeSet<(u16, String)> = sightline::service::refusal::FAILURES
            .iter()
            .map(|(status, code)| (*status, code.as_str().to_owned()))
            .filter(|(status, code)| !elsewhere.contains(&(*status, code.as_str())))
            .collect();
        assert_eq!(seen, all);
    }
}
