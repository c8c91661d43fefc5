//! The choices of the search form, and searching again with the same ones.

use serde_json::{Value, json};

use super::person::{Person, field_of, text};
use super::searches::{has_left, page_of, search};
use crate::support::eventually;
use crate::support::server::Setup;

/// Returns the report of the run on a page once it has ended.
fn report(person: &Person<'_>, page: &str) -> Value {
    let read = || person.get(&format!("{page}/export?format=json")).json();
    eventually("the end of a search", || read()["status"] != "running");
    read()
}

/// Returns the ids of the modules of a run, sorted.
fn modules(report: &Value) -> Vec<&str> {
    let mut ids: Vec<&str> = report["modules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|module| module["module"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    ids
}

#[test]
fn an_address_fills_in_the_form_and_starts_nothing() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "free");
    let form = text(&person.get("/app?query=%22%3E%3Cb%3E%40Octocat&type=email"));
    assert!(form.contains("name=\"query\" type=\"text\" value=\"&#34;&#62;&#60;b&#62;@Octocat\""), "{form}");
    assert!(form.contains("value=\"email\" checked") && !form.contains("Looks like"), "{form}");
    assert!(
        form.contains("name=\"avatars\" value=\"yes\" checked"),
        "the other fields are as always: {form}"
    );
    for (query, guess) in
        [("octocat", "a username"), ("a@example.com", "an email address"), ("example.com", "a domain")]
    {
        let form = text(&person.get(&format!("/app?query={query}")));
        assert!(form.contains(&format!("Looks like {guess}.")), "{form}");
        assert!(form.contains("value=\"auto\" checked>Detect automatically<"), "{form}");
    }
    assert!(!text(&person.get("/app")).contains("Looks like"));
    has_left(&person, "5 of 5 credits are");
    assert_eq!(text(&person.get("/app/searches")).matches("/app/searches/0").count(), 0);
    // The form is kept until the person has signed in.
    let stranger = Person::new(&server).get("/app?query=a%26b&type=username");
    let next = "/app/sign-in?next=%2Fapp%3Fquery%3Da%2526b%26type%3Dusername";
    assert_eq!((stranger.status, stranger.header("location")), (303, Some(next)), "{stranger}");
}

#[test]
fn sites_and_categories_are_chosen_and_searched_again() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, "someone@example.com", "unlimited");
    let form = text(&person.get("/app"));
    assert!(form.contains("name=\"category\" value=\"username/coding\""), "{form}");
    assert!(form.contains("name=\"category\" value=\"domain/dns\""), "{form}");

    // A name is as good as an id, and a category of another type does not count.
    let named =
        page_of(&search(&person, "octocat", &[("modules", "GitHub, gitlab"), ("category", "email/profile")]));
    let first = report(&person, &named);
    assert_eq!(modules(&first), ["github", "gitlab"]);
    let coding = [
        ("category", "username/coding"),
        ("exclude_modules", "GitHub"),
        ("patient", "yes"),
        ("time_budget", "60"),
    ];
    let page = page_of(&search(&person, "octocat", &coding));
    let first = report(&person, &page);
    let asked = modules(&first);
    assert!(asked.len() > 3 && asked.contains(&"gitlab") && !asked.contains(&"github"), "{asked:?}");

    // A mistake keeps the input, and says what was meant.
    let meant = search(&person, "octocat", &[("modules", "githib")]);
    assert!(text(&meant).contains("did you mean github?"), "{meant}");
    let wrong = search(&person, "octocat", &[("modules", "\"><b>"), ("category", "username/coding")]);
    assert_eq!(wrong.status, 400, "{wrong}");
    for present in
        ["value=\"&#34;&#62;&#60;b&#62;\"", "value=\"username/coding\" checked", "class=\"sites\" open"]
    {
        assert!(text(&wrong).contains(present), "{present}: {wrong}");
    }

    let again = format!("{page}/again");
    let once = field_of(&person.get("/app/searches"), "once");
    let send = || page_of(&person.post("/app/searches", &again, &[("once", &once)]));
    let second = send();
    assert_ne!(second, page);
    assert_eq!(send(), second, "a form that is sent twice starts one search");
    let same = report(&person, &second);
    assert_eq!(modules(&same), asked);
    for field in ["type", "query", "premium", "patient", "time_budget", "avatars"] {
        assert_eq!(same.get(field), first.get(field), "{field}");
    }
    assert_eq!(same["time_budget"], json!(60));
    // The watch of a run has its choice, too.
    let watch = text(&person.get(&format!("/app/watches?run={}", page.rsplit('/').next().unwrap())));
    assert!(watch.contains("<input type=\"hidden\" name=\"category\" value=\"username/coding\">"), "{watch}");
    assert!(watch.contains("Does not ask these sites: github."), "{watch}");
}

#[test]
fn a_search_again_is_charged_once_and_refused_as_any_other() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "free");
    let page = page_of(&search(&person, "everybody", &[]));
    let again = format!("{page}/again");
    let list = text(&person.get("/app/searches"));
    assert!(
        list.contains(&format!("action=\"{again}\"")) && list.contains("Search again, 1 credit<"),
        "{list}"
    );
    let send = |once: &str| person.post("/app/searches", &again, &[("once", once)]);
    for _ in 0..4 {
        let once = field_of(&person.get("/app/searches"), "once");
        assert_eq!(page_of(&send(&once)), page_of(&send(&once)));
    }
    has_left(&person, "0 of 5 credits are");
    let refused = send(&field_of(&person.get("/app/searches"), "once"));
    assert_eq!(refused.status, 402, "{refused}");
    assert!(
        text(&refused).contains("Not enough credits.") && text(&refused).contains("value=\"everybody\""),
        "{refused}"
    );
    assert_eq!(send("").status, 400, "without the token of a form");
    assert_eq!(person.post_as(&again, &[("once", "x")], &[]).status, 403);
    let stranger = Person::signed_in(&server, "stranger@example.com", "free");
    let once = field_of(&stranger.get("/app"), "once");
    assert_eq!(stranger.post("/app", &again, &[("once", &once)]).status, 404);
}

#[test]
fn a_run_is_compared_with_any_other_for_the_same_query() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "unlimited");
    let pages = ["everybody", "everybody2", "@everybody", "everybody"].map(|query| {
        let page = page_of(&search(&person, query, &[]));
        report(&person, &page);
        page
    });
    let id = |at: usize| pages[at].rsplit('/').next().unwrap();
    let list = text(&person.get("/app/searches"));
    assert!(pages.iter().all(|page| list.contains(&format!("href=\"{page}/compare\""))), "{list}");
    let choice = text(&person.get(&format!("{}/compare", pages[2])));
    for (before, after) in [(0, 2), (2, 3)] {
        let address = format!("{}/diff/{}", pages[before], id(after));
        assert!(choice.contains(&format!("href=\"{address}\"")), "{choice}");
        assert_eq!(person.get(&address).status, 200);
    }
    assert!(!choice.contains(id(1)), "{choice}");
    let alone = text(&person.get(&format!("{}/compare", pages[1])));
    assert!(alone.contains("No other search for this query has ended."), "{alone}");
    let stranger = Person::signed_in(&server, "stranger@example.com", "free");
    assert_eq!(stranger.get(&format!("{}/compare", pages[0])).status, 404);
}
