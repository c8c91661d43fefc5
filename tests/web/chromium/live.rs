//! The page of a run that is live: nothing that the reader looks at moves, and the filters beside the bar.

use serde_json::{Value, json};

use super::Desk;
use super::axe::Axe;
use crate::support::gated_site::GatedSite;
use crate::support::server::Setup;

/// The most that a page may shift, as the sum of its layout shifts: the share of the window that moves, times how far.
const MOST_SHIFT: f64 = 0.1;

/// Collects the layout shifts that the reader did not cause, with the elements that moved.
const OBSERVE: &str = "
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) {
            if (entry.hadRecentInput) continue;
            const moved = entry.sources.map(({ node, previousRect: from, currentRect: to }) =>
                `${(node?.outerHTML ?? node?.textContent)?.slice(0, 90)} from ${from.x},${from.y} to ${to.x},${to.y}`);
            window.shifts.push({ value: entry.value, moved });
        }
    }).observe({ type: 'layout-shift', buffered: true });";
/// Whether the script has read the run to its end.
const HAS_READ_ALL: &str =
    "document.querySelector('[data-part=said]').textContent.startsWith('Search completed')";

#[test]
fn a_live_run_does_not_shift() {
    let desk = Desk::new(Setup::new().realistic().all_modules().flag("--run-timeout=20s"));
    desk.sign_up("ann@example.com", "pro");
    desk.browser.command("Page.addScriptToEvaluateOnNewDocument", &json!({"source": OBSERVE}));
    for (width, height) in [(1280, 800), (390, 844)] {
        desk.browser.resize(width, height);
        desk.search("everybody");
        desk.browser.wait_until(HAS_READ_ALL);
        let shifts = desk.browser.run("return window.shifts", &[]);
        let shifts = shifts.as_array().unwrap();
        let sum: f64 = shifts.iter().filter_map(|shift| shift["value"].as_f64()).sum();
        eprintln!("{width}x{height}: {sum:.4} in {} shifts, {} results shown", shifts.len(), desk.results());
        assert!(sum < MOST_SHIFT, "{width}x{height}: {sum}\n{shifts:#?}");
        assert!(desk.draws_all() > 100);
    }
}

#[test]
fn new_results_wait_while_the_reader_is_among_the_results() {
    let (site, axe) = (GatedSite::start(), Axe::load());
    let desk = Desk::new(Setup::real().flags(&site.flags(12, 2)));
    desk.sign_up("ann@example.com", "pro");
    desk.browser.resize(390, 844);
    for is_scrolled in [false, true] {
        site.close();
        desk.search(if is_scrolled { "bob" } else { "alice" });
        desk.browser.wait_until("document.querySelectorAll('[id^=result-]').length === 12");
        let reach = if is_scrolled {
            "scrollTo(0, document.querySelector('[data-part=results]').getBoundingClientRect().top)"
        } else {
            "document.querySelector('.result summary').focus({ preventScroll: true })"
        };
        desk.browser.run(reach, &[]);
        let place = "return document.querySelector('.result summary').getBoundingClientRect().top";
        let before = desk.browser.run(place, &[]);
        // Counts the texts for screen readers.
        desk.browser.run(
            "window.said = []; new MutationObserver(([{ target }]) => window.said.push(target.textContent))
                .observe(document.querySelector('[data-part=said]'), { childList: true })",
            &[],
        );
        site.open();
        desk.browser.wait_until(HAS_READ_ALL);
        assert_eq!((desk.results(), desk.browser.run(place, &[])), (12, before));
        let button = desk.browser.find("[data-part=news]");
        assert_eq!((button.text().as_str(), button.is_shown()), ("2 new results: show", true));
        let said = desk.browser.run("return window.said", &[]);
        let news = said
            .as_array()
            .unwrap()
            .iter()
            .filter(|text| text.as_str().is_some_and(|text| text.contains("New results wait")));
        assert_eq!(news.count(), 1, "{said}");
        axe.approves(&desk.browser, "results that wait");
        // Enter.
        button.type_keys("\u{e007}");
        desk.browser.wait_until("document.activeElement.id === 'found'");
        assert_eq!((desk.results(), button.is_shown()), (14, false));
    }
}

#[test]
fn the_legend_filters_by_outcome() {
    let site = GatedSite::start();
    let desk = Desk::new(Setup::real().flags(&site.flags(2, 1)));
    desk.sign_up("ann@example.com", "pro");
    desk.search("alice");
    desk.browser.wait_until("document.querySelectorAll('[id^=result-]').length === 2");
    desk.browser.click("[data-part=stop] button");
    desk.has_state("Stopped");
    let chip = |outcome: &str| format!("[data-part=legend] [data-outcome={outcome}] button");
    let shown = || {
        let script = "return [
            [...document.querySelectorAll('[data-part=coverage] [data-outcome]')].filter((at) => at.checkVisibility())
                .map((at) => `${at.dataset.outcome} ${at.open ? 'open' : 'closed'}`).join(),
            document.querySelector('[data-part=results]').checkVisibility(),
            [...document.querySelectorAll('[data-part=legend] [aria-pressed=true]')].map((at) => at.parentElement.dataset.outcome).join()]";
        desk.browser.run(script, &[])
    };
    assert_eq!(shown(), json!(["hit closed,skipped closed", true, ""]));
    desk.browser.find(&chip("skipped")).type_keys(" ");
    assert_eq!(shown(), json!(["skipped open", false, "skipped"]));
    desk.browser.wait_until(
        "document.querySelector('#outcome-skipped li')?.textContent.startsWith('site-127-0-1-1')",
    );
    desk.browser.click(&chip("hit"));
    assert_eq!(shown(), json!(["hit open", true, "hit"]));
    desk.browser.click(&chip("hit"));
    assert_eq!(shown(), json!(["hit open,skipped open", true, ""]));
}

/// What the first results of a page say, with the names of the groups.
const FIRST: &str = "return [...document.querySelectorAll('.group > h3, .result')].slice(0, 30).map((at) =>
    [at.id, at.className, (at.querySelector('.result-head, .result-line') ?? at).innerText].join('|'))";

#[test]
fn the_server_and_the_script_show_the_same_results_in_the_same_order() {
    let desk = Desk::new(Setup::new());
    desk.sign_up("ann@example.com", "pro");
    let mut rows = Vec::new();
    for query in ["everybody", "example.com"] {
        let run = desk.search(query);
        desk.draws_all();
        desk.browser.command("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
        desk.open(&run);
        let by_server = desk.browser.run(FIRST, &[]);
        let links = desk.browser.find_all("[data-part=legend] a[href^='#outcome-']").len();
        assert_eq!(links, 8, "without scripts, the legend has links");
        desk.browser.command("Emulation.setScriptExecutionDisabled", &json!({"value": false}));
        desk.open(&run);
        desk.draws_all();
        assert_eq!(by_server, desk.browser.run(FIRST, &[]));
        rows.extend(by_server.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned));
    }
    for kind in ["|result|", "|result bare|", "||"] {
        assert!(rows.iter().filter(|row| row.contains(kind)).count() > 1, "{kind}: {rows:#?}");
    }
}
