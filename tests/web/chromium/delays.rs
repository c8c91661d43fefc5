//! The delay until a result is visible (`scripts/bench web`).

use serde_json::{Value, json};

use super::Desk;
use crate::support::server::Setup;

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
