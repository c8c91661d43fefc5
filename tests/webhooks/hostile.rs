//! Receivers that misbehave, and addresses that must not be reached.

use std::io::Write as _;
use std::net::Shutdown;

use serde_json::{Value, json};

use super::lab::{attempted, create, id, lab, send, test};
use crate::net::guard::FORBIDDEN;
use crate::support::databases::databases;
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, closed_port, drip, hold, to, with_headers};

/// Sends one message to the receiver, and returns its delivery after the first attempt.
fn first_attempt(server: &Server, url: &str) -> Value {
    let webhook = create(server, url);
    let delivery = test(server, &webhook);
    let delivery = attempted(server, &webhook, &delivery);
    assert_eq!(delivery["attempts"], 1, "{delivery}");
    delivery
}

#[test]
fn a_receiver_that_misbehaves_gets_its_message_later() {
    for database in databases() {
        let server = lab(&database).start();
        let elsewhere = Site::saying(with_headers("", b""));
        let pending = |site: &Site| {
            let delivery = first_attempt(&server, &site.url("/"));
            assert_eq!(delivery["status"], "pending", "{delivery}");
            assert!(delivery["next_attempt_at"].is_string(), "{delivery}");
            delivery["last_attempt"].clone()
        };
        let hangs = pending(&Site::start(|stream, _| hold(stream)));
        assert_eq!(hangs["error"], "timeout_first_byte");
        let drops = pending(&Site::start(|stream, _| stream.shutdown(Shutdown::Both).unwrap()));
        assert!(drops["error"].is_string() && drops["http_status"].is_null(), "{drops}");
        let fails = pending(&Site::saying("HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"));
        assert_eq!((&fails["http_status"], &fails["error"]), (&json!(500), &Value::Null));
        let moved = pending(&Site::saying(to(301, &elsewhere.url("/"))));
        assert_eq!(moved["http_status"], 301);
        assert_eq!(elsewhere.connections(), 0, "a redirect was followed");
        let slow = pending(&Site::start(|stream, _| drip(stream, std::iter::repeat_n(b'H', 100_000))));
        assert!(slow["error"].is_string(), "{slow}");
        let noise = pending(&Site::saying(vec![b'x'; 200_000]));
        assert!(noise["error"].is_string(), "{noise}");
        let refused = first_attempt(&server, &format!("http://127.0.0.1:{}/", closed_port()));
        assert_eq!(refused["last_attempt"]["error"], "connect");
    }
}

#[test]
fn a_long_answer_is_not_read() {
    for database in databases() {
        let server = lab(&database).start();
        let before = server.of_process("VmHWM");
        let head = format!("X-Long: {}\r\n", "x".repeat(8000));
        let large = with_headers(&head, &vec![b'x'; 10 * 1024 * 1024]);
        let site = Site::start(move |stream, _| {
            let _ = stream.write_all(&large);
        });
        let webhook = create(&server, &site.url("/"));
        let all: Vec<String> = (0..50).map(|_| test(&server, &webhook)).collect();
        for delivery in all {
            let delivery = attempted(&server, &webhook, &delivery);
            assert_eq!(delivery["status"], "delivered", "{delivery}");
            let head = delivery["last_attempt"]["response_head"].as_str().unwrap();
            assert!(head.len() <= 2048, "{}", head.len());
        }
        let grown = server.of_process("VmHWM").saturating_sub(before);
        assert!(grown < 40 * 1024, "{grown} kB more");
    }
}

#[test]
fn an_address_that_is_not_public_is_not_reached_in_any_spelling() {
    let server = Setup::new().start();
    let site = Site::saying(with_headers("", b"secret"));
    for host in FORBIDDEN {
        let webhook = create(&server, &format!("https://{host}:{}/", site.addr.port()));
        let delivery = test(&server, &webhook);
        let last = attempted(&server, &webhook, &delivery)["last_attempt"].clone();
        // The answer does not tell which names lead to private addresses.
        assert_eq!((&last["error"], &last["http_status"]), (&json!("dns"), &Value::Null), "{host}: {last}");
        assert_eq!(send(&server, "DELETE", &format!("/{}", id(&webhook)), None).status, 204);
    }
    assert_eq!(site.connections(), 0);
}
