//! The properties of every page: small, accessible, and usable on a phone and in the dark.
//! `scripts/screenshots` has pictures of them taken.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;

use super::Desk;
use super::axe::Axe;
use crate::support::browser::WebRequest;
use crate::support::server::Setup;

/// The most bytes over the network with heads, with an empty cache.
const MOST_BYTES: u64 = 100_000;
/// The same of the page of a run, with its results.
const MOST_BYTES_OF_A_RUN: u64 = 200_000;
/// The page of a graph has the library that draws it.
const MOST_BYTES_OF_A_GRAPH: u64 = 200_000;
const MOST_REQUESTS: usize = 4;
/// The most bytes of a thumbnail with the head of its answer.
const MOST_BYTES_OF_A_PICTURE: u64 = 17 * 1024;
/// The narrowest phone in use.
const NARROWEST: u32 = 320;

#[test]
fn every_page_is_small_and_accessible() {
    let desk = Desk::new(Setup::new());
    let (axe, mut told) = (Axe::load(), String::new());
    desk.browser.command("Network.setCacheDisabled", &json!({"cacheDisabled": true}));
    let mut look = |path: &str| judge(&desk, &axe, path, &mut told);
    look("/");
    look("/app/sign-in");
    axe.sees_a_fault(&desk.browser);
    let link = desk.account("other@example.com", "free");
    look(&link);
    desk.sign_up("ann@example.com", "unlimited");
    desk.server.cli(&["account", "set-role", "--email", "ann@example.com", "--role", "operator"]);
    look("/app");
    let run = desk.search("alice");
    desk.has_state("Completed");
    desk.open("/app");
    desk.browser.run("document.querySelector('input[name=nsfw]').checked = true", &[]);
    let again = desk.search_here("alice");
    desk.has_state("Completed");
    let diff = format!("{run}/diff/{}", again.rsplit('/').next().unwrap());
    let domain = desk.search("example.com");
    desk.has_state("Completed");
    let watch = desk.watch_with_changes();
    let webhook = a_webhook(&desk);
    look("/app/batches");
    let batch = a_batch(&desk, &axe);
    for path in [
        &run,
        &domain,
        &batch,
        &format!("{batch}/matrix"),
        &diff,
        &format!("{run}/people"),
        &format!("{run}/graph"),
        &format!("{run}/timeline"),
        "/app/searches",
        "/app/watches",
        &watch,
        "/app/webhooks",
        &webhook,
        "/app/keys",
        "/app/account",
        "/app/operator",
        "/app/operator/accounts",
        "/app/nowhere",
    ] {
        look(path);
    }
    the_dossier_shows_one_section(&desk, &domain);
    a_result_of_another_person_is_marked(&desk, &run);
    an_entity_of_the_graph_leads_to_what_is_joined_to_it(&desk, &run);
    desk.open("/app/keys");
    desk.browser.type_into("input[name=label]", "laptop");
    desk.browser.click("form:has(input[name=label]) button");
    desk.reads("sl_live_");
    axe.approves(&desk.browser, "a new key");
    eprintln!("{told}");
}

fn the_dossier_shows_one_section(desk: &Desk, domain: &str) {
    let shown = "[...document.querySelectorAll('.panel')].filter((at) => at.checkVisibility()).map((at) => at.id).join()";
    let script = format!("return {shown}");
    desk.open(domain);
    // The styles may arrive a moment after the page.
    desk.browser.wait_until(&format!("/^dossier-[a-z]+$/.test({shown})"));
    desk.browser.click(".dossier nav a[href='#dossier-dns']");
    assert_eq!(desk.browser.run(&script, &[]), json!("dossier-dns"));
    // A source leads to its row, which was hidden with all others.
    desk.browser.click("#dossier-dns td small a");
    desk.browser.wait_until("document.querySelector('.result:target')?.checkVisibility()");
}

fn a_result_of_another_person_is_marked(desk: &Desk, run: &str) {
    desk.open(run);
    let marked = "document.querySelectorAll('.result.not_mine').length";
    desk.browser.click("[data-part=results] .result .verdicts .not_mine");
    desk.browser.wait_until(&format!("{marked} === 1"));
    desk.browser.click(".result.not_mine .verdicts .not_mine");
    desk.browser.wait_until(&format!("{marked} === 0"));
}

/// Creates a webhook with a long address that has no place to break.
fn a_webhook(desk: &Desk) -> String {
    desk.open("/app/webhooks");
    desk.browser.type_into("#url", &format!("https://hooks.example.com/{}", "x".repeat(600)));
    desk.browser.click("form:has(#url) button");
    desk.reads("Secret of your new webhook");
    desk.browser.click("tbody th a");
    desk.browser.wait_until("location.pathname.startsWith('/app/webhooks/')");
    desk.place()
}

/// Starts a batch of one search in two steps, and follows it to its end without loading its page again.
fn a_batch(desk: &Desk, axe: &Axe) -> String {
    desk.open("/app/batches");
    desk.browser.type_into("textarea", "example.com");
    desk.browser.run("document.querySelector('select[name=type]').value = 'domain'", &[]);
    desk.browser.click("main form button");
    desk.reads("Nothing was charged");
    axe.approves(&desk.browser, "the check of a batch");
    desk.browser.click("button[name=start]");
    desk.browser.wait_until("location.pathname.startsWith('/app/batches/')");
    desk.browser.run("window.before = true", &[]);
    desk.browser.wait_until("document.querySelector('[data-part=state]:not([data-open])') !== null");
    let is_same = desk.browser.run("return window.before === true", &[]);
    assert_eq!(is_same, true, "the page was loaded again");
    desk.place()
}

/// The graph works with the keyboard: an entity with the focus shows what is joined to it, and leads to its entry.
fn an_entity_of_the_graph_leads_to_what_is_joined_to_it(desk: &Desk, run: &str) {
    desk.open(&format!("{run}/graph"));
    desk.browser.wait_until("document.querySelector('.graph canvas') !== null");
    desk.browser.click("[name=same_name]");
    desk.browser.click("[data-zoom=in]");
    desk.browser.click("#entities > summary");
    desk.browser.click(".entities li li a");
    desk.browser.wait_until("document.querySelector('.entities li:target') !== null");
}

fn judge(desk: &Desk, axe: &Axe, path: &str, told: &mut String) {
    let browser = &desk.browser;
    // Requests of the previous page do not count.
    browser.open("about:blank");
    let before = browser.requests().len();
    desk.open(path);
    let requests = browser.wait("the end of all requests", || {
        let mut requests = browser.requests().split_off(before);
        let is_over = requests.iter().all(is_over);
        // The operator's page requests the load repeatedly.
        requests.sort_by(|one, other| one.url.cmp(&other.url));
        requests.dedup_by(|one, other| one.url == other.url);
        is_over.then_some(requests)
    });
    // The thumbnails of results are loaded one by one as they are scrolled to. They have a limit of their own.
    let (pictures, requests): (Vec<_>, Vec<_>) =
        requests.into_iter().partition(|request| request.url.contains("/thumbnails/"));
    let is_small = |picture: &WebRequest| picture.bytes.is_none_or(|bytes| bytes <= MOST_BYTES_OF_A_PICTURE);
    assert!(pictures.iter().all(is_small), "{path}: {pictures:#?}");
    let bytes: u64 = requests.iter().filter_map(|request| request.bytes).sum();
    let outside = browser.requests_outside(&desk.origin);
    assert!(outside.is_empty(), "{path}: {outside:#?}");
    let is_run = desk.browser.run("return document.querySelector('[data-part=results]') !== null", &[]);
    let (most, most_requests) = match () {
        () if is_run == json!(true) => (MOST_BYTES_OF_A_RUN, MOST_REQUESTS),
        // The library and its script.
        () if path.ends_with("/graph") => (MOST_BYTES_OF_A_GRAPH, MOST_REQUESTS + 2),
        () => (MOST_BYTES, MOST_REQUESTS),
    };
    assert!(bytes <= most && requests.len() <= most_requests, "{path}: {bytes} bytes, {requests:#?}");
    axe.approves(browser, path);
    browser.prefer_dark(true);
    axe.can_read(browser, &format!("{path} in the dark"));
    browser.prefer_dark(false);
    for width in [NARROWEST, 375, 800] {
        browser.resize(width, 800);
        browser.wait_until(&format!("innerWidth === {width}"));
        let over = browser.run(WIDER, &[]);
        assert_eq!(over, json!([]), "{path} does not fit into {width}");
        // In a table, the hour may stand below the day.
        let broken = "return [...document.querySelectorAll('time')]
            .filter((at) => at.getClientRects().length > (at.closest('td') ? 2 : 1)).map((at) => at.textContent)";
        assert_eq!(browser.run(broken, &[]), json!([]), "{path} breaks a date at {width}");
    }
    photograph(desk, &format!("{:02}{}", told.lines().count(), named(path)));
    let _ = writeln!(told, "| {}: {bytes} bytes, {} requests", named(path), requests.len());
}

/// Replaces the parts of a path that differ each time.
fn named(path: &str) -> String {
    let segments = path.split('/').map(|part| if part.len() > 20 { "…" } else { part });
    segments.collect::<Vec<_>>().join("/")
}

/// Takes pictures of the whole page in two sizes, light and dark, if a person wants them.
fn photograph(desk: &Desk, name: &str) {
    let browser = &desk.browser;
    for (size, width) in [("desktop", 1280), ("phone", 390)] {
        let Ok(folder) = std::env::var("SIGHTLINE_TEST_SCREENSHOTS") else { break };
        browser.resize(width, 800);
        let height = browser.run("return Math.min(2400, document.documentElement.scrollHeight)", &[]);
        browser.resize(width, height.as_u64().unwrap().max(800).try_into().unwrap());
        for light in ["light", "dark"] {
            browser.prefer_dark(light == "dark");
            browser.wait_until("!document.getAnimations().some((one) => one instanceof CSSTransition)");
            let file = format!("{}-{size}-{light}.png", name.replace('/', "-"));
            browser.screenshot(&Path::new(&folder).join(file));
        }
        browser.prefer_dark(false);
    }
    browser.resize(1280, 1000);
}

fn is_over(request: &WebRequest) -> bool {
    request.bytes.is_some() || request.failure.is_some() || request.url.starts_with("data:")
}

/// Returns the elements that are wider than the window, unless they are in a scrollable box.
const WIDER: &str = "
    if (document.documentElement.scrollWidth <= innerWidth) return [];
    const can_be_scrolled = (at) => at && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(at).overflowX) || can_be_scrolled(at.parentElement));
    return [...document.body.querySelectorAll('*')].filter((at) => at.getBoundingClientRect().right > innerWidth + 0.5
        && !can_be_scrolled(at.parentElement)).map((at) => at.outerHTML.slice(0, 120)).concat(['the page is wider']);";
