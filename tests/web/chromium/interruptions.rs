//! Interruptions while a person follows a search: a reload, a cut connection, an ended session.

use serde_json::json;

use super::Desk;
use crate::support::databases::sqlite;
use crate::support::held_site::Site;
use crate::support::relay::Relay;
use crate::support::server::Setup;
use crate::web::person::PASSWORD;

#[test]
fn a_search_continues_without_its_page() {
    let (site, database) = (Site::start(), sqlite());
    let desk = Desk::new(Setup::real().database(&database.url).flags(&site.flags(3, 2)));
    let line = Relay::to(desk.server.address);
    let desk = desk.through(line.address);
    desk.sign_up("ann@example.com", "pro");

    let run = desk.search("everybody");
    let has = |count: usize| {
        desk.browser.wait_until(&format!("document.querySelectorAll('[id^=result-]').length === {count}"));
    };
    has(3);
    desk.has_state("Running");
    desk.open(&run);
    has(3);

    let is_lost = "document.querySelector('#refreshed').className.includes('toast')";
    line.go_down();
    desk.browser.wait_until(is_lost);
    assert_eq!(desk.results(), 3);
    // The page sends another request by itself, which fails.
    let before = line.turned_away();
    desk.browser.wait("another try", || (line.turned_away() > before).then_some(()));
    line.mend();
    desk.browser.wait_until(&format!("!({is_lost})"));
    assert_eq!(desk.results(), 3);
    desk.has_state("Running");

    // Results stay visible after the session has ended.
    database.execute("UPDATE web_sessions SET expires_at = created_at");
    line.go_down();
    line.mend();
    desk.reads("Your session has ended");
    assert_eq!(desk.results(), 3);
    desk.open(&run);
    desk.browser.find("input[name=password]");
    desk.sign_in("ann@example.com", PASSWORD);
    desk.arrives_at(&run);
    has(3);

    let other = without_scripts(&desk);
    site.open_all();
    desk.has_state("Completed");
    assert_eq!((desk.place(), desk.browser.find_all(".result").len()), (other, 5));
    desk.browser.command("Emulation.setScriptExecutionDisabled", &json!({"value": false}));

    desk.open(&run);
    desk.has_state("Completed");
    has(5);
    assert_eq!(site.asked_by("everybody"), 5);
    let outside = desk.browser.requests_outside(&desk.origin);
    assert!(outside.is_empty(), "{outside:#?}");
}

/// Without scripts, the server renders the page with the results so far.
fn without_scripts(desk: &Desk) -> String {
    desk.browser.command("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    let run = desk.search("nobody");
    desk.has_state("Running");
    // The page reloads by itself.
    desk.browser.wait_until("document.querySelectorAll('.result').length === 3");
    run
}
