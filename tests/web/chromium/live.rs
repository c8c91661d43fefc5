//! The page of a run that is live: nothing that the reader looks at moves.

use serde_json::json;

use super::Desk;
use super::axe::Axe;
use crate::support::held_site::Site;
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
/// Whether the page has told the end of the run.
const HAS_READ_ALL: &str = "document.querySelector('#refreshed').textContent.startsWith('Search completed')";

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
        // A part in a part that was replaced is still there.
        assert_eq!(desk.browser.find_all("[data-filter] [data-part=verdicts]").len(), 1);
    }
}

#[test]
fn results_keep_their_places_while_the_reader_is_among_them() {
    let (site, axe) = (Site::start(), Axe::load());
    let desk = Desk::new(Setup::real().flags(&site.flags(12, 2)));
    desk.sign_up("ann@example.com", "pro");
    desk.browser.resize(390, 844);
    for is_scrolled in [false, true] {
        site.close_all();
        desk.search(if is_scrolled { "bob" } else { "alice" });
        desk.browser.wait_until("document.querySelectorAll('[id^=result-]').length === 12");
        let reach = if is_scrolled {
            "scrollTo(0, document.querySelector('[data-part=results]').getBoundingClientRect().top)"
        } else {
            "document.querySelector('.result summary').focus({ preventScroll: true })"
        };
        desk.browser.run(reach, &[]);
        let place = "const first = document.querySelector('.result');
            return [first.id, first.getBoundingClientRect().top]";
        let before = desk.browser.run(place, &[]);
        site.open_all();
        desk.browser.wait_until(HAS_READ_ALL);
        assert_eq!((desk.results(), desk.browser.run(place, &[])), (14, before));
        let button = desk.browser.find("[data-news]");
        assert!(button.is_shown() && button.text().starts_with("The search has ended"), "{}", button.text());
        axe.approves(&desk.browser, "results that wait");
        // Enter.
        button.type_keys("\u{e007}");
        desk.browser.wait_until("document.activeElement.id === 'found'");
        assert_eq!((desk.results(), button.is_shown()), (14, false));
        assert!(!desk.browser.find_all("[id^=category-]").is_empty());
    }
}

#[test]
fn a_filter_is_applied_while_the_reader_types_and_stays_in_the_address() {
    let site = Site::start();
    let desk = Desk::new(Setup::real().flags(&site.flags(3, 1)));
    desk.sign_up("ann@example.com", "pro");
    desk.search("alice");
    let has = |count: usize| {
        desk.browser.wait_until(&format!("document.querySelectorAll('[id^=result-]').length === {count}"));
    };
    has(3);
    let site_name = desk.browser.find(".result bdi").text();
    desk.browser.type_into("#filter", &site_name);
    has(1);
    assert!(desk.place().contains("text="), "{}", desk.place());
    // What comes later is filtered, too.
    site.open_all();
    desk.has_state("Completed");
    desk.browser.wait_until("!document.querySelector('[data-open]')");
    assert_eq!((desk.results(), desk.browser.find("[data-part=found]").text().as_str()), (1, "4"));
    desk.open(&desk.place());
    assert_eq!(desk.browser.find("[data-part=matching]").text(), "1 of 4 shown");
    // The bar opens the coverage.
    desk.browser.click("#coverage > summary");
    desk.browser.wait_until("document.querySelector('#list-hit summary').checkVisibility()");
}

#[test]
fn several_lines_in_the_search_field_make_a_batch() {
    let desk = Desk::new(Setup::new());
    desk.sign_up("ann@example.com", "pro");
    let paste = "const data = new DataTransfer();
        data.setData('text', arguments[0]);
        const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
        return document.querySelector('#query').dispatchEvent(event)";
    assert_eq!(desk.browser.run(paste, &[json!("alice\n")]), true, "one line is a query");
    assert_eq!(desk.browser.run(paste, &[json!("alice\nbob@example.com\n")]), false);
    desk.arrives_at("/app/batches");
    desk.browser.wait_until("document.querySelector('#list').value.startsWith('alice')");
    desk.browser.click("main form button:not([name])");
    desk.reads("Nothing was charged");
    assert_eq!(desk.browser.find("dd").text(), "2");
}

#[test]
fn a_batch_is_followed_while_its_state_changes() {
    let site = Site::start();
    let desk = Desk::new(Setup::real().flags(&site.flags(1, 1)));
    desk.sign_up("ann@example.com", "pro");
    desk.open("/app/batches");
    desk.browser.type_into("textarea", "alice\nbob");
    desk.browser.click("main form button:not([name])");
    desk.reads("Nothing was charged");
    desk.browser.click("button[name=start]");
    desk.browser.wait_until("location.pathname.startsWith('/app/batches/')");
    desk.browser.run("window.before = true", &[]);
    desk.reads("0 of 2 done");
    desk.browser.wait_until("document.querySelectorAll('[data-part=rows] th a').length === 2");
    let csrf = desk.browser.find("input[name=csrf]").attribute("value").unwrap();
    let run = desk.browser.find("[data-part=rows] th a").attribute("href").unwrap();
    assert_eq!(desk.send(&format!("{run}/stop"), &[("csrf", &csrf)]), 303);
    desk.reads("1 of 2 done");
    site.open_all();
    desk.browser.wait_until("document.querySelector('[data-part=state]:not([data-open])') !== null");
    desk.reads("2 of 2 done");
    assert_eq!(desk.browser.run("return window.before", &[]), true, "the page was loaded again");
}
