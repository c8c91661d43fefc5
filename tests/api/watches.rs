//! Watches: searches that are repeated, and what changes between their runs.

use serde_json::{Value, json};

use crate::cli::sightline;
use crate::support::databases::{TestDatabase, databases};
use crate::support::modules::with;
use crate::support::server::{Answer, Server, Setup};
use crate::support::site::{Site, with_headers};
use crate::support::{awaited, eventually};
use crate::webhooks::lab;

/// Sends a request to an address below `/v1/watches`.
fn send(server: &Server, method: &str, below: &str, body: Option<&Value>) -> Answer {
    server.call(method, &format!("/v1/watches{below}"), body)
}

/// Creates a watch on one name with one module. Returns its path below `/v1/watches`.
fn create(server: &Server) -> String {
    let body = json!({"type": "username", "query": "everybody", "modules": ["github"], "every": "1d"});
    let answer = send(server, "POST", "", Some(&body));
    assert_eq!(answer.status, 201, "{answer}");
    format!("/{}", answer.json()["id"].as_str().unwrap())
}

fn read(server: &Server, below: &str) -> Value {
    let answer = send(server, "GET", below, None);
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

/// Waits until the watch has that many runs and the last one was compared. Returns the runs, the newest first.
fn compared(server: &Server, database: &TestDatabase, watch: &str, count: usize) -> Vec<Value> {
    awaited("the runs were compared", || {
        let runs = read(server, &format!("{watch}/runs"))["searches"].as_array().unwrap().clone();
        let open = database.number("SELECT count(*) FROM watches WHERE is_open");
        if runs.len() == count && open == 0 { Ok(runs) } else { Err(Value::Array(runs)) }
    })
}

fn make_due(database: &TestDatabase) {
    database.execute("UPDATE watches SET next_at = created_at");
}

#[test]
fn a_repeated_request_gets_the_same_watch() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let create = |key: &str, path: &str, body: &Value| {
            server.request("POST", path).key(&server.key).header("Idempotency-Key", key).json(body).send()
        };
        let body = json!({"type": "username", "query": "everybody", "modules": ["github"], "every": "1d"});
        let first = create("watch-1", "/v1/watches", &body);
        let again = create("watch-1", "/v1/watches", &body);
        assert_eq!((first.status, again.status), (201, 201), "{first}\n{again}");
        assert_eq!(first.json()["id"], again.json()["id"]);
        assert_eq!(database.number("SELECT count(*) FROM watches"), 1);
        // Neither another watch nor a search gets it.
        let search = json!({"type": "username", "query": "everybody", "modules": ["github"]});
        create("watch-1", "/v1/watches", &with(body.clone(), &json!({"every": "2d"})))
            .is_error(422, "idempotency_mismatch");
        create("watch-1", "/v1/searches", &search).is_error(422, "idempotency_mismatch");
        assert_eq!(create("watch-2", "/v1/watches", &body).status, 201);
        assert_eq!(database.number("SELECT count(*) FROM watches"), 2);
    }
}

#[test]
fn a_repeated_request_for_a_run_is_charged_once_also_after_its_end() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let watch = create(&server);
        compared(&server, &database, &watch, 1);
        let run = |key: &str| {
            let request = server.request("POST", &format!("/v1/watches{watch}/run")).key(&server.key);
            request.header("Idempotency-Key", key).send()
        };
        let first = run("now-1").json()["run_id"].clone();
        compared(&server, &database, &watch, 2);
        assert_eq!(run("now-1").json()["run_id"], first);
        assert_ne!(run("now-2").json()["run_id"], first);
        compared(&server, &database, &watch, 3);
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 3);
    }
}

/// A later version may refuse a query that an earlier one has stored.
#[test]
fn a_watch_whose_query_is_no_longer_valid_is_not_run() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let watch = create(&server);
        compared(&server, &database, &watch, 1);
        database.execute("UPDATE watches SET query = 'no name'");
        let refused = send(&server, "POST", &format!("{watch}/run"), None).is_error(409, "conflict");
        assert!(refused.to_string().contains("delete the watch"), "{refused}");
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
    }
}

#[test]
fn changes_are_found_once_and_sent_once() {
    for database in databases() {
        let site = Site::saying(with_headers("", b"thanks"));
        let server = lab::lab(&database).start();
        let hook = json!({"url": site.url("/"), "events": ["watch.changed"]});
        assert_eq!(lab::send(&server, "POST", "", Some(&hook)).status, 201);
        let watch = create(&server);
        let first = compared(&server, &database, &watch, 1).remove(0);
        assert_eq!(first["watch_id"], watch[1..]);
        assert_eq!(read(&server, &format!("{watch}/changes"))["count"], 0);
        // Nothing has changed on the sites. The stored conclusion is changed instead.
        let result = server.get(&format!("/v1/searches/{}", first["run_id"].as_str().unwrap())).json();
        let result = result["results"][0].clone();
        let name = result["metadata"]["display_name"].as_str().unwrap().to_owned();
        let known = format!("'\"display_name\":\"{name}\"', '\"display_name\":\"Somebody Else\"'");
        database.execute(&format!("UPDATE watches SET baseline = replace(baseline, {known})"));
        let due = server.cli(&["watch", "run", &watch[1..]]);
        assert_eq!(due, format!("due {}\n", &watch[1..]));
        let runs = compared(&server, &database, &watch, 2);
        let changes = read(&server, &format!("{watch}/changes"));
        let change = &changes["changes"][0];
        assert_eq!((&changes["count"], &change["kind"]), (&json!(1), &json!("changed")), "{changes}");
        assert_eq!(&change["run_before_id"], &first["run_id"]);
        assert_eq!(&change["run_after_id"], &runs[0]["run_id"]);
        let field = &change["result"]["fields"][0];
        assert_eq!((&field["before"], &field["after"]), (&json!("Somebody Else"), &json!(name)), "{change}");
        assert_eq!(change["result"]["before_id"], result["id"]);
        eventually("the message arrives", || site.received().len() == 1);
        let body: Value = serde_json::from_slice(&site.received()[0].body).unwrap();
        let data = json!({
            "watch_id": watch[1..], "run_id": runs[0]["run_id"], "added": 0, "removed": 0, "changed": 1,
        });
        assert_eq!((&body["type"], &body["data"]), (&json!("watch.changed"), &data));
        // The next run finds the same, so there is no further change.
        make_due(&database);
        compared(&server, &database, &watch, 3);
        assert_eq!(read(&server, &format!("{watch}/changes"))["count"], 1);
        assert_eq!(database.number("SELECT count(*) FROM webhook_deliveries"), 1);
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 3);
    }
}

#[test]
fn a_run_that_cannot_be_read_holds_up_no_other_watch() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let watch = create(&server);
        compared(&server, &database, &watch, 1);
        // The comparison of this run begins again, and cannot read how its modules ended.
        database.execute("UPDATE module_reports SET reports = '[1]'");
        database.execute("UPDATE watches SET is_open = true");
        let other = create(&server);
        compared(&server, &database, &other, 1);
        // The other one can go on, too.
        make_due(&database);
        compared(&server, &database, &watch, 2);
    }
}

#[test]
fn a_watch_pauses_without_credits_and_resumes_with_them() {
    for database in databases() {
        let plans = "--plans=pro=1:api,big=100:api,unlimited=unlimited:api:premium";
        let mut server = Setup::new().database(&database.url).flag(plans).start();
        server.key = server.new_key("pro");
        let watch = create(&server);
        compared(&server, &database, &watch, 1);
        send(&server, "POST", &format!("{watch}/run"), None).is_error(402, "insufficient_credits");
        make_due(&database);
        eventually("the watch pauses", || read(&server, &watch)["paused_reason"] == "credits");
        assert_eq!(read(&server, &format!("{watch}/runs"))["count"], 1);
        database.execute("UPDATE accounts SET plan = 'big' WHERE plan = 'pro'");
        // A server looks for credits when it starts, and then once a minute.
        let key = server.key.clone();
        let mut server = server.restart(&[plans]);
        server.key = key;
        compared(&server, &database, &watch, 2);
        assert_eq!(read(&server, &watch)["state"], "active");
    }
}

#[test]
fn mistakes_are_named_and_foreign_watches_are_unknown() {
    let mut server = Setup::new().start();
    let every = |every: &str| {
        let body = json!({"type": "email", "query": "alice@example.com", "every": every});
        send(&server, "POST", "", Some(&body)).is_error(400, "invalid_request")
    };
    assert_eq!(every("30m")["message"], "invalid `every`: 30m is below the minimum of 1h");
    assert_eq!(every("31d")["message"], "invalid `every`: 31d is above the maximum of 30d");
    assert_eq!(every("daily")["detail"]["field"], "every");
    let body = json!({"type": "email", "query": "alice@example.com", "every": "1d", "notify_on": ["gone"]});
    send(&server, "POST", "", Some(&body)).is_error(400, "invalid_request");
    let webhook = "018f4a7e-5c1d-7b3a-9e2f-0123456789ab";
    let body = json!({"type": "email", "query": "alice@example.com", "every": "1d", "webhook_id": webhook});
    let error = send(&server, "POST", "", Some(&body)).is_error(400, "invalid_request");
    assert_eq!(error["detail"]["field"], "webhook_id");
    let watch = create(&server);
    let listed: Value = serde_json::from_str(&server.cli(&["watch", "list", "--format=json"])).unwrap();
    let read_first = read(&server, &watch);
    for member in ["id", "type", "query", "every", "state", "paused_reason", "next_run_at", "created_at"] {
        assert_eq!(listed[0][member], read_first[member], "{member}: {listed}");
    }
    let paused = send(&server, "PATCH", &watch, Some(&json!({"state": "paused"}))).json();
    let table = server.cli(&["watch", "list"]);
    assert!(table.starts_with("ID ") && table.contains("  paused  user  "), "{table}");
    assert!(table.trim_end().ends_with("  -"), "a paused watch has no next run: {table}");
    let refused =
        sightline(&["watch", "run", &watch[1..], "--database", &server.database], &[]).output().unwrap();
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(3) && told.contains("paused by its owner"), "{told}");
    assert_eq!((&paused["state"], &paused["paused_reason"]), (&json!("paused"), &json!("user")));
    let resumed = send(&server, "PATCH", &watch, Some(&json!({"state": "active", "every": "36h"}))).json();
    assert_eq!((&resumed["state"], &resumed["every"]), (&json!("active"), &json!("36h")));
    let stranger = server.new_key("pro");
    let own = std::mem::replace(&mut server.key, stranger);
    for (method, below) in
        [("GET", ""), ("DELETE", ""), ("GET", "/runs"), ("GET", "/changes"), ("POST", "/run")]
    {
        send(&server, method, &format!("{watch}{below}"), None).is_error(404, "not_found");
    }
    server.key = own;
    assert_eq!(send(&server, "DELETE", &watch, None).status, 204);
    send(&server, "GET", &watch, None).is_error(404, "not_found");
}
