//! Injected markup and scripts in every field that sites and users can fill.

use std::io::Write as _;

use serde_json::{Value, json};

use super::Desk;
use super::injection::{ADDRESSES, TEXTS, Warden};
use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags, with};
use crate::support::server::Setup;
use crate::support::site::{Site, answer};

/// An email address that the standards allow.
const EMAIL: &str = "\"<img/src=x/onerror=window.pwned=1>\"@example.com";

#[test]
fn text_from_outside_is_never_markup() {
    // One site for each text, all on one port. The client may have disconnected.
    let site = Site::start(|socket, request| drop(socket.write_all(&page(request.path()))));
    let modules: Vec<Value> = (0..TEXTS.len()).map(|number| module(number, &site)).collect();
    let folder = Folder::new();
    let flags = own_flags(&folder, &modules);
    let desk = Desk::new(Setup::real().flags(&flags).flag("--check-timeout=60s"));
    let browser = &desk.browser;
    // It appears in the list of sessions.
    let agent = json!({"userAgent": format!("Mozilla/5.0 {}", TEXTS[1])});
    browser.command("Network.setUserAgentOverride", &agent);
    desk.sign_up(EMAIL, "unlimited");
    desk.server.cli(&["account", "set-role", "--email", EMAIL, "--role", "operator"]);
    let warden = Warden::of(browser);
    warden.sees_harm();
    by_a_site(&desk, &warden);
    by_labels(&desk, &warden);
    by_requests(&desk, &warden);
    for path in ["/app/account", "/app/operator", "/app/operator/accounts"] {
        desk.open(path);
        warden.approves(path);
    }
    let asked = browser.requests_outside(&desk.origin);
    assert!(asked.iter().all(|request| request.url.starts_with("file:")), "{asked:#?}");
}

/// Injects into the fields of results: live, after a reload, and in the report.
fn by_a_site(desk: &Desk, warden: &Warden<'_>) {
    let run = desk.search("somebody");
    let results = desk.draws_all();
    assert!(results >= TEXTS.len() * 2, "{results} results");
    shows_all_texts(desk);
    warden.approves("a run, live");
    desk.open(&run);
    desk.browser.wait_until(&format!("document.querySelectorAll('[id^=result-]').length === {results}"));
    shows_all_texts(desk);
    warden.approves("a run, loaded again");
    // The reader may ask for images.
    let report = format!("return await (await fetch('{run}/export?format=html')).text()");
    let report = desk.browser.run_async(&report, &[]);
    let requests =
        [json!(["GET", format!("{run}/export?format=html"), {}]), json!(["GET", "/app/searches", {}])];
    let harm = warden.harm_in_answers(&requests);
    // The report is one file with an inline style.
    let harm: Vec<&String> = harm.iter().filter(|harm| !harm.contains("foreign: <style>")).collect();
    assert!(harm.is_empty(), "{harm:#?}");
    // The page's policy has just reported the style, too.
    warden.harm();
    assert!(report.as_str().unwrap().contains("&#60;script&#62;window.pwned=1"), "the report leaves it out");
}

/// Opens all collapsed parts, and finds each text in the page as it was written.
fn shows_all_texts(desk: &Desk) {
    desk.browser.run("document.querySelectorAll('.result details').forEach((at) => { at.open = true })", &[]);
    desk.browser.wait_until(
        "[...document.querySelectorAll('.result details')].every((at) => at.querySelector('dl'))",
    );
    let script = "const squeezed = (text) => text.replace(/\\s+/g, ' ').trim();
        const shown = squeezed(document.querySelector('main').textContent);
        return arguments[0].filter((text) => !shown.includes(squeezed(text)))";
    let missing = desk.browser.run(script, &[json!(TEXTS)]);
    assert_eq!(missing, json!([]), "not shown");
}

/// Injects into the labels of keys.
fn by_labels(desk: &Desk, warden: &Warden<'_>) {
    desk.open("/app/keys");
    let csrf = desk.browser.find("input[name=csrf]").property("value");
    let labels = TEXTS.iter().chain(&ADDRESSES).filter(|text| text.len() <= 100 && !text.contains('\n'));
    let labels: Vec<&str> = labels.map(|label| label.trim()).collect();
    let made: Vec<Value> =
        labels.iter().map(|label| json!(["POST", "/app/keys", {"csrf": csrf, "label": label}])).collect();
    let harm = warden.harm_in_answers(&made);
    assert!(harm.is_empty(), "{harm:#?}");
    desk.open("/app/keys");
    warden.approves("keys");
    let shown = desk.browser.find("main").text();
    assert!(labels.iter().all(|label| shown.contains(&label.replace('\t', " "))), "{labels:#?}\n{shown}");
}

/// Injects into requests: queries, filters, paths, form input.
fn by_requests(desk: &Desk, warden: &Warden<'_>) {
    let csrf = desk.browser.find("input[name=csrf]").property("value");
    let mut requests = Vec::new();
    for text in TEXTS.iter().chain(&ADDRESSES) {
        let written: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        for path in [
            "/app/searches?text=",
            "/app/searches?type=",
            "/app/searches?status=",
            "/app?query=",
            "/app?type=",
            "/app/operator?q=",
            "/app/operator?sort=",
            "/app/operator/accounts?q=",
            "/app/sign-in?next=",
            "/app/",
        ] {
            requests.push(json!(["GET", format!("{path}{}", written.replace('+', "%20")), {}]));
        }
        let search = json!({"csrf": csrf, "query": text, "type": "username", "once": "x"});
        requests.push(json!(["POST", "/app/searches", search]));
    }
    let harm = warden.harm_in_answers(&requests);
    assert!(harm.is_empty(), "{harm:#?}");
}

fn module(number: usize, site: &Site) -> Value {
    let module = entry(&format!("hostile-{number}"), &site.url(&format!("/{number}/{{query}}")));
    let changes = json!({
        "platform": TEXTS[number],
        "result": {"type": "profile", "value": "json:/text", "metadata": {
            "display_name": "json:/text", "bio": "json:/text", "location": "json:/text", "title": "json:/text",
            "avatar_url": "json:/address", "profile_url": "json:/address", "website": "json:/address",
            "links": "json:/addresses", "more": "json:/more",
        }},
        "results": [
            {"type": "technology", "each": "json:/texts/*", "value": "value:", "metadata": {"note": "value:"}},
            {"type": "person_name", "each": "json:/texts/*", "value": "value:"},
            {"type": "url", "each": "json:/addresses/*", "value": "value:", "metadata": {"avatar_url": "value:"}},
        ],
    });
    with(module, &changes)
}

/// Returns an answer with the text of that number in all values, and in the name of a member.
fn page(path: &str) -> Vec<u8> {
    let number: usize = path.split('/').nth(1).and_then(|number| number.parse().ok()).unwrap_or_default();
    let (text, address) = (TEXTS[number], ADDRESSES[number % ADDRESSES.len()]);
    let page = json!({
        "text": text, "address": address, "texts": [text], "addresses": [address],
        "more": {text: {"a": [text, address], "b": {text: text}}},
    });
    answer(200, "application/json", &page.to_string())
}
