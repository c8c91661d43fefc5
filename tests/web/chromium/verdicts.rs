//! Verdicts in place: no page is loaded for them.

use serde_json::json;

use super::Desk;
use super::axe::Axe;
use crate::support::server::Setup;

#[test]
fn verdicts_are_given_by_keys_in_place_and_taken_back() {
    let (desk, axe) = (Desk::new(Setup::new().all_modules()), Axe::load());
    desk.sign_up("ann@example.com", "pro");
    let page = desk.search("everybody");
    desk.has_state("Completed");
    desk.open(&page);
    desk.browser.run("window.before = true; document.querySelector('.result summary').focus()", &[]);
    let ids = desk
        .browser
        .run("return [...document.querySelectorAll('.result')].slice(0, 3).map((it) => it.id)", &[]);
    let given = || {
        let verdicts = "return arguments[0].map((id) => document.querySelector(`#${id} [aria-pressed=true]`)?.className ?? null)";
        desk.browser.run(verdicts, std::slice::from_ref(&ids))
    };
    let counts = |text: &str| {
        let shown = "[...document.querySelectorAll('[data-part=verdicts] label')].map((it) => it.textContent.trim()).join(', ')";
        desk.browser.wait_until(&format!("{shown}.includes('{text}')"));
    };
    // Each key goes on to the next result.
    desk.browser.find(":focus").type_keys("y");
    desk.browser.find(":focus").type_keys("n");
    desk.browser.find(":focus").type_keys("u");
    assert_eq!(given(), json!(["mine", "not_mine", "unsure"]));
    counts("Mine 1, Unsure 1, Not mine 1");
    axe.approves(&desk.browser, "verdicts");
    desk.browser.find(":focus").type_keys("z");
    assert_eq!(given(), json!(["mine", "not_mine", null]));
    counts("Mine 1, Unsure 0, Not mine 1");
    // The same button takes its verdict back.
    desk.browser.click(&format!("#{} .mine", ids[0].as_str().unwrap()));
    counts("Mine 0, Unsure 0, Not mine 1");
    assert_eq!(desk.browser.run("return window.before", &[]), true, "the page was loaded again");
    desk.open(&page);
    desk.draws_all();
    assert_eq!(given(), json!([null, "not_mine", null]));
    // The filter shows those with one verdict, and stays in the address.
    desk.browser.click("[name=verdict][value=not_mine]");
    desk.browser.wait_until("document.querySelectorAll('.result').length === 1");
    assert!(desk.place().contains("verdict=not_mine"), "{}", desk.place());
}

#[test]
fn a_verdict_that_the_server_refuses_is_shown_as_refused() {
    let desk = Desk::new(Setup::new());
    desk.sign_up("ann@example.com", "pro");
    let page = desk.search("everybody");
    desk.has_state("Completed");
    desk.open(&page);
    let csrf = desk.browser.find("input[name=csrf]").attribute("value").unwrap();
    assert_eq!(desk.send(&format!("{page}/delete"), &[("csrf", &csrf)]), 303);
    desk.browser.click(".verdicts .mine");
    desk.browser.wait_until("!document.querySelector('.verdicts')");
}
