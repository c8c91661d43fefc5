//! Pages in odd encodings and hostile ones, over real sockets: each check ends with the expected outcome in bounded time
//! and memory.

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
fn check(site: &Site, fields: &Value, limit: Duration) -> Report {
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
fn assert_ends(report: &Report, outcome: Outcome, reason: Option<&str>, bytes_read: usize) {
    let ended = (report.outcome, report.reason.map(Reason::as_str), report.evidence.bytes_read);
    assert_eq!(ended, (outcome, reason, bytes_read), "{report:?}");
}

const LONG: Duration = Duration::from_secs(60);

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
fn an_element_with_many_names_takes_its_content_once() {
    let names: String = (0..3_000).map(|name| format!("w{name} ")).collect();
    let page = format!("<meta itemprop='{names}' content='{}'><title>bob</title>", "x".repeat(500_000));
    let rules = json!({"hit": [{"status": [200], "shows_query": true}]});
    assert_ends(&check(&Site::saying(ok(&page)), &rules, LONG), Outcome::Hit, None, page.len());
}

const NAME: &str = "Zo\u{eb} \u{2014} \u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}";

/// The module knows a name that is not ASCII, on a page.
fn greeting(word: &str) -> Value {
    json!({"hit": [{"status": [200], "words": [word]}], "miss": [{"status": [200], "words": ["niemand"]}]})
}

fn typed(content_type: &str, body: &[u8]) -> Site {
    Site::saying(with_headers(&format!("Content-Type: {content_type}\r\n"), body))
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes).collect()
}

#[test]
fn a_text_is_decoded_with_its_charset() {
    let cyrillic = b"<p>\xcf\xf0\xe8\xe2\xe5\xf2</p>";
    let latin = b"<p>Zo\xeb</p>";
    let page = format!("<p>{NAME}</p>");
    let with_meta = [b"<html><head><meta charset='windows-1251'>".as_slice(), cyrillic].concat();
    let with_pragma =
        [b"<meta http-equiv='Content-Type' content='text/html; charset=windows-1251'>".as_slice(), cyrillic]
            .concat();
    let after = |first: &str| [first.as_bytes(), &with_meta].concat();
    let japanese = b"<meta charset=\"Shift_JIS\"><p>\x83\x6e\x83\x8d\x81\x5b</p>";
    let prolog = b"<?xml version='1.0' encoding='koi8-r'?><p>\xf0\xd2\xc9\xd7\xc5\xd4</p>";
    for (content_type, body, word) in [
        ("text/html; charset=windows-1251", cyrillic.to_vec(), "Привет"),
        ("text/html; Charset=\"ISO-8859-1\"", latin.to_vec(), "Zoë"),
        ("text/html", with_meta.clone(), "Привет"),
        ("text/html", with_pragma, "Привет"),
        ("text/html", japanese.to_vec(), "ハロー"),
        ("text/xml", prolog.to_vec(), "Привет"),
        // The header wins over the page, a byte order mark over both.
        ("text/html; charset=utf-8", page.replace("<p>", "<meta charset=koi8-r><p>").into_bytes(), NAME),
        ("text/html; charset=iso-8859-1", [b"\xef\xbb\xbf", page.as_bytes()].concat(), NAME),
        ("text/html", [b"\xff\xfe".to_vec(), utf16(&page, u16::to_le_bytes)].concat(), NAME),
        ("text/html", [b"\xfe\xff".to_vec(), utf16(&page, u16::to_be_bytes)].concat(), NAME),
        ("text/html; charset=utf-16le", utf16(&page, u16::to_le_bytes), NAME),
        // Without a valid charset, UTF-8 is used if the bytes are valid, and Windows-1252 otherwise.
        ("text/html", page.clone().into_bytes(), NAME),
        ("text/html; charset=none-such", page.clone().into_bytes(), NAME),
        ("text/html; charset=none-such", with_meta.clone(), "Привет"),
        ("text/html; charset=none-such; charset=windows-1251", cyrillic.to_vec(), "Привет"),
        ("text/html; version=1; charset=windows-1251", cyrillic.to_vec(), "Привет"),
        ("text/html\r\nContent-Type: text/html; charset=windows-1251", cyrillic.to_vec(), "Привет"),
        ("text/html; charset=windows-1251\r\nContent-Type: text/html", cyrillic.to_vec(), "Привет"),
        ("text/html; charset=iso-2022-kr", page.into_bytes(), NAME),
        ("text/html", after("<meta charset=none-such>"), "Привет"),
        ("text/html", after("<!-- <meta charset=koi8-r> -->"), "Привет"),
        ("text/html", after("<script charset=koi8-r src=/x></script>"), "Привет"),
        ("text/html", after("<script>'<meta charset=koi8-r>'</script>"), "Привет"),
        // Beyond its beginning, the head of a page counts and its body does not.
        ("text/html", after(&format!("<title>{}</title>", "x".repeat(2_000))), "Привет"),
        ("text/html", format!("{:2000}<body><meta charset=koi8-r>{NAME}", "<p>").into_bytes(), NAME),
        ("text/html", after("<meta name=about content='charset=koi8-r'>"), "Привет"),
        ("application/json; charset=iso-8859-1", format!("{{\"n\": \"{NAME}\"}}").into_bytes(), NAME),
        ("application/json", format!("{{\"n\": \"<meta charset=koi8-r>{NAME}\"}}").into_bytes(), NAME),
        ("text/html", b"<p>Zo\xeb \x80</p>".to_vec(), "Zoë €"),
        // It is cut off inside a character.
        ("text/html", b"Zo\xc3\xab \xe2\x82".to_vec(), "Zoë"),
    ] {
        let report = check(&typed(content_type, &body), &greeting(word), LONG);
        assert_ends(&report, Outcome::Hit, None, body.len());
    }
    let report = check(&typed("text/html; charset=koi8-r", &with_meta), &greeting("Привет"), LONG);
    assert_ends(&report, Outcome::Error, Some("unrecognized"), with_meta.len());
    let wide = [b"\xff\xfe".to_vec(), utf16("{\"login\": \"Bob\"}", u16::to_le_bytes)].concat();
    let login = json!({"hit": [{"json": [{"at": "/login", "equals_query": true}]}]});
    assert_ends(&check(&typed("application/json", &wide), &login, LONG), Outcome::Hit, None, wide.len());
}
