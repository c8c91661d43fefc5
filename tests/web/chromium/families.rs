//! Families in a browser: the tree of searches changes by itself, and leads are followed.

use serde_json::json;

use super::Desk;
use super::axe::Axe;
use crate::support::server::Setup;

/// All searches of the tree have ended.
const ALL_COMPLETED: &str = "(() => {
    const state = [...document.querySelectorAll('.tree .badge:not(.good)')].length;
    return document.querySelectorAll('.tree li').length >= 3 && state === 0 && !document.querySelector('[data-open]');
})()";

#[test]
fn a_family_is_followed_and_a_lead_is_searched_from_its_card() {
    let desk = Desk::new(Setup::new().all_modules());
    let axe = Axe::load();
    desk.sign_up("ann@example.com", "unlimited");
    desk.browser.run("document.querySelector('select[name=follow]').value = '3'", &[]);
    let root = desk.search_here("person8");
    desk.browser.run("window.before = true", &[]);
    desk.browser.wait_until(ALL_COMPLETED);
    assert_eq!(desk.browser.run("return window.before", &[]), json!(true), "the page was loaded again");
    assert!(!desk.browser.find_all(".tree .level-2 a").is_empty(), "a search below another one");
    axe.approves(&desk.browser, "a family");
    // The leads show at the end what became of them.
    desk.browser.wait_until("document.querySelector('.leads a[href*=\"/app/searches/\"]') !== null");
    people_have_pictures(&desk, &axe, &root);
    a_lead_is_searched_with_the_keyboard(&desk, &axe);
    desk.is_clean();
}

fn people_have_pictures(desk: &Desk, axe: &Axe, run: &str) {
    desk.open(run);
    desk.browser.wait_until("document.querySelector('.people .face img')?.naturalWidth === 64");
    axe.approves(&desk.browser, "people with pictures");
}

fn a_lead_is_searched_with_the_keyboard(desk: &Desk, axe: &Axe) {
    desk.search("person8");
    desk.draws_all();
    let button = ".leads button";
    // What the search has found by itself is no lead.
    let texts = "return [...document.querySelectorAll('.leads li:has(button) > span:first-child')].map((at) => at.querySelector('bdi').textContent).sort()";
    desk.browser.wait_until(&format!("document.querySelector('{button}') !== null"));
    assert_eq!(desk.browser.run(texts, &[]), json!(["Manifold: faridmoreau8", "faridmoreau8"]));
    // It stays closed when the search ends, so that nothing moves.
    desk.browser.run("document.querySelector('#next').open = true", &[]);
    axe.approves(&desk.browser, "leads");
    let button = desk.browser.find(button);
    assert!(button.text().contains(", 1 credit"), "{}", button.text());
    desk.browser.run("window.before = true; arguments[0].focus()", &[button.as_argument()]);
    button.type_keys("\n");
    desk.browser.wait_until("window.before === undefined && document.readyState === 'complete'");
    // Its results join those of this search, say where they come from, and are judged there.
    let joined = "document.querySelector('.result:has([title^=\"found by the search\"])')";
    desk.browser.wait_until(&format!("{joined} !== null"));
    let id = desk.browser.run(&format!("return {joined}.id"), &[]);
    let mine = format!("[id='{}'] .mine", id.as_str().unwrap());
    desk.browser.click(&mine);
    desk.browser.wait_until("document.querySelector('[data-part=verdicts]').textContent.includes('Mine 1')");
    let page = desk.place();
    desk.open(page.split('#').next().unwrap());
    assert_eq!(desk.browser.find(&mine).attribute("aria-pressed").as_deref(), Some("true"));
}

#[test]
fn the_people_of_a_running_family_are_shown_at_its_end() {
    let desk = Desk::new(Setup::new().all_modules().realistic().flag("--run-timeout=20s"));
    desk.sign_up("ann@example.com", "unlimited");
    desk.browser.run("document.querySelector('select[name=follow]').value = '1'", &[]);
    desk.search_here("person8");
    let before = desk
        .browser
        .run("window.before = true; return document.querySelectorAll('.people > li').length", &[]);
    desk.browser.wait_until(
        "document.querySelectorAll('.people > li').length > 0 && !document.querySelector('[data-open]')",
    );
    assert_eq!(desk.browser.run("return window.before", &[]), json!(true), "the page was loaded again");
    assert_eq!(before, json!(0), "nobody was found before");
    desk.is_clean();
}
