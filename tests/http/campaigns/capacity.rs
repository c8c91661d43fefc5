//! The real service at its default limits.

use std::io::{BufRead, Read};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::super::kit::{Client, run_alone};
use crate::support::eventually;
use crate::support::server::{Server, Setup};

/// The default of `--max-streams`.
const STREAMS: usize = 2000;

/// Attaches a stream and reads its head and its first frame.
fn attached(server: &Server, run: &str) -> Client {
    let mut client = Client::connect(server.address);
    let key = &server.key;
    client.send(format!("GET /v1/searches/{run}/stream HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\n\r\n"));
    assert_eq!(client.head().status, 200);
    read_to(&mut client, "event: run");
    client
}

fn read_to(client: &mut Client, wanted: &str) {
    let lines = client.reader.by_ref().lines().map(Result::unwrap);
    assert!(lines.into_iter().any(|line| line == wanted), "no {wanted:?}");
}

fn open_streams(server: &Server) -> u64 {
    assert_eq!(server.request("GET", "/v1/health").send().status, 200);
    server.figure("sightline_http_long_threads") as u64
}

#[test]
fn the_default_number_of_streams_is_served_and_one_more_is_refused_with_retry_after() {
    run_alone("campaigns::capacity::two_thousand_streams_of_the_service");
}

#[test]
#[ignore = "raises the limit on descriptors of its process: run by the_default_number_of_streams_…"]
fn two_thousand_streams_of_the_service() {
    let before = getrlimit(Resource::Nofile);
    let (needed, hard) = (STREAMS as u64 + 200, before.maximum.unwrap_or(u64::MAX));
    assert!(
        hard >= needed * 2,
        "the hard limit on open files is {hard}; a server with {STREAMS} streams needs more"
    );
    setrlimit(Resource::Nofile, Rlimit { current: before.current.map(|soft| soft.max(needed)), ..before })
        .unwrap();
    // Sites that do not answer keep the run going.
    let server = Setup::new()
        .realistic()
        .flag("--check-timeout=600s")
        .flag("--run-timeout=600s")
        // No stream ends while the others are opened.
        .flag("--times=stream=1h")
        // The server notices that a reader has disconnected when it sends to it.
        .flag("--times=keep-alive=2s")
        .start();
    let run = server.search("username", "silent");
    let mut clients: Vec<Client> = (0..STREAMS).map(|_| attached(&server, &run)).collect();
    assert_eq!(open_streams(&server), STREAMS as u64);

    for path in [format!("/v1/searches/{run}/stream"), "/v1/searches".to_owned()] {
        let body = serde_json::json!({"type": "username", "query": "silent.too", "wait": true});
        let request = match path.as_str() {
            "/v1/searches" => server.request("POST", &path).json(&body),
            _ => server.request("GET", &path),
        };
        let refused = request.key(&server.key).send();
        let error = refused.is_error(503, "overloaded");
        assert_eq!((refused.header("retry-after"), &error["detail"]["retry_after"]), (Some("5"), &5.into()));
    }
    let me = server.get("/v1/me");
    assert_eq!(me.status, 200, "a refused wait is not charged: {me}");
    assert_eq!(me.json()["credits"]["used"], 1, "a refused wait is not charged: {me}");
    let figures = ["sightline_http_long_threads_max", "sightline_http_overloaded_total"];
    assert_eq!(figures.map(|name| server.figure(name)), [STREAMS as f64, 2.0]);

    // When a stream ends another one can start. The remaining streams get the end of the run.
    clients.pop();
    eventually("another stream can start", || {
        let path = format!("/v1/searches/{run}/stream");
        server.stream(&path).status == 200
    });
    assert_eq!(server.delete(&format!("/v1/searches/{run}")).status, 204);
    for client in &mut clients {
        read_to(client, "event: error");
    }
    eventually("all streams end", || open_streams(&server) == 0);
}
