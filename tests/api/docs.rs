//! The addresses of the documentation: access, caching and compression.

use std::collections::BTreeSet;
use std::io::Read as _;

use flate2::read::GzDecoder;
use sightline::model::refusal::FAILURES;

use crate::support::server::{Answer, Server, Setup};

const PAGES: [&str; 3] = ["/", "/docs", "/redoc"];

fn fetch(server: &Server, path: &str) -> Answer {
    let answer = server.request("GET", path).send();
    assert_eq!(answer.status, 200, "{path}");
    answer
}

/// Returns the targets of `href` and `src` in a page.
fn links(page: &Answer) -> BTreeSet<String> {
    let text = std::str::from_utf8(&page.body).unwrap();
    let values = ["href=\"", "src=\""].into_iter().flat_map(|name| text.split(name).skip(1));
    values.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn a_page_may_load_only_files_of_the_server() {
    let server = Setup::new().start();
    for path in PAGES {
        let page = fetch(&server, path);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        for part in ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        for source in policy.split([';', ' ']).filter(|word| !word.ends_with("-src") && !word.is_empty()) {
            let is_narrow = ["'none'", "'self'", "data:", "base-uri", "form-action", "frame-ancestors"]
                .contains(&source)
                || source.starts_with("'sha256-");
            assert!(is_narrow, "{source} in {policy}");
        }
        let text = std::str::from_utf8(&page.body).unwrap();
        assert!(!text.contains("{{") && !text.contains("<style") && !text.contains(" style="), "{text}");
        assert!(!text.contains("<script>") && !text.contains(" onload="), "a script in the page: {text}");
        let links = links(&page);
        assert!(links.len() > 4, "{links:?}");
        for link in links {
            // Relative, so that it works under any prefix.
            assert!(!link.starts_with('/') && !link.contains(':'), "{link} in {path}");
            let target = format!("/{}", link.trim_start_matches("./"));
            assert_eq!(server.request("GET", &target).send().status, 200, "{link} in {path}");
        }
    }
}

#[test]
fn files_are_immutable_and_sent_in_an_accepted_encoding() {
    let server = Setup::new().start();
    let mut files: BTreeSet<String> = PAGES.iter().flat_map(|page| links(&fetch(&server, page))).collect();
    files.retain(|link| link.starts_with("docs/assets/"));
    let kinds: BTreeSet<&str> = files.iter().map(|file| file.rsplit_once('.').unwrap().1).collect();
    assert_eq!(kinds, ["css", "js", "svg"].into());
    assert_eq!(files.len(), 7, "{files:?}");
    for file in files {
        let path = format!("/{file}");
        let plain = fetch(&server, &path);
        assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"));
        assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, Some("Accept-Encoding")));
        let kind = match file.rsplit_once('.').unwrap().1 {
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            _ => "image/svg+xml",
        };
        assert_eq!(plain.header("content-type"), Some(kind), "{file}");
        let packed = server.request("GET", &path).header("Accept-Encoding", "br, gzip").send();
        assert_eq!(packed.header("content-encoding"), Some("gzip"));
        assert_eq!(packed.header("vary"), Some("Accept-Encoding"));
        let mut unpacked = Vec::new();
        GzDecoder::new(&*packed.body).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body && !plain.body.is_empty(), "{file}: the two forms differ");
        let tag = packed.header("etag").unwrap();
        assert_eq!(tag, format!("W/{}", plain.header("etag").unwrap()));
        assert_eq!(server.request("GET", &path).header("If-None-Match", tag).send().status, 304, "{file}");
        let head = server.request("HEAD", &path).header("Accept-Encoding", "gzip").send();
        assert_eq!(head.header("content-length"), Some(&*packed.body.len().to_string()), "{head}");
        // The address contains a hash of these bytes.
        let fingerprint = &plain.header("etag").unwrap()[1..17];
        let stale = path.replace(fingerprint, "0123456789abcdef");
        assert_ne!(stale, path);
        server.request("GET", &stale).send().is_error(404, "not_found");
    }
    for path in
        ["/docs/assets", "/docs/assets/", "/docs/assets/pages.css", "/docs/assets/..%2fpages.css", "/docs/x"]
    {
        server.request("GET", path).send().is_error(404, "not_found");
    }
}

#[test]
fn the_manual_explains_each_error() {
    let server = Setup::new().start();
    let table = String::from_utf8(fetch(&server, "/manual/errors-and-limits.md").body).unwrap();
    for (status, code) in FAILURES {
        assert!(table.contains(&format!("| {status} | `{}` |", code.as_str())), "{code:?}");
    }
}
