//! The page of what changed since an earlier search.

use super::person::{Person, field_of, text};
use crate::support::eventually;
use crate::support::server::Setup;

/// Runs a search to its end and returns the address of its page.
fn search(person: &Person<'_>, query: &str) -> String {
    let once = field_of(&person.get("/app"), "once");
    let fields = [("query", query), ("type", "username"), ("once", once.as_str())];
    let answer = person.post("/app", "/app/searches", &fields);
    let page = answer.header("location").unwrap().to_owned();
    eventually("the end of a search", || text(&person.get(&page)).contains(">Completed<"));
    page
}

#[test]
fn a_run_leads_to_what_changed_since_the_last_one() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "unlimited");
    let first = search(&person, "everybody");
    assert!(!text(&person.get(&first)).contains("What changed"));
    search(&person, "everybody2");
    let second = search(&person, "@everybody");
    let address = format!("{first}/diff/{}", second.rsplit('/').next().unwrap());
    let page = person.get(&second);
    assert!(text(&page).contains(&format!("href=\"{address}\"")), "{page}");
    let page = person.get(&address);
    assert_eq!(page.status, 200, "{page}");
    assert!(text(&page).contains("What changed for <bdi>@everybody</bdi>"), "{page}");
    assert!(text(&page).contains("Nothing has changed."), "{page}");

    let stranger = Person::signed_in(&server, "stranger@example.com", "free");
    assert_eq!(stranger.get(&address).status, 404);
    let other = search(&person, "nobody");
    let page = person.get(&format!("{first}/diff/{}", other.rsplit('/').next().unwrap()));
    assert_eq!(page.status, 409, "{page}");
    assert!(text(&page).contains("cannot be compared"), "{page}");
    assert_eq!(person.get(&format!("{first}/diff/x")).status, 404);
}
