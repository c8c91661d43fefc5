//! Progress, and a client that stops waiting, which does not stop the search.

use serde_json::{Value, json};

use super::{in_session, stateless};
use crate::support::held_site::Site;
use crate::support::server::{Server, Setup, run_ids};
use crate::support::{awaited, server::Event};

/// Returns the only run of the server, once there is one.
fn only_run(server: &Server) -> String {
    awaited("a run starts", || run_ids(&server.get("/v1/searches").json()).pop().ok_or("there is none"))
}

/// Returns the next message of a stream, without comments.
fn next_message(stream: &mut crate::support::server::EventStream) -> Option<Value> {
    loop {
        match stream.next() {
            Some(Event { event, data }) if event == "message" => return Some(data),
            Some(_) => {}
            None => return None,
        }
    }
}

fn search_params() -> Value {
    json!({"name": "search", "arguments": {"type": "username", "query": "alice"}, "_meta": {"progressToken": 1}})
}

#[test]
fn progress_is_sent_and_increases() {
    let site = Site::start();
    let server = Setup::real().flags(&site.flags(3, 2)).start();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": search_params()});
    let mut stream = in_session(&server, &message).stream();
    let mut seen = Vec::new();
    loop {
        let message = next_message(&mut stream).unwrap();
        if message["id"] == 1 {
            assert_eq!(message["result"]["structuredContent"]["run"]["status"], "completed", "{message}");
            break;
        }
        assert_eq!(message["method"], "notifications/progress");
        let params = &message["params"];
        assert_eq!((&params["progressToken"], &params["total"]), (&json!(1), &json!(5)), "{message}");
        seen.push(params["progress"].as_u64().unwrap());
        if seen.last() == Some(&3) {
            site.open_all();
        }
    }
    assert!(seen.is_sorted_by(|one, next| one < next) && seen.contains(&3), "{seen:?}");
    assert_eq!(next_message(&mut stream), None);
}

#[test]
fn a_closed_stream_ends_only_the_waiting() {
    let site = Site::start();
    let server = Setup::real().flags(&site.flags(0, 1)).flag("--times=keep-alive=1s").start();
    let waiting = || server.figure("sightline_http_streams");
    let stream = stateless(&server, "tools/call", search_params()).stream();
    let run = only_run(&server);
    awaited("the call is a stream", || if waiting() > 0.0 { Ok(()) } else { Err("there is none") });
    drop(stream);
    awaited("the waiting ends", || if waiting() == 0.0 { Ok(()) } else { Err("it waits") });
    assert_eq!(server.get(&format!("/v1/searches/{run}")).json()["status"], "running");
    site.open_all();
    assert_eq!(server.finished(&run)["status"], "completed");
}
