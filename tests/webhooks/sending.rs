//! Deliveries: what receivers get, and when.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use ring::hmac;
use serde_json::{Value, json};

use super::lab::{attempted, create, deliveries, id, lab, send, test};
use crate::support::databases::{databases, sqlite};
use crate::support::server::Setup;
use crate::support::site::{Received, Site, hold, with_headers};
use crate::support::{awaited, eventually};

#[test]
fn the_end_of_a_search_is_delivered_with_ids_and_counts() {
    for database in databases() {
        let site = Site::saying(with_headers("X-Seen: yes\r\n", b"thanks"));
        let server = lab(&database).start();
        let webhook = create(&server, &site.url("/in?x=1"));
        let done = server.search("username", "alice");
        let failed = server.search("username", "broken.smith");
        assert_eq!(server.finished(&done)["status"], "completed");
        assert_eq!(server.finished(&failed)["status"], "failed");
        eventually("both messages arrive", || site.received().len() == 2);
        for (kind, run) in [("run.completed", &done), ("run.failed", &failed)] {
            let message = |body: &Value| body["type"] == kind;
            let received = site.received();
            let (request, body) = received
                .iter()
                .map(|request| (request, serde_json::from_slice::<Value>(&request.body).unwrap()))
                .find(|(_, body)| message(body))
                .unwrap();
            assert_eq!(request.line(), "POST /in?x=1 HTTP/1.1");
            assert_eq!(body["data"]["run_id"], **run, "{body}");
            let found = server.finished(run);
            assert_eq!(body["data"]["total_results"], found["total_results"]);
            assert_eq!(body["data"]["modules_checked"], found["coverage"]["checked"]);
            assert_eq!(body["data"]["modules_conclusive"], found["coverage"]["conclusive"]);
            assert_eq!(body["data"]["credits_charged"], u64::from(kind == "run.completed"));
            assert_eq!(body["data"]["error"], found["error"]["code"]);
            assert_eq!(body["timestamp"], found["completed_at"]);
            assert!(!body.to_string().contains("alice") && !body.to_string().contains("smith"), "{body}");
            let header = |name: &str| request.header(name).unwrap_or_default();
            assert_eq!(header("content-type"), "application/json");
            assert_eq!(header("webhook-signature"), signature(&webhook, request));
            let delivery = attempted(&server, &webhook, &header("webhook-id"));
            assert_eq!((&delivery["type"], &delivery["status"]), (&json!(kind), &json!("delivered")));
            let last = &delivery["last_attempt"];
            assert_eq!(last["http_status"], 200);
            assert!(last["response_head"].as_str().unwrap().contains("x-seen: yes"), "{last}");
        }
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
        // For a day after a change of the secret, messages are signed with both.
        let rotated = send(&server, "POST", &format!("/{}/rotate", id(&webhook)), None).json();
        test(&server, &webhook);
        eventually("the message arrives", || site.received().len() == 3);
        let last = site.received().pop().unwrap();
        let both = [&rotated, &webhook].map(|webhook| signature(webhook, &last)).join(" ");
        assert_eq!(last.header("webhook-signature"), Some(both));
    }
}

/// Returns the signature of a message with the secret of a webhook, as Standard Webhooks defines it.
fn signature(webhook: &Value, request: &Received) -> String {
    let secret = webhook["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
    let secret = hmac::Key::new(hmac::HMAC_SHA256, &BASE64_STANDARD.decode(secret).unwrap());
    let [id, time] = ["webhook-id", "webhook-timestamp"].map(|name| request.header(name).unwrap());
    let body = std::str::from_utf8(&request.body).unwrap();
    let signed = hmac::sign(&secret, format!("{id}.{time}.{body}").as_bytes());
    format!("v1,{}", BASE64_STANDARD.encode(signed))
}

#[test]
fn a_failed_delivery_keeps_its_id_and_can_be_replayed() {
    for database in databases() {
        let fails = Arc::new(AtomicUsize::new(1));
        let left = Arc::clone(&fails);
        let site = Site::start(move |stream, _| {
            let is_failing =
                left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            let status = if is_failing.is_ok() { "500 Oops" } else { "202 Accepted" };
            let _ = stream.write_all(format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").as_bytes());
        });
        let server = lab(&database).start();
        let webhook = create(&server, &site.url("/"));
        let delivery = test(&server, &webhook);
        let failed = attempted(&server, &webhook, &delivery);
        // The second attempt comes after five seconds.
        let delivered = awaited("the second attempt", || {
            let delivery = attempted(&server, &webhook, &delivery);
            if delivery["status"] == "delivered" { Ok(delivery) } else { Err(delivery) }
        });
        assert_eq!(delivered["attempts"], 2, "{failed} {delivered}");
        let replay = format!("/{}/deliveries/{delivery}/replay", id(&webhook));
        assert_eq!(send(&server, "POST", &replay, None).status, 202);
        eventually("the replay arrives", || site.received().len() == 3);
        let ids =
            site.received().iter().map(|request| request.header("webhook-id").unwrap()).collect::<Vec<_>>();
        assert_eq!(ids, [delivery.as_str(); 3]);
    }
}

/// Receivers that answer nothing occupy their own share of the workers only, whoever owns them.
#[test]
fn receivers_that_hang_delay_no_other_one() {
    for database in databases() {
        let dead = Site::start(|stream, _| hold(stream));
        let alive = Site::saying("HTTP/1.1 204 No Content\r\n\r\n");
        let mut server = lab(&database).start();
        let mut hanging = Vec::new();
        for _ in 0..4 {
            server.key = server.new_key("unlimited");
            let webhooks: Vec<Value> = (0..9).map(|_| create(&server, &dead.url("/"))).collect();
            webhooks.iter().cycle().take(27).for_each(|webhook| drop(test(&server, webhook)));
            hanging = webhooks;
        }
        eventually("each dead receiver is asked", || dead.connections() >= 4 * 9);
        // A webhook of an account with dead receivers, and one of another account.
        for _ in 0..2 {
            let webhook = create(&server, &alive.url("/"));
            let before = alive.received().len();
            (0..20).for_each(|_| drop(test(&server, &webhook)));
            eventually("all arrive", || alive.received().len() == before + 20);
            // No attempt to the dead receivers has ended by then. Each of them takes ten seconds.
            if before == 0 {
                let attempts = deliveries(&server, &hanging[0]);
                assert!(attempts.iter().all(|delivery| delivery["attempts"] == 0), "{attempts:?}");
            }
            server.key = server.new_key("unlimited");
        }
    }
}

/// While the database is away nothing is lost, and afterwards all is delivered.
#[test]
fn a_database_that_comes_back_continues_the_deliveries() {
    use crate::support::private_postgres::{End, PrivatePostgres};
    let mut postgres = PrivatePostgres::start();
    postgres.admin("CREATE DATABASE hooks");
    let site = Site::saying("HTTP/1.1 204 No Content\r\n\r\n");
    let server = Setup::new()
        .database(&postgres.url("hooks"))
        .flag("--allow-private-targets")
        .flag(&super::lab::key_flag())
        .start();
    let webhook = create(&server, &site.url("/"));
    let sent: Vec<String> = (0..60).map(|_| test(&server, &webhook)).collect();
    eventually("some arrive", || !site.received().is_empty());
    postgres.stop(End::Crash);
    postgres.start_again();
    eventually("all arrive", || {
        let received = site.received();
        sent.iter().all(|id| received.iter().any(|request| request.header("webhook-id").as_ref() == Some(id)))
    });
}

#[test]
fn with_sqlite_the_key_is_created_beside_the_database_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let database = sqlite();
    let site = Site::saying("HTTP/1.1 204 No Content\r\n\r\n");
    let file = database.path().with_extension("db.key");
    // What an interrupted start may leave without hard links. A start without any file is the usual case.
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "").unwrap();
    let mut server = Setup::new().database(&database.url).flag("--allow-private-targets").start();
    let webhook = create(&server, &site.url("/"));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = std::fs::read_to_string(&file).unwrap();
    assert!(server.terminate().success());
    // The next process uses the same key, so that it can sign.
    let server = server.restart(&["--allow-private-targets"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), key);
    let delivery = test(&server, &webhook);
    let delivery = attempted(&server, &webhook, &delivery);
    assert_eq!(delivery["status"], "delivered", "{delivery}");
    assert!(!server.log().contains(key.trim()));
}

mod postgres {
    use super::*;

    /// Two instances share the deliveries, and no delivery is under way twice.
    #[test]
    fn two_instances_never_send_a_delivery_at_the_same_time() {
        let database = crate::support::databases::postgres();
        let under_way: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let twice = Arc::new(AtomicUsize::new(0));
        let (counts, overlaps) = (Arc::clone(&under_way), Arc::clone(&twice));
        let site = Site::start(move |stream, request| {
            let id = request.header("webhook-id").unwrap();
            if counts.lock().unwrap().insert(id.clone(), 1).is_some() {
                overlaps.fetch_add(1, Ordering::SeqCst);
            }
            std::thread::yield_now();
            counts.lock().unwrap().remove(&id);
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
        });
        let servers = [(), ()].map(|()| lab(&database).start());
        let webhook = create(&servers[0], &site.url("/"));
        let sent: Vec<String> = (0..120).map(|_| test(&servers[0], &webhook)).collect();
        eventually("all arrive", || {
            let received = site.received();
            sent.iter()
                .all(|id| received.iter().any(|request| request.header("webhook-id").as_ref() == Some(id)))
        });
        assert_eq!(twice.load(Ordering::SeqCst), 0);
        // Neither instance was killed, so nothing is sent twice either.
        assert_eq!(site.received().len(), sent.len());
    }
}
