//! Screenshots of every page (`scripts/screenshots`), and the delay until a result is visible (`scripts/bench
//! web`).

use std::path::PathBuf;

use serde_json::{Value, json};

use super::Desk;
use crate::support::server::Setup;

const SIZES: [(&str, u32); 2] = [("desktop", 1280), ("phone", 390)];

#[test]
#[ignore = "for people: scripts/screenshots"]
fn pictures() {
    let folder = PathBuf::from(std::env::var("SIGHTLINE_TEST_SCREENSHOTS").unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    let desk = Desk::new(
        Setup::new()
            .all_modules()
            .realistic()
            .flag("--run-timeout=20s")
            .flag(&crate::webhooks::lab::key_flag()),
    );
    let take = |name: &str| photograph(&desk, &folder, name);
    desk.open("/");
    take("landing");
    desk.open("/app/sign-in");
    take("sign-in");
    desk.sign_in("nobody@example.com", "not the password");
    take("sign-in-wrong");
    let link = desk.account("new@example.com", "basic");
    desk.open(&link);
    take("set-up");
    desk.sign_up("ann@example.com", "pro");
    take("search-first");
    desk.server.cli(&["account", "set-role", "--email", "ann@example.com", "--role", "operator"]);
    desk.open("/app/searches");
    take("history-empty");
    let run = desk.search("alice");
    desk.browser.wait_until("document.querySelectorAll('[id^=result-]').length > 5");
    take("run-live");
    desk.has_state("Completed");
    desk.open(&run);
    desk.browser.wait_until("document.querySelectorAll('[id^=result-]').length > 5");
    take("run");
    let details = "document.querySelectorAll('details').forEach((at) => { at.open = true })";
    desk.browser.run(details, &[]);
    take("run-open");
    desk.open(&format!("{run}/graph"));
    take("graph");
    let again = desk.search("alice");
    desk.has_state("Completed");
    desk.open(&format!("{run}/diff{}", again.trim_start_matches("/app/searches")));
    take("diff");
    for (query, kind) in [("robert@example.com", "email"), ("example.com", "domain")] {
        let run = desk.search(query);
        desk.has_state("Completed");
        desk.open(&run);
        take(&format!("run-{kind}"));
    }
    desk.open(&format!("{}#dossier-mail", desk.place()));
    take("run-domain-mail");
    desk.search("carol77");
    desk.open("/app/watches");
    take("watches-empty");
    desk.open(&run);
    desk.browser.click("a[href*='/app/watches?run=']");
    desk.arrives_at("/app/watches");
    take("watch-this");
    let watch = desk.watch_with_changes();
    desk.open(&watch);
    take("watch");
    desk.open("/app/watches");
    take("watches");
    desk.open("/app/webhooks");
    take("webhooks-empty");
    desk.browser.type_into("input[name=url]", "https://hooks.example.com/sightline");
    desk.browser.click("form:has(input[name=url]) button");
    desk.reads("whsec_");
    take("webhook-made");
    batches(&desk, &take);
    desk.open("/app");
    desk.browser.run(details, &[]);
    take("search-choices");
    for (name, path) in [
        ("search", "/app"),
        ("history", "/app/searches"),
        ("keys-empty", "/app/keys"),
        ("account", "/app/account"),
        ("operator", "/app/operator"),
        ("operator-accounts", "/app/operator/accounts"),
        ("not-found", "/app/nowhere"),
    ] {
        desk.open(path);
        take(name);
    }
    desk.open("/app/keys");
    desk.browser.type_into("input[name=label]", "laptop");
    desk.browser.click("form:has(input[name=label]) button");
    desk.reads("sl_live_");
    take("key-made");
    desk.open("/app/keys");
    take("keys");
}

/// Takes pictures of leads, and of a family and its people. Every site answers, so that all are found.
#[test]
#[ignore = "for people: scripts/screenshots"]
fn pictures_of_families() {
    let folder = PathBuf::from(std::env::var("SIGHTLINE_TEST_SCREENSHOTS").unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    let desk = Desk::new(Setup::new().all_modules());
    let take = |name: &str| photograph(&desk, &folder, name);
    desk.sign_up("ann@example.com", "pro");
    desk.search("person8");
    desk.draws_all();
    desk.open(&desk.place());
    desk.browser.wait_until("document.querySelector('.leads button') !== null");
    take("run-leads");
    desk.open(&format!("{}/graph", desk.place()));
    take("run-people");
    desk.open("/app");
    desk.browser.run("document.querySelector('select[name=follow]').value = '3'", &[]);
    let root = desk.search_here("person8");
    desk.browser.wait_until("document.querySelector('[data-open]') === null");
    desk.open(&root);
    take("family");
    let child = desk.browser.find(".tree a").attribute("href").unwrap();
    desk.open(&child);
    desk.draws_all();
    take("family-child");
    desk.open(&format!("{root}/graph"));
    take("family-people");
    desk.open("/app");
    desk.search("person2");
    desk.draws_all();
    desk.open(&format!("{}/graph", desk.place()));
    take("people-impostor");
}

/// Takes pictures of a batch from its list to its matrix.
fn batches(desk: &Desk, take: &impl Fn(&str)) {
    desk.open("/app/batches");
    take("batches-empty");
    let check = |list: &str| {
        desk.browser.run("document.querySelector('textarea').value = arguments[0]", &[json!(list)]);
        desk.browser.click("main form button:not([name])");
        desk.reads("Nothing was charged");
    };
    desk.browser.type_into("input[name=name]", "applicants of May");
    check("type,query\ndomain,example.com\ndomain,example.com\nemail,nobody\nusername,a b\n");
    take("batch-mistakes");
    check("type,query\ndomain,example.com\nusername,alice\nusername,bob\nemail,carol@example.com\n");
    take("batch-check");
    desk.browser.click("button[name=start]");
    desk.browser.wait_until("location.pathname.startsWith('/app/batches/')");
    take("batch-running");
    let batch = desk.place();
    desk.browser.wait_until("document.querySelector('[data-part=state]:not([data-open])') !== null");
    take("batch");
    desk.open(&format!("{batch}/matrix"));
    take("batch-matrix");
    desk.open("/app/batches");
    take("batches");
}

/// Photographs the whole page in all sizes, light and dark.
fn photograph(desk: &Desk, folder: &std::path::Path, name: &str) {
    for (size, width) in SIZES {
        desk.browser.resize(width, 800);
        let height = desk.browser.run("return Math.min(2400, document.documentElement.scrollHeight)", &[]);
        desk.browser.resize(width, height.as_u64().unwrap().max(800).try_into().unwrap());
        for light in ["light", "dark"] {
            desk.browser.prefer_dark(light == "dark");
            desk.browser.wait_until("!document.getAnimations().some((one) => one instanceof CSSTransition)");
            desk.browser.screenshot(&folder.join(format!("{name}-{size}-{light}.png")));
        }
    }
    desk.browser.prefer_dark(false);
    desk.browser.resize(1280, 1000);
}

/// Records the time of the animation frame after which a result is visible.
const WATCH: &str = "
    window.seen = {};
    const look = () => requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
            const now = Date.now();
            for (const at of document.querySelectorAll('[id^=result-]')) window.seen[at.id.slice(7)] ??= now;
        };
        channel.port2.postMessage(0);
    });
    new MutationObserver(look).observe(document, { childList: true, subtree: true });";

#[test]
#[ignore = "a measurement: scripts/bench web"]
fn delays() {
    let desk = Desk::new(Setup::new().realistic());
    desk.sign_up("ann@example.com", "unlimited");
    desk.browser.command("Page.addScriptToEvaluateOnNewDocument", &json!({"source": WATCH}));
    let (mut delays, mut first) = (Vec::new(), Vec::new());
    for query in ["everybody1", "everybody2", "everybody3"] {
        let run = desk.search(query);
        desk.has_state("Completed");
        let shown = desk.browser.run("return window.seen", &[]);
        let report = desk.browser.run_async(
            "return (await (await fetch(given[0])).json()).results",
            &[json!(format!("{run}/export?format=json"))],
        );
        let of_run = delays_of(&shown, &report);
        first.push(of_run[0]);
        delays.extend(of_run);
    }
    delays.sort_unstable();
    let at = |share: f64| delays[((delays.len() - 1) as f64 * share) as usize];
    println!(
        "| {} results: p50 {} ms, p99 {} ms, worst {} ms from the module's answer to the picture with it; first ones \
         {first:?} ms",
        delays.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

/// Returns milliseconds in the order in which the modules answered.
fn delays_of(shown: &Value, results: &Value) -> Vec<i64> {
    let dated = results.as_array().unwrap().iter().map(|result| {
        let at: jiff::Timestamp = result["created_at"].as_str().unwrap().parse().unwrap();
        (at.as_millisecond(), result["id"].to_string())
    });
    let mut dated: Vec<(i64, String)> = dated.collect();
    dated.sort_unstable();
    assert_eq!(shown.as_object().unwrap().len(), dated.len(), "not all were shown");
    dated.into_iter().map(|(at, id)| shown[&id].as_i64().unwrap() - at).collect()
}
