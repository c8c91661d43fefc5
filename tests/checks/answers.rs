//! Answers of many forms over real sockets, and the exact outcome of each.

use std::io::Write;

use super::hostile::{LONG, assert_ends, check};
use super::*;
use crate::support::site::{Site, to, with_headers};

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
}

/// The module of an API.
fn api() -> Value {
    json!({
        "hit": [{"status": [200], "json": [{"at": "/login", "equals_query": true}]}],
        "miss": [{"status": [200], "json": [{"at": "/error", "equals": "no such user"}]}, {"status": [404]}],
    })
}

#[test]
fn json_is_parsed_with_any_content_type() {
    let (hit, miss) = (r#"{"login": "Bob"}"#, r#"{"error": "no such user"}"#);
    let marked = |text: &str| [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for content_type in
        ["application/json", "text/html; charset=utf-8", "text/plain", "application/octet-stream", ""]
    {
        for (body, outcome) in [(hit, Outcome::Hit), (miss, Outcome::Miss)] {
            assert_ends(
                &check(&typed(content_type, body.as_bytes()), &api(), LONG),
                outcome,
                None,
                body.len(),
            );
            let body = marked(body);
            assert_ends(&check(&typed(content_type, &body), &api(), LONG), outcome, None, body.len());
        }
    }
    for guard in [")]}'\n", "for(;;);", "while(1);"] {
        let body = format!("{guard}{hit}");
        assert_ends(
            &check(&typed("application/json", body.as_bytes()), &api(), LONG),
            Outcome::Hit,
            None,
            body.len(),
        );
    }
    let wide = [b"\xff\xfe".to_vec(), utf16(hit, u16::to_le_bytes)].concat();
    assert_ends(&check(&typed("application/json", &wide), &api(), LONG), Outcome::Hit, None, wide.len());
}

#[test]
fn html_instead_of_json_is_never_a_miss() {
    let unrecognized = (Outcome::Error, "unrecognized");
    for (body, (outcome, reason)) in [
        ("<html><title>Welcome</title><p>Our new site</p></html>", unrecognized),
        ("<html><title>Maintenance</title><p>no such user</p></html>", unrecognized),
        (
            "<html><title>Just a moment...</title><script>window._cf_chl_opt={}</script>",
            (Outcome::Blocked, "cloudflare_challenge"),
        ),
        ("<html><title>Log in | Site</title><input type=password>", (Outcome::Blocked, "login_wall")),
        ("{\"login\": \"bob\"", unrecognized),
        ("null", unrecognized),
        ("[]", unrecognized),
        ("\"bob\"", unrecognized),
    ] {
        for content_type in ["text/html", "application/json"] {
            // A barrier of the list must have the content type of a page.
            let is_wall = outcome == Outcome::Blocked && content_type != "text/html";
            let (outcome, reason) = if is_wall { unrecognized } else { (outcome, reason) };
            assert_ends(
                &check(&typed(content_type, body.as_bytes()), &api(), LONG),
                outcome,
                Some(reason),
                body.len(),
            );
        }
    }
    // The absence of a text in it is not a miss either.
    let absent =
        json!({"hit": [{"json": [{"at": "/login", "exists": true}]}], "miss": [{"no_word": ["login"]}]});
    let body = b"<html><p>Welcome</p>";
    assert_ends(
        &check(&typed("text/html", body), &absent, LONG),
        Outcome::Error,
        Some("unrecognized"),
        body.len(),
    );
    assert_ends(&check(&typed("application/json", b"{}"), &absent, LONG), Outcome::Miss, None, 2);
}

#[test]
fn a_200_with_an_empty_body_is_an_error() {
    let no_word =
        json!({"hit": [{"words": ["profile"]}], "miss": [{"status": [200], "no_word": ["profile"]}]});
    for rules in [json!({}), greeting("Zoë"), api(), no_word] {
        for body in ["", " \r\n\t "] {
            let report = check(&typed("text/html", body.as_bytes()), &rules, LONG);
            assert_ends(&report, Outcome::Error, Some("empty"), body.len());
        }
    }
    let said = json!({"hit": [{"words": ["profile"]}], "miss": [{"status": [200], "body_is": ""}]});
    assert_ends(&check(&typed("text/html", b""), &said, LONG), Outcome::Miss, None, 0);
}

#[test]
fn the_final_address_of_a_redirect_is_used() {
    let follow = json!({"probes": [{"follow": true}]});
    let leading = |target: &'static str| {
        Site::start(move |stream, request| {
            let is_first = request.path() == "/u/bob";
            let answer = if is_first {
                to(302, target)
            } else {
                with_headers("Content-Type: text/html\r\n", b"<p>Hello</p>")
            };
            let _ = stream.write_all(&answer);
        })
    };
    for (target, outcome, reason) in [
        ("/profiles/17", Outcome::Hit, None),
        ("/u/Bob/", Outcome::Hit, None),
        ("/", Outcome::Error, Some("front_page")),
        ("/en/", Outcome::Error, Some("front_page")),
        ("/u/alice", Outcome::Error, Some("other_account")),
        ("/login?next=/u/bob", Outcome::Blocked, Some("login_wall")),
        ("/cgi-sys/suspendedpage.cgi", Outcome::Blocked, Some("suspended_site")),
    ] {
        assert_ends(&check(&leading(target), &follow, LONG), outcome, reason, "<p>Hello</p>".len());
    }
    for ring in [leading("/u/bob"), leading("http://[::1")] {
        assert_ends(&check(&ring, &follow, LONG), Outcome::Error, Some("redirect"), 0);
        assert!(ring.connections() <= 20, "{} hops", ring.connections());
    }
}
