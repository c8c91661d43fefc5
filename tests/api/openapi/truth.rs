//! Real answers compared with the document: status, media type, headers, body, events.

use std::cell::RefCell;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schemas::Schemas;
use super::{ask, operation, resolve};
use crate::retention::suppress::suppressing;
use crate::support::databases::postgres;
use crate::support::eventually;
use crate::support::server::{Answer, Event, EventStream, Server, Setup};
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
const STREAM: &str = "/v1/searches/{run_id}/stream";
const WATCH: &str = "/v1/watches/{watch_id}";
const WEBHOOK: &str = "/v1/webhooks/{webhook_id}";
const DELIVERIES: &str = "/v1/webhooks/{webhook_id}/deliveries";

/// Sends requests to one server, and judges the answers.
struct Client<'a> {
    judge: &'a Judge,
    server: &'a Server,
    key: &'a str,
}

impl<'a> Client<'a> {
    fn new(judge: &'a Judge, server: &'a Server) -> Self {
        Self { judge, server, key: &server.key }
    }

    /// Calls `METHOD /path`. Behind the path may stand what replaces its ids, in their order, and a query.
    #[track_caller]
    fn call(&self, call: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let mut words = call.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let mut address = path.to_owned();
        for word in words {
            match (word.starts_with('?'), address.split_once('{')) {
                (false, Some((before, rest))) => {
                    address = format!("{before}{word}{}", rest.split_once('}').unwrap().1);
                }
                _ => address.push_str(word),
            }
        }
        let key = format!("Bearer {}", self.key);
        let mut all = vec![("Authorization", key.as_str())];
        let is_typed = headers.iter().any(|(name, _)| *name == "Content-Type");
        all.extend(body.filter(|_| !is_typed).map(|_| ("Content-Type", "application/json")));
        all.extend(headers);
        let answer = ask(self.server, method, &address, &all, body);
        self.judge.judge(path, &method.to_lowercase(), &answer);
        answer
    }

    #[track_caller]
    fn get(&self, call: &str) -> Answer {
        self.call(&format!("GET {call}"), &[], None)
    }

    #[track_caller]
    fn send(&self, call: &str, body: &Value) -> Answer {
        self.call(call, &[], Some(&body.to_string()))
    }

    #[track_caller]
    fn search(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.call("POST /v1/searches", headers, Some(&body.to_string()))
    }
}

#[test]
fn every_success_is_as_documented() {
    let judge = Judge::new();
    let server = Setup::new().start();
    let client = Client::new(&judge, &server);
    let mut runs = Vec::new();
    for (kind, query) in [
        ("username", "alice"),
        ("email", "alice@example.com"),
        ("domain", "example.com"),
        ("username", "broken.smith"),
    ] {
        let body = json!({"type": kind, "query": query, "wait": true});
        let waited = client.search(&[("Prefer", "wait=30")], &body);
        assert_eq!(waited.header("preference-applied"), Some("wait=30"));
        let run = waited.header("x-run-id").unwrap().to_owned();
        // On a busy machine the whole search may take longer than the wait.
        let status = server.finished(&run)["status"].clone();
        assert_eq!(status, if query.starts_with("broken") { "failed" } else { "completed" }, "{waited}");
        runs.push(run);
    }
    let small = json!({"type": "username", "query": "alice", "modules": ["github"], "wait": true});
    let small = client.search(&[], &small).json();
    assert_eq!(small["status"], "completed");
    let premium = json!({"type": "username", "query": "bob", "premium": true});
    client.search(&[("Idempotency-Key", "one")], &premium);
    for path in ["/v1/me", "/v1/credits", "/v1/modules", "/v1/health", "/v1/capabilities", "/openapi.json"] {
        client.get(path);
        let headers = [("Accept-Encoding", "gzip"), ("X-Request-Id", "mine")];
        client.call(&format!("GET {path}"), &headers, None);
    }
    for run in &runs {
        let whole = client.get(&format!("{RUN} {run}"));
        let tag = [("If-None-Match", whole.header("etag").unwrap())];
        assert_eq!(client.call(&format!("GET {RUN} {run}"), &tag, None).status, 304);
        client.get(&format!("{RUN}/modules {run}"));
        client.get(&format!("{RUN}/diff/{{other}} {run} {run}"));
        for format in ["json", "ndjson", "csv", "html"] {
            client.get(&format!("{RUN}/export {run} ?format={format}"));
        }
    }
    // Another choice of modules: the results of the others are unknown.
    let less = small["run_id"].as_str().unwrap();
    client.get(&format!("{RUN}/diff/{{other}} {} {less}", runs[0]));
    client.get(&format!("{SEARCHES} ?limit=2&type=username&status=completed"));
    let page = client.get(&format!("{SEARCHES} ?limit=1")).json();
    client.get(&format!("{SEARCHES} ?cursor={}", page["next_cursor"].as_str().unwrap()));
    client.call(&format!("DELETE {RUN} {}", runs[0]), &[], None);
    // The pro plan has a number where the unlimited plan has the word.
    let pro = server.new_key("pro");
    for path in ["/v1/me", "/v1/credits"] {
        Client { key: &pro, ..Client::new(&judge, &server) }.get(path);
    }
    webhooks(&judge);
    watches(&client);
    notes(&client, &runs[1]);
    let real = Setup::real().start();
    Client::new(&judge, &real).get("/v1/health");
}

/// Calls every operation on notes, and reads what has them.
fn notes(client: &Client<'_>, run: &str) {
    let note = json!({"tags": ["Case-7", "prüfung"], "note": "first\nsecond"});
    assert_eq!(client.send(&format!("PATCH {RUN} {run}"), &note).status, 200);
    let call = format!("PATCH {RUN}/results/{{result_id}}/annotation {run} 1");
    assert_eq!(client.send(&call, &json!({"note": "x", "not_this_person": true})).status, 200);
    client.get(&format!("{RUN} {run}"));
    client.get(&format!("{RUN}/export {run} ?format=json"));
    let listed = client.get(&format!("{SEARCHES} ?tag=case-7")).json();
    assert_eq!(listed["count"], 1, "{listed}");
}

/// Calls every operation on watches.
fn watches(client: &Client<'_>) {
    let body = json!({"type": "username", "query": "everybody", "modules": ["github"], "every": "1d"});
    let created = client.send("POST /v1/watches", &body).json();
    let watch = created["id"].as_str().unwrap();
    client.call(&format!("POST {WATCH}/run {watch}"), &[], None);
    let pause = json!({"state": "paused", "every": "12h", "notify_on": ["removed"], "webhook_id": null});
    client.send(&format!("PATCH {WATCH} {watch}"), &pause);
    client.get(&format!("{WATCH} {watch}"));
    client.get("/v1/watches ?limit=1");
    for list in ["runs", "changes"] {
        client.get(&format!("{WATCH}/{list} {watch} ?limit=1"));
    }
    client.call(&format!("DELETE {WATCH} {watch}"), &[], None);
}

/// Calls every operation on webhooks.
fn webhooks(judge: &Judge) {
    let receiver = Site::saying(with_headers("", b"thanks"));
    let server = Setup::new().flag("--allow-private-targets").start();
    let client = Client::new(judge, &server);
    let post = |call: &str| client.call(&format!("POST {call}"), &[], None).json();
    let body = json!({"url": receiver.url("/"), "events": ["run.completed", "run.failed"]});
    let created = client.send("POST /v1/webhooks", &body).json();
    let hook = created["id"].as_str().unwrap();
    let test = post(&format!("{WEBHOOK}/test {hook}"));
    eventually("the message is delivered", || {
        let listed = client.get(&format!("{DELIVERIES} {hook} ?limit=1"));
        listed.json()["deliveries"][0]["status"] == "delivered"
    });
    post(&format!("{DELIVERIES}/{{delivery_id}}/replay {hook} {}", test["id"].as_str().unwrap()));
    post(&format!("{WEBHOOK}/rotate {hook}"));
    client.send(&format!("PATCH {WEBHOOK} {hook}"), &json!({"enabled": false}));
    client.get(&format!("{WEBHOOK} {hook}"));
    client.get("/v1/webhooks");
    client.call(&format!("DELETE {WEBHOOK} {hook}"), &[], None);
}

/// Creates one webhook too many, and one on a server without a key for its secret.
fn refused_webhooks(judge: &Judge) {
    let body = json!({"url": "https://hooks.example.com/", "events": ["run.failed"]});
    let create = |server: &Server| Client::new(judge, server).send("POST /v1/webhooks", &body);
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
    let mut open = server.post_stream(&body);
    assert_eq!(open.next().unwrap().event, "run");
    Client::new(judge, &server).search(&[], &body).is_error(503, "overloaded");
}

#[test]
fn every_event_is_as_documented() {
    let judge = Judge::new();
    let mut seen = BTreeSet::new();
    let mut read = |stream: EventStream| {
        for event in stream.all() {
            judge.event(&event);
            seen.insert(event.event);
        }
    };
    let server = Setup::new().all_modules().start();
    for (kind, query) in [("username", "alice"), ("domain", "example.com"), ("username", "broken.smith")] {
        let stream = server.post_stream(&json!({"type": kind, "query": query, "stream": true}));
        let run = stream.header("x-run-id").unwrap().to_owned();
        judge_head(&judge, SEARCHES, "post", &stream.headers);
        read(stream);
        let stream = server.stream(&format!("/v1/searches/{run}/stream?after=1"));
        judge_head(&judge, STREAM, "get", &stream.headers);
        read(stream);
    }
    // Its leads start searches.
    let follow = json!({"max_searches": 1});
    let body = json!({"type": "username", "query": "person8", "stream": true, "follow": follow});
    read(server.post_stream(&body));
    let server = Setup::new().all_modules().realistic().flag("--times=stream=100ms").start();
    let body = json!({"type": "username", "query": "alice", "stream": true});
    read(server.post_stream(&body));
    let mut server = Setup::new().all_modules().realistic().start();
    let mut stream = server.post_stream(&body);
    assert_eq!(stream.next().unwrap().event, "run");
    assert!(server.terminate().success());
    read(stream);
    let events = &super::DOCUMENT["components"]["schemas"]["StreamEvent"]["discriminator"]["mapping"];
    let documented: BTreeSet<String> = events.as_object().unwrap().keys().cloned().collect();
    assert_eq!(seen, documented);
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
        let client = Client::new(&judge, &server);
        let good = json!({"type": "username", "query": "alice"});
        for wrong in [
            json!({"type": "username"}),
            json!({"type": "username", "query": "a b"}),
            json!({"type": "username", "query": "alice", "modules": ["none.such"]}),
        ] {
            client.search(&[], &wrong);
        }
        for query in ["alice", "bob"] {
            client.search(&[("Idempotency-Key", "k")], &json!({"type": "username", "query": query}));
        }
        let (basic, pro) = (server.new_key("basic"), server.new_key("pro"));
        for key in ["nonsense", &basic, &pro, &pro] {
            Client { key, ..client }.search(&[], &good);
        }
        client.search(&[], &json!({"x": "x".repeat(70_000)}));
        client.search(&[("Content-Type", "text/plain")], &good);
        let [ended, other, running] = ["nobody", "nobody2", "silent"].map(|query| {
            let run = server.search("username", query);
            if query != "silent" {
                server.finished(&run);
            }
            run
        });
        for call in [
            format!("{RUN}/diff/{{other}} {ended} {running}"),
            format!("{RUN}/diff/{{other}} {ended} {other}"),
            format!("{RUN} 018f4a7e-5c1d-7b3a-9e2f-0123456789ab"),
            format!("{STREAM} x"),
            format!("{SEARCHES} ?limit=0"),
            format!("{RUN}/export x"),
            format!("/v1/me ?{}", "x".repeat(9000)),
        ] {
            client.get(&call);
        }
        client.call("GET /v1/health", &[("X-Long", &"x".repeat(40_000))], None);
        let limited = Setup::new()
            .flag("--rate-limits=read=1")
            .flag("--rate-limits=search=1")
            .flag("--rate-limits=stream=1")
            .start();
        let hurried = Client::new(&judge, &limited);
        for _ in 0..2 {
            hurried.get("/v1/me");
            hurried.search(&[], &good);
            hurried.get(&format!("{STREAM} x"));
        }
        // Without the simulated web there is no browser.
        let real = Setup::real().start();
        let premium = json!({"type": "username", "query": "alice", "premium": true});
        Client::new(&judge, &real).search(&[], &premium);
        overload(&judge);
        refused_webhooks(&judge);
        let (quiet, _list) = suppressing("username", "alice");
        Client::new(&judge, &quiet).search(&[], &good);
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
        let all: BTreeSet<(u16, String)> = sightline::model::refusal::FAILURES
            .iter()
            .map(|(status, code)| (*status, code.as_str().to_owned()))
            .filter(|(status, code)| !elsewhere.contains(&(*status, code.as_str())))
            .collect();
        assert_eq!(seen, all);
    }
}
