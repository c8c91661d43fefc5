//! The manual on a server and on the command line.

use std::process::Command;

use sightline::manual::TOPICS;
use url::Url;

use crate::support::server::{Answer, BINARY, Server, Setup};

fn fetch(server: &Server, path: &str) -> Answer {
    let answer = server.request("GET", path).send();
    assert_eq!(answer.status, 200, "{path}");
    answer
}

/// Returns the addresses of all pages, and of the list of pages.
fn pages() -> Vec<String> {
    let topics = TOPICS.iter().map(|topic| format!("/manual/{}", topic.name));
    std::iter::once("/manual".to_owned()).chain(topics).collect()
}

#[test]
fn pages_need_no_key_and_no_script_and_load_nothing_from_elsewhere() {
    let server = Setup::new().flag("--rate-limits=read=1").start();
    for path in pages() {
        let page = fetch(&server, &path);
        is_validated(&server, &path, &page);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(page.header("ratelimit"), None, "{path}");
        assert_eq!(
            page.header("content-security-policy"),
            Some(
                "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; style-src 'self'; \
                 img-src 'self'"
            )
        );
        for part in ["<script", "<style", " style=", " onload="] {
            assert!(!page.text().contains(part), "{part} in {path}");
        }
        for name in [" src=\"", "<link rel=\"stylesheet\" href=\""] {
            for file in page.text().split(name).skip(1).map(|rest| rest.split('"').next().unwrap()) {
                let from_root = file.trim_start_matches("../");
                assert!(!file.contains(':') && from_root.starts_with("docs/assets/"), "{file} in {path}");
                fetch(&server, &format!("/{from_root}"));
            }
        }
    }
}

fn is_validated(server: &Server, path: &str, page: &Answer) {
    let again = server.request("GET", path).header("If-None-Match", page.header("etag").unwrap()).send();
    assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
    let head = server.request("HEAD", path).send();
    let length = page.body.len().to_string();
    assert_eq!((head.status, head.header("content-length")), (200, Some(&*length)), "{path}");
    server.request("POST", path).send().is_error(405, "method_not_allowed");
}

#[test]
fn every_page_is_listed_and_its_links_are_served() {
    let server = Setup::new().start();
    let list = fetch(&server, "/manual");
    let index = fetch(&server, "/llms.txt");
    is_validated(&server, "/llms.txt", &index);
    for topic in TOPICS {
        assert!(list.text().contains(&format!("href=\"manual/{}\"", topic.name)), "{}", topic.name);
        assert!(index.text().contains(&format!("(manual/{}.md): ", topic.name)), "{}", topic.name);
        let source = fetch(&server, &format!("/manual/{}.md", topic.name));
        assert_eq!(source.header("content-type"), Some("text/markdown; charset=utf-8"));
        assert_eq!(source.text(), topic.markdown);
        is_validated(&server, &format!("/manual/{}.md", topic.name), &source);
        let page = fetch(&server, &format!("/manual/{}", topic.name));
        assert!(page.text().contains(&format!(">{}</h1>", topic.title())), "{}", topic.name);
    }
    for path in pages() {
        let here = Url::parse(&format!("http://{}{path}", server.address)).unwrap();
        let page = fetch(&server, &path);
        for link in page.text().split("<a href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let target = here.join(link).unwrap();
            if target.host() != here.host() {
                continue;
            }
            let answer = fetch(&server, target.path());
            let fragment = target.fragment().unwrap_or_default();
            let has_heading = fragment.is_empty() || answer.text().contains(&format!(" id=\"{fragment}\""));
            assert!(has_heading, "{link} in {path}");
        }
    }
    for path in ["/manual/nothing", "/manual/nothing.md", "/manual/api/x", "/manual/..%2fmod.rs"] {
        server.request("GET", path).send().is_error(404, "not_found");
    }
    // What the server refuses by itself is a page for browsers, too.
    let refused = server.request("GET", "/manual").header("Accept", "text/html").body(&[0; 70_000]).send();
    assert!(refused.status == 413 && refused.text().contains("<a href=\"/app\">"), "{refused}");
    let moved = server.request("GET", "/manual/api/").send();
    assert_eq!((moved.status, moved.header("location")), (308, Some("../api")));
}

#[test]
fn the_command_prints_pages_and_names_them() {
    let manual = |words: &[&str]| {
        let output = Command::new(BINARY).arg("manual").args(words).output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code().unwrap(), out, err)
    };
    let (code, list, err) = manual(&[]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(TOPICS.iter().all(|topic| list.contains(topic.name) && list.contains(topic.title())), "{list}");
    let api = TOPICS.iter().find(|topic| topic.name == "api").unwrap();
    assert_eq!(manual(&["api"]), (0, api.markdown.to_owned(), String::new()));
    let (code, out, err) = manual(&["strems"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("'streams'") && TOPICS.iter().all(|topic| err.contains(topic.name)), "{err}");
}
