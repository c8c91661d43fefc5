//! The choices of the search form, and searching again with the same ones.

use serde_json::{Value, json};

use super::person::{Person, field_of, page_of, text};
use crate::support::server::Setup;

const EMAIL: &str = "someone@example.com";

/// Returns the report of the run on a page once it has ended, and the ids of its modules, sorted.
fn report(person: &Person<'_>, page: &str) -> (Value, Vec<String>) {
    let report = person.get(&format!("{}/export?format=json", person.ended(page))).json();
    let modules = report["modules"].as_array().unwrap().iter();
    let mut ids: Vec<String> = modules.map(|module| module["module"].as_str().unwrap().to_owned()).collect();
    ids.sort_unstable();
    (report, ids)
}

#[test]
fn an_address_fills_in_the_form_and_starts_nothing() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "free");
    let form = text(&person.get("/app?query=%22%3E%3Cb%3E%40Octocat&type=email"));
    assert!(form.contains("name=\"query\" type=\"text\" value=\"&#34;&#62;&#60;b&#62;@Octocat\""), "{form}");
    assert!(form.contains("value=\"email\" checked") && !form.contains("Looks like"), "{form}");
    assert!(form.contains("name=\"avatars\" value=\"yes\" checked"), "the others are as always: {form}");
    for (query, guess) in
        [("octocat", "a username"), ("a@example.com", "an email address"), ("example.com", "a domain")]
    {
        let form = text(&person.get(&format!("/app?query={query}")));
        assert!(form.contains(&format!("Looks like {guess}.")), "{form}");
        assert!(form.contains("value=\"auto\" checked>Detect automatically<"), "{form}");
    }
    assert!(!text(&person.get("/app")).contains("Looks like"));
    person.has_left("5 of 5 credits are");
    assert_eq!(text(&person.get("/app/searches")).matches("/app/searches/0").count(), 0);
    // The form is kept until the person has signed in.
    let stranger = Person::new(&server).get("/app?query=a%26b&type=username");
    let next = "/app/sign-in?next=%2Fapp%3Fquery%3Da%2526b%26type%3Dusername";
    assert_eq!((stranger.status, stranger.header("location")), (303, Some(next)), "{stranger}");
}

#[test]
fn sites_and_categories_are_chosen_and_searched_again() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, EMAIL, "unlimited");
    let form = text(&person.get("/app"));
    assert!(form.contains("name=\"category\" value=\"username/coding\""), "{form}");
    assert!(form.contains("name=\"category\" value=\"domain/dns\""), "{form}");

    // A name is as good as an id, and a category of another type does not count.
    let fields = [("modules", "GitHub, gitlab"), ("category", "email/profile")];
    assert_eq!(report(&person, &person.search("octocat", &fields)).1, ["github", "gitlab"]);
    let coding = [
        ("category", "username/coding"),
        ("exclude_modules", "GitHub"),
        ("patient", "yes"),
        ("time_budget", "60"),
    ];
    let page = person.search("octocat", &coding);
    let (first, asked) = report(&person, &page);
    let has = |id: &str| asked.iter().any(|asked| asked == id);
    assert!(asked.len() > 3 && has("gitlab") && !has("github"), "{asked:?}");

    // A mistake keeps the input, and says what was meant.
    let meant = person.try_search("octocat", &[("modules", "githib")]);
    assert!(text(&meant).contains("did you mean github?"), "{meant}");
    let wrong = person.try_search("octocat", &[("modules", "\"><b>"), ("category", "username/coding")]);
    assert_eq!(wrong.status, 400, "{wrong}");
    for present in
        ["value=\"&#34;&#62;&#60;b&#62;\"", "value=\"username/coding\" checked", "class=\"sites\" open"]
    {
        assert!(text(&wrong).contains(present), "{present}: {wrong}");
    }

    let once = field_of(&person.get("/app/searches"), "once");
    let send = || page_of(&person.post("/app/searches", &format!("{page}/again"), &[("once", &once)]));
    let second = send();
    assert_ne!(second, page);
    assert_eq!(send(), second, "a form that is sent twice starts one search");
    let (same, asked_again) = report(&person, &second);
    assert_eq!((asked_again, &same["time_budget"]), (asked, &json!(60)));
    for field in ["type", "query", "premium", "patient", "time_budget", "avatars"] {
        assert_eq!(same.get(field), first.get(field), "{field}");
    }
    // The watch of a run has its choice, too.
    let watch = text(&person.get(&format!("/app/watches?run={}", page.rsplit('/').next().unwrap())));
    assert!(watch.contains("<input type=\"hidden\" name=\"category\" value=\"username/coding\">"), "{watch}");
    assert!(watch.contains("Does not ask these sites: github."), "{watch}");
}

#[test]
fn a_search_again_is_charged_once_and_refused_as_any_other() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "free");
    let page = person.search("everybody", &[]);
    let again = format!("{page}/again");
    let list = text(&person.get("/app/searches"));
    assert!(list.contains(&format!("action=\"{again}\"")), "{list}");
    assert!(list.contains("Search again, 1 credit<"), "{list}");
    let once = || field_of(&person.get("/app/searches"), "once");
    let send = |once: &str| person.post("/app/searches", &again, &[("once", once)]);
    for _ in 0..4 {
        let once = once();
        assert_eq!(page_of(&send(&once)), page_of(&send(&once)));
    }
    person.has_left("0 of 5 credits are");
    let refused = send(&once());
    assert_eq!(refused.status, 402, "{refused}");
    let told = text(&refused);
    assert!(told.contains("Not enough credits.") && told.contains("value=\"everybody\""), "{refused}");
    assert_eq!(send("").status, 400, "without the token of a form");
}
