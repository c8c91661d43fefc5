//! `search.html` in a real browser, from another origin, through the proxy that cuts connections.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::browser::Browser;
use crate::support::relay::{Relay, cuts_of_a_search};
use crate::support::server::{PATIENCE, Server, Setup};
use crate::support::site::{Site, with_headers};

/// Serves the folder of the examples.
fn pages() -> Site {
    Site::start(|stream, request| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/examples");
        let name = request.path().trim_start_matches('/');
        let kind = if name.ends_with(".mjs") { "text/javascript" } else { "text/html" };
        let answer = match std::fs::read(folder.join(name)) {
            Ok(file) => with_headers(&format!("Content-Type: {kind}\r\nConnection: close\r\n"), &file),
            Err(_) => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
        };
        // A browser may have cancelled the request.
        let _ = std::io::Write::write_all(stream, &answer);
    })
}

fn get(server: &Server, key: &str, path: &str) -> Value {
    server.request("GET", path).key(key).send().json()
}

/// Returns the line that the page shows for a result.
fn line(result: &Value) -> String {
    let value = result["value"].as_str().unwrap_or("null");
    let percent = (result["confidence"].as_f64().unwrap() * 100.0 + 0.5).floor();
    let name = result["platform"].as_str().unwrap_or_else(|| result["type"].as_str().unwrap());
    format!("{} {name}: {value} ({percent} %)", result["id"])
}

fn is_over(browser: &Browser) -> String {
    let until = Instant::now() + 3 * PATIENCE;
    loop {
        let status = browser.run("return document.querySelector('[role=status]').textContent", &[]);
        let status = status.as_str().unwrap().to_owned();
        if ["completed", "failed"].iter().any(|word| status.starts_with(word)) {
            return status;
        }
        assert!(Instant::now() < until, "the search does not end: {status:?} {:?}", browser.console());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_page_shows_each_result_once_whatever_happens_to_its_connections() {
    let site = pages();
    let origin = format!("--cors-origin=http://{}", site.addr);
    let server = Setup::new().all_modules().realistic().flag("--times=stream=2s").flag(&origin).start();
    let cutter = Relay::cutting(server.address, cuts_of_a_search(40));
    let key = server.new_key("pro");

    let browser = Browser::start();
    browser.open(&site.url("/search.html"));
    browser.run("document.forms[0].url.value = arguments[0]", &[format!("http://{}", cutter.address).into()]);
    browser.type_into("#key", &key);
    browser.run("document.forms[0].type.value = 'domain'", &[]);
    browser.type_into("#query", "example.org\u{e007}");
    let status = is_over(&browser);

    let runs = get(&server, &key, "/v1/searches");
    assert_eq!(runs["count"], 1, "{runs}");
    let run =
        get(&server, &key, &format!("/v1/searches/{}", runs["searches"][0]["run_id"].as_str().unwrap()));
    let want: Vec<String> = run["results"].as_array().unwrap().iter().map(line).collect();
    assert!(want.len() > 50, "little was tried: {run}");
    assert!(status.starts_with(&format!("completed: {} results", want.len())), "{status}");
    let items = "return [...document.querySelectorAll('li')].map(item => `${item.id} ${item.textContent}`)";
    assert_eq!(browser.run(items, &[]), Value::from(want));
    assert_eq!(get(&server, &key, "/v1/credits")["credits_used"], 1);
    assert!(cutter.made().len() > 2, "hardly anything was cut: {:?}", cutter.made());
    let broken: Vec<_> =
        browser.console().into_iter().filter(|said| format!("{said:?}").contains("Uncaught")).collect();
    assert!(broken.is_empty(), "{broken:?}");
}

#[test]
fn the_page_shows_why_it_got_nothing() {
    let site = pages();
    let server = Setup::new().flag(&format!("--cors-origin=http://{}", site.addr)).start();
    let browser = Browser::start();
    browser.open(&site.url("/search.html"));
    browser.run("document.forms[0].url.value = arguments[0]", &[format!("http://{}", server.address).into()]);
    browser.type_into("#key", "sl_live_unknown");
    browser.type_into("#query", "alice\u{e007}");
    assert_eq!(is_over(&browser), "failed: 401: the API key is malformed, unknown or revoked");
    browser.wait_until("!document.querySelector('button').disabled");
}
