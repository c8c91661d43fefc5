//! The main pages of the web app in Firefox.

use serde_json::{Value, json};

use super::super::chromium::Desk;
use super::super::person::PASSWORD;
use crate::support::browser::Browser;
use crate::support::server::Setup;

const EMAIL: &str = "ann@example.com";

#[test]
fn the_app_works_in_firefox() {
    let Some(browser) = Browser::start_firefox() else {
        return crate::support::tier::left_out("neither firefox-esr nor firefox is in the PATH");
    };
    let desk = Desk::with(Setup::new(), browser);
    desk.sign_up(EMAIL, "pro");
    desk.open("/app");
    desk.browser.click("form[action$='/app/sign-out'] button");
    desk.arrives_at("/app/sign-in");
    desk.sign_in(EMAIL, PASSWORD);
    let username = desk.search("alice");
    assert!(desk.draws_all() > 5);
    the_legend_filters(&desk);
    let domain = desk.search("example.com");
    desk.draws_all();
    desk.has_state("Completed");
    // A page that was there while the run was live keeps its overview closed.
    desk.open(&domain);
    the_dossier_shows_one_section(&desk);
    desk.open("/app/searches");
    for run in [&username, &domain] {
        desk.browser.find(&format!("main a[href='{run}']"));
    }
    desk.browser.click(&format!("main a[href='{username}']"));
    desk.arrives_at(&username);
    desk.has_state("Completed");
    assert!(desk.browser.complaints().is_empty(), "{:#?}", desk.browser.complaints());
    // A console that nobody can read would be empty, too.
    desk.browser.run("setTimeout(() => { throw new Error('a fault of the test') })", &[]);
    desk.browser.wait("the fault on the console", || {
        desk.browser
            .complaints()
            .iter()
            .any(|message| message.text.contains("a fault of the test"))
            .then_some(())
    });
}

fn the_legend_filters(desk: &Desk) {
    let chip = "[data-part=legend] [data-outcome=miss] button";
    let shown = || {
        let script = "const isShown = (at) => at.checkVisibility();
            return [isShown(document.querySelector('[data-part=results]')),
                [...document.querySelectorAll('[data-part=coverage] [data-outcome]')].filter(isShown).map((at) => at.dataset.outcome)]";
        desk.browser.run(script, &[])
    };
    let before = shown();
    assert!(before[0] == true && before[1].as_array().unwrap().len() > 1, "{before}");
    desk.browser.click(chip);
    assert_eq!(shown(), json!([false, ["miss"]]));
    desk.browser.click(chip);
    assert_eq!(shown(), before);
}

/// Links choose the section, by `:target`.
fn the_dossier_shows_one_section(desk: &Desk) {
    let shown = || {
        let script = "return [...document.querySelectorAll('.panel')].filter((at) => at.checkVisibility()).map((at) => at.id)";
        desk.browser.run(script, &[])
    };
    let script = "return [...document.querySelectorAll('.dossier nav a')].map((at) => at.hash.slice(1))";
    let sections = desk.browser.run(script, &[]);
    let sections = sections.as_array().unwrap();
    assert!(sections.len() > 2, "{sections:?}");
    for section in sections.iter().rev().filter_map(Value::as_str) {
        desk.browser.click(&format!(".dossier nav a[href='#{section}']"));
        assert_eq!(shown(), json!([section]));
    }
}
