//! The documentation in a browser: complete, without requests to other origins, without errors in the
//! console.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::browser::{Browser, Element};
use crate::support::nginx::NginxSetup;
use crate::support::server::{Server, Setup};

/// Returns every operation of the document, such as `GET /v1/me`.
fn operations(server: &Server) -> BTreeSet<String> {
    const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
    let document = server.request("GET", "/openapi.json").send().json();
    let paths = document["paths"].as_object().unwrap();
    let operations: BTreeSet<String> = paths
        .iter()
        .flat_map(|(path, item)| item.as_object().unwrap().keys().map(move |method| (method, path)))
        .filter(|(method, _)| METHODS.contains(&method.as_str()))
        .map(|(method, path)| format!("{} {path}", method.to_uppercase()))
        .collect();
    assert!(operations.contains("GET /v1/me") && operations.len() > 5, "{operations:?}");
    operations
}

/// Returns method and path of the elements that match the selectors.
fn shown(browser: &Browser, methods: &str, paths: &str) -> BTreeSet<String> {
    let script =
        "const texts = (selector) => [...document.querySelectorAll(selector)].map((at) => at.textContent);
        const paths = texts(arguments[1]);
        return texts(arguments[0]).map((method, index) => method.toUpperCase() + ' ' + paths[index]);";
    let pairs = browser.run(script, &[methods.into(), paths.into()]);
    // The pages allow a line break after each slash.
    pairs.as_array().unwrap().iter().map(|pair| pair.as_str().unwrap().replace('\u{200b}', "")).collect()
}

/// Asserts that the console has no errors, and that there were no requests to other origins, by the browser's
/// log and the page's own count.
fn is_clean(browser: &Browser, origin: &str) {
    assert!(browser.complaints().is_empty(), "{:#?}", browser.complaints());
    let outside = browser.requests_outside(origin);
    assert!(outside.is_empty(), "{outside:#?}");
    // A browser may list pictures that are written out in a style sheet (`data:`), which take no request.
    let script = "return performance.getEntries().map((entry) => entry.name)
        .filter((name) => /^[a-z]+:/.test(name) && !name.startsWith('data:'))";
    let loaded = browser.run(script, &[]);
    let loaded: Vec<&str> = loaded.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(loaded.len() > 2 && loaded.iter().all(|url| url.starts_with(origin)), "{loaded:?}");
    for request in browser.requests() {
        assert!(request.failure.is_none() && request.status.is_none_or(|status| status < 400), "{request:?}");
    }
}

/// Returns texts whose contrast is below 2 to 1. (WCAG asks for 3 for large text; Swagger UI's own coloured
/// buttons have 2.3.)
fn faint_texts(browser: &Browser) -> Value {
    let script = r"
        const rgba = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { r, g, b, a } };
        const over = (top, below) => ({ a: 1, r: top.r * top.a + below.r * (1 - top.a),
            g: top.g * top.a + below.g * (1 - top.a), b: top.b * top.a + below.b * (1 - top.a) });
        const canvas = () => matchMedia('(prefers-color-scheme: dark)').matches ? rgba('rgb(18,18,18)') : rgba('rgb(255,255,255)');
        const behind = (at) => { if (!at) return canvas(); const own = rgba(getComputedStyle(at).backgroundColor);
            return own.a === 1 ? own : over(own, behind(at.parentElement)) };
        const part = (value) => { value /= 255; return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4 };
        const light = ({ r, g, b }) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
        const found = new Set();
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        let seen = 0;
        while (texts.nextNode()) {
            const text = texts.currentNode.textContent.trim(), at = texts.currentNode.parentElement;
            if (!text || !at.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
            if (['SCRIPT', 'STYLE', 'NOSCRIPT', 'OPTION'].includes(at.tagName)) continue;
            seen += 1;
            const ground = behind(at), ink = over(rgba(getComputedStyle(at).color), ground);
            const [dim, bright] = [light(ground), light(ink)].sort((one, other) => one - other);
            if ((bright + 0.05) / (dim + 0.05) < 2) found.add(`${at.tagName}.${at.className}: ${text.slice(0, 60)}`);
        }
        if (seen < 20) found.add('only ' + seen + ' texts');
        return [...found];";
    browser.run(script, &[])
}

fn fits_into(browser: &Browser, width: u32) {
    browser.resize(width, 800);
    browser.wait_until(&format!("innerWidth === {width}"));
    browser.wait_until("document.documentElement.scrollWidth <= innerWidth");
}

#[test]
fn what_an_option_means_stands_beside_it() {
    let server = Setup::new().start();
    let browser = Browser::start();
    browser.open(&format!("http://{}/manual/configuration", server.address));
    browser.find(".table td");
    for width in [1100, 1440] {
        fits_into(&browser, width);
        // A table that is wider than the page scrolls in its own box.
        browser.wait_until(
            "[...document.querySelectorAll('.table')].every((table) => table.scrollWidth <= table.clientWidth)",
        );
    }
}

#[test]
fn swagger_ui_shows_every_operation_and_tries_one_out() {
    // The announced address differs from the reader's: requests go to the reader's server.
    let server = Setup::new().flag("--base-url=https://search.example.org").start();
    let origin = format!("http://{}", server.address);
    let browser = Browser::start();
    browser.open(&format!("{origin}/docs"));
    browser.find(".opblock");
    assert_eq!(shown(&browser, ".opblock-summary-method", ".opblock-summary-path"), operations(&server));

    let status = |operation: &str| {
        browser.click(&format!("{operation} .execute"));
        let cell = format!("{operation} .live-responses-table .response .response-col_status");
        browser.wait("the answer's status", || {
            browser
                .find_all(&cell)
                .first()
                .map(Element::text)
                .filter(|text| text.starts_with(char::is_numeric))
        })
    };
    let me = ".opblock:has([data-path='/v1/me'])";
    browser.click(&format!("{me} .opblock-summary-control"));
    browser.click(&format!("{me} .try-out__btn"));
    browser.click(".btn.authorize");
    browser.type_into(".auth-container input", &server.key);
    browser.click(".auth-btn-wrapper .authorize");
    browser.click(".auth-btn-wrapper .btn-done");
    assert!(status(me).starts_with("200"));
    let answer =
        browser.find(&format!("{me} .live-responses-table .response .response-col_description")).text();
    assert!(answer.contains("\"tier\": \"unlimited\""), "{answer}");
    let url = format!("{origin}/v1/me");
    let asked: Vec<_> = browser.requests().into_iter().filter(|request| request.url == url).collect();
    assert!(asked.len() == 1 && asked[0].status == Some(200), "{asked:?}");
    is_clean(&browser, &origin);

    fits_into(&browser, 400);
    for dark in [false, true] {
        browser.prefer_dark(dark);
        browser.wait_until(&format!("document.documentElement.classList.contains('dark-mode') === {dark}"));
        browser.wait(&format!("texts that stand out, dark: {dark}"), || {
            (faint_texts(&browser) == Value::Array(vec![])).then_some(())
        });
    }
    is_clean(&browser, &origin);
}

#[test]
fn redoc_shows_every_operation_in_light_and_in_dark() {
    let server = Setup::new().start();
    let origin = format!("http://{}", server.address);
    let browser = Browser::start();
    for dark in [false, true] {
        // Not while the page is open, which would load it again: Chromium sometimes crashes then.
        browser.open("about:blank");
        browser.prefer_dark(dark);
        browser.open(&format!("{origin}/redoc"));
        browser.find(".http-verb");
        assert_eq!(shown(&browser, ".http-verb", ".http-verb + span"), operations(&server));
        assert_eq!(faint_texts(&browser), Value::Array(vec![]), "dark: {dark}");
        is_clean(&browser, &origin);
        fits_into(&browser, 400);
        browser.resize(1280, 1000);
    }
}

#[test]
fn the_pages_work_under_a_prefix_of_a_proxy_with_tls() {
    let server = Setup::new().start();
    let nginx = NginxSetup::before(server.address)
        .with_tls()
        .with("location / {", "location /lookup/ {")
        .with("http://sightline;", "http://sightline/;")
        .start();
    let origin = format!("https://{}", nginx.address);
    let browser = Browser::start();
    browser.open(&format!("{origin}/lookup/"));
    browser.click("a[href='docs']");
    browser.wait_until("location.pathname === '/lookup/docs'");
    browser.find(".opblock");
    assert_eq!(browser.find(".servers select").property("value"), format!("{origin}/lookup"));
    browser.click("nav a[href='redoc']");
    assert!(browser.find(".http-verb").is_shown());
    // A slash at the end is redirected.
    browser.open(&format!("{origin}/lookup/docs/"));
    browser.find(".opblock");
    assert_eq!(browser.url(), format!("{origin}/lookup/docs"));
    is_clean(&browser, &format!("{origin}/lookup"));
}
