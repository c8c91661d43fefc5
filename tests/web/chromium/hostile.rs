//! Injected markup and scripts in every field that sites and users can fill.

use serde_json::{Value, json};

use super::Desk;
use super::hostile_site::HostileSites;
use super::injection::{ADDRESSES, TEXTS, Warden};
use crate::support::server::Setup;

/// An email address that the standards allow.
const EMAIL: &str = "\"<img/src=x/onerror=window.pwned=1>\"@example.com";

#[test]
fn text_from_outside_is_never_markup() {
    let sites = HostileSites::start();
    let desk = Desk::new(Setup::real().flags(&sites.flags()));
    let browser = &desk.browser;
    // It appears in the list of sessions.
    let agent = json!({"userAgent": format!("Mozilla/5.0 {}", TEXTS[1])});
    browser.command("Network.setUserAgentOverride", &agent);
    desk.sign_up(EMAIL, "unlimited");
    desk.server.cli(&["account", "set-role", "--email", EMAIL, "--role", "operator"]);
    let warden = Warden::of(browser);
    warden.sees_harm();
    let mut tries = tries_of_a_site(&desk, &warden);
    tries += tries_of_labels(&desk, &warden);
    tries += tries_of_requests(&desk, &warden);
    for path in ["/app/account", "/app/operator", "/app/operator/accounts"] {
        desk.open(path);
        warden.approves(path);
        tries += 2;
    }
    let asked = browser.requests_outside(&desk.origin);
    assert!(asked.iter().all(|request| request.url.starts_with("file:")), "{asked:#?}");
    eprintln!("| {tries} tries to inject markup or script, all of them stopped");
}

/// Injects into the fields of results: live, after a reload, and in the report.
fn tries_of_a_site(desk: &Desk, warden: &Warden<'_>) -> usize {
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
    results * 9
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
fn tries_of_labels(desk: &Desk, warden: &Warden<'_>) -> usize {
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
    labels.len() * 2
}

/// Injects into requests: queries, filters, paths, form input.
fn tries_of_requests(desk: &Desk, warden: &Warden<'_>) -> usize {
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
    requests.len()
}
