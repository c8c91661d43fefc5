//! Hostile pages over real sockets: each check ends with the expected outcome in bounded time and memory.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};

use sightline::net::{HttpProber, NetConfig};

use super::*;
use crate::support::process::status_of;
use crate::support::site::{Site, flood, ok, with_headers};

/// How much more memory the process may have taken at its peak because of one page. Other tests run in
/// the same process and take some 300 MiB together; a bomb that is not cut takes a gigabyte.
const MEMORY_KIB: usize = 400 * 1024;

/// Checks `bob` at `site` with the rules of `fields`, through the real HTTP prober.
pub(super) fn check(site: &Site, fields: &Value, limit: Duration) -> Report {
    let config = NetConfig { allow_private_targets: true, ..NetConfig::default() };
    let prober = Arc::new(HttpProber::new(config));
    let checker = Checker::new(prober, OperatorKeys::new([]), "sightline-test", Duration::ZERO);
    let mut fields = fields.clone();
    fields["control"] = json!(false);
    let url = site.url("/u/{query}");
    if fields["probes"].is_null() {
        fields["probes"] = json!([{"url": url}]);
    } else {
        fields["probes"][0]["url"] = json!(url);
    }
    let before = status_of(std::process::id(), "VmHWM");
    let report = checker.check(&module(&fields), &username("bob"), Instant::now() + limit);
    // The system counts in batches: a later reading may be a little lower.
    let grown = status_of(std::process::id(), "VmHWM").saturating_sub(before);
    assert!(grown < MEMORY_KIB, "{fields}: {grown} KiB more");
    assert!(report.evidence.bytes_read <= MAX_BODY_BYTES, "{fields}: {}", report.evidence.bytes_read);
    *report
}

#[track_caller]
pub(super) fn assert_ends(report: &Report, outcome: Outcome, reason: Option<&str>, bytes_read: usize) {
    let ended = (report.outcome, report.reason.map(Reason::as_str), report.evidence.bytes_read);
    assert_eq!(ended, (outcome, reason, bytes_read), "{report:?}");
}

pub(super) const LONG: Duration = Duration::from_secs(60);

fn word() -> Value {
    json!({"hit": [{"status": [200], "words": ["profile of {query}"]}], "miss": [{"words": ["no such member"]}]})
}

/// Sends `head`, then `piece` repeatedly up to 50 MB. Returns the number of bytes that were received.
fn endless(head: &'static str, piece: Vec<u8>) -> (Site, Receiver<usize>) {
    let (tell, told) = channel();
    let site = Site::start(move |stream: &mut TcpStream, _| {
        let is_taken = stream.write_all(head.as_bytes()).is_ok();
        let _ = tell.send(if is_taken { flood(stream, &piece, 50 << 20) } else { 0 });
    });
    (site, told)
}

#[test]
fn only_the_first_megabyte_of_a_page_is_read() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 52428900\r\n\r\n<h1>profile of bob</h1>";
    let (site, told) = endless(head, vec![b'x'; 64 * 1024]);
    assert_ends(&check(&site, &word(), LONG), Outcome::Hit, None, MAX_BODY_BYTES);
    assert!(told.recv().unwrap() < 50 << 20, "the rest was left unread");

    // Without a distinguishing text, the rest of the page is unknown, so it is neither a hit nor a miss.
    for rules in [word(), json!({"hit": [{"status": [200], "no_word": ["no such member"]}]})] {
        let (site, told) = endless("HTTP/1.1 200 OK\r\n\r\n<html>", vec![b'x'; 64 * 1024]);
        assert_ends(&check(&site, &rules, LONG), Outcome::Error, Some("truncated"), MAX_BODY_BYTES);
        assert!(told.recv().unwrap() < 50 << 20);
    }
    // Rules that test only the status read no more than the detection of barriers needs.
    let (site, told) = endless("HTTP/1.1 200 OK\r\n\r\n<html>", vec![b'x'; 64 * 1024]);
    assert_ends(&check(&site, &json!({}), LONG), Outcome::Hit, None, 64 * 1024);
    assert!(told.recv().unwrap() < 50 << 20);
}

#[test]
fn invalid_utf8_does_not_hide_a_text() {
    let junk = [0xff, 0xc3, 0x28, 0, 0xf0, 0x9f, 0xed, 0xa0, 0x80];
    let page = [&junk[..], "é profile of bob".as_bytes(), &junk].concat();
    for content_type in
        ["", "Content-Type: text/html; charset=utf-8\r\n", "Content-Type: text/html; charset=x\r\n"]
    {
        let site = Site::saying(with_headers(content_type, &page));
        assert_ends(&check(&site, &word(), LONG), Outcome::Hit, None, page.len());
    }
}

#[test]
fn deeply_nested_json_is_handled() {
    let rules = json!({
        "hit": [{"json": [{"at": "/login", "equals_query": true}]}],
        "miss": [{"json": [{"at": "/login", "exists": false}]}],
    });
    let deep = format!("{{\"login\": \"bob\", \"x\": {}{}}}", "[".repeat(400_000), "]".repeat(400_000));
    let endless_depth = "{\"a\":".repeat(MAX_BODY_BYTES / 5);
    let deeper = format!("{{\"login\": \"bob\", \"x\": {}{}}}", "[".repeat(150_000), "]".repeat(150_000));
    let shallow = format!("{{\"login\": \"bob\", \"x\": {}{}}}", "[".repeat(100), "]".repeat(100));
    let wide = |count| format!("{{\"x\": [{}0], \"login\": \"bob\"}}", "{},".repeat(count));
    for (page, outcome, reason) in [
        (deep, Outcome::Error, Some("json_too_large")),
        (endless_depth, Outcome::Error, Some("json_too_large")),
        (deeper, Outcome::Error, Some("unrecognized")),
        (shallow, Outcome::Hit, None),
        (wide(30_000), Outcome::Hit, None),
        (wide(300_000), Outcome::Error, Some("json_too_large")),
    ] {
        assert_ends(&check(&Site::saying(ok(&page)), &rules, LONG), outcome, reason, page.len());
    }
    // A truncated JSON document is not used, whatever its first part contains.
    let cut = format!("{{\"login\": \"bob\", \"x\": \"{}\"}}", "x".repeat(MAX_BODY_BYTES));
    assert_ends(
        &check(&Site::saying(ok(&cut)), &rules, LONG),
        Outcome::Error,
        Some("truncated"),
        MAX_BODY_BYTES,
    );
    let padded = format!("{{}}{}", " ".repeat(MAX_BODY_BYTES));
    assert_ends(
        &check(&Site::saying(ok(&padded)), &rules, LONG),
        Outcome::Error,
        Some("truncated"),
        MAX_BODY_BYTES,
    );
}

#[test]
fn an_element_with_many_names_takes_its_content_once() {
    let names: String = (0..3_000).map(|name| format!("w{name} ")).collect();
    let page = format!("<meta itemprop='{names}' content='{}'><title>bob</title>", "x".repeat(500_000));
    let rules = json!({"hit": [{"status": [200], "shows_query": true}]});
    assert_ends(&check(&Site::saying(ok(&page)), &rules, LONG), Outcome::Hit, None, page.len());
}
