//! Searches in the web app over HTTP: charged once, followed while the session lasts, listed, exported, deleted.

use super::person::{PASSWORD, Person, between, field_of, page_of, text};
use crate::support::gated_site::GatedSite;
use crate::support::server::{Answer, Server, Setup};

const EMAIL: &str = "someone@example.com";
const FREE_SITES: usize = 3;
const GATED_SITES: usize = 2;

fn send(person: &Person<'_>, fields: &[(&str, &str)]) -> Answer {
    person.post("/app", "/app/searches", fields)
}

fn once(person: &Person<'_>) -> String {
    field_of(&person.get("/app"), "once")
}

/// Returns the status of a request as a script sends it, which is not redirected to the sign-in page.
fn asked(server: &Server, path: &str, cookie: &str) -> Answer {
    server.request("GET", path).header("Cookie", &format!("sightline={cookie}")).send()
}

fn refused(answer: &Answer, status: u16, words: &str) {
    assert_eq!(answer.status, status, "{answer}");
    assert!(text(answer).contains(words), "{words}: {answer}");
    // It can be sent again at once.
    assert!(text(answer).contains("name=\"once\""), "{answer}");
}

#[test]
fn a_search_is_charged_once_and_followed_to_its_end() {
    let site = GatedSite::start();
    let server = Setup::real().flags(&site.flags(FREE_SITES, GATED_SITES)).start();
    let person = Person::signed_in(&server, EMAIL, "free");
    person.has_left("5 of 5 credits are");
    nothing_is_charged_for_what_is_refused(&person);
    let page = one_form_is_one_search(&server, &person);
    (0..3).for_each(|_| drop(person.search("bob", &[])));
    person.has_left("1 of 5 credits is");
    person.search("bob", &[]);
    refused(&person.try_search("carol", &[]), 402, "Not enough credits.");
    the_parts_need_a_session(&server, &person, &page);
    site.open();
    the_end_is_told(&person, &page);
    it_is_found_again(&person, &page);
    it_is_kept_as_a_file(&person, &page);
    it_is_deleted(&person, &page);
}

fn nothing_is_charged_for_what_is_refused(person: &Person<'_>) {
    refused(&person.try_search("alice", &[("premium", "yes")]), 403, "Another plan is needed.");
    let wrong = person.try_search("\"><script>alert(1)</script>@x", &[]);
    refused(&wrong, 400, "aria-invalid");
    assert!(!text(&wrong).contains("<script>alert"), "{wrong}");
    refused(&send(person, &[("query", "alice"), ("once", "1")]), 400, "was incomplete");
    person.has_left("5 of 5 credits are");
}

/// A form that is sent twice at the same time and once more leads to the same page. With another query it starts nothing.
fn one_form_is_one_search(server: &Server, person: &Person<'_>) -> String {
    let (once, token, cookie) =
        (once(person), person.form_token("/app"), person.cookie("sightline").unwrap());
    let body = format!("query=alice&once={once}&csrf={token}");
    let pages = crate::support::race(2, |_| {
        let request = server.request("POST", "/app/searches").body(body.as_bytes());
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        page_of(&request.header("Cookie", &format!("sightline={cookie}")).send())
    });
    assert_eq!(pages[0], pages[1]);
    assert_eq!(page_of(&send(person, &[("query", "alice"), ("once", &once)])), pages[0]);
    refused(&send(person, &[("query", "bob"), ("once", &once)]), 409, "another search already");
    person.has_left("4 of 5 credits are");
    pages[0].clone()
}

/// Without scripts the page reloads itself. With them it asks for its parts while the session lasts, which this does not
/// prolong.
fn the_parts_need_a_session(server: &Server, person: &Person<'_>, page: &str) {
    let shown = person.shows(page, |shown| shown.contains(&format!("data-part=\"found\">{FREE_SITES}<")));
    assert!(shown.contains("http-equiv=\"refresh\"") && shown.contains(">Running<"), "{shown}");
    assert_eq!(shown.matches("id=\"result-").count(), FREE_SITES);
    let next = next_of(&shown);
    let cookie = person.cookie("sightline").unwrap();
    assert_eq!(asked(server, &next, &cookie).status, 204, "nothing has changed");
    let next = next.split("&at=").next().unwrap();
    let parts = asked(server, next, &cookie);
    assert!(text(&parts).contains("data-open") && !text(&parts).contains("id=\"result-"), "{parts}");
    let all = asked(server, &next.replace("after=3", "after=0"), &cookie);
    assert_eq!(text(&all).matches("id=\"result-").count(), FREE_SITES, "{all}");
    assert_eq!(person.post("/app", "/app/sign-out", &[]).status, 303);
    assert_eq!(asked(server, next, &cookie).status, 401);
    assert_eq!(person.sign_in(EMAIL, PASSWORD).status, 303);
}

/// Returns the address of the next parts.
fn next_of(shown: &str) -> String {
    between(shown, "data-next=\"", "\"").replace("&#38;", "&")
}

/// The parts of a search that has just ended lead to its page.
fn the_end_is_told(person: &Person<'_>, page: &str) {
    let next = format!("{page}/live?after={FREE_SITES}");
    let parts = person.shows(&next, |parts| !parts.contains("data-open"));
    assert_eq!((parts.matches("id=\"result-").count(), next_of(&parts)), (GATED_SITES, page.to_owned()));
}

fn it_is_found_again(person: &Person<'_>, page: &str) {
    let shown = text(&person.get(page));
    assert!(!shown.contains("http-equiv=\"refresh\"") && shown.contains(">Completed<"), "{shown}");
    for (filter, count) in
        [("", 5), ("text=127-0-1-1", 1), ("text=nothing", 0), ("kind=email", 0), ("order=newest", 5)]
    {
        let shown = text(&person.get(&format!("{page}?{filter}")));
        assert_eq!(shown.matches("id=\"result-").count(), count, "{filter}: {shown}");
    }
    let policy = |path: &str| person.get(path).header("content-security-policy").unwrap().to_owned();
    assert!(!policy(page).contains("https:"), "nobody is asked for a picture");
    for (filter, is_there) in [
        ("", true),
        ("?text=LIC", true),
        ("?text=bob", false),
        ("?type=username&status=completed", true),
        ("?type=email", false),
        ("?status=running", false),
    ] {
        let list = person.get(&format!("/app/searches{filter}"));
        assert_eq!(text(&list).contains(page), is_there, "{filter}: {list}");
    }
}

fn it_is_kept_as_a_file(person: &Person<'_>, page: &str) {
    for format in ["json", "ndjson", "csv", "html", "md"] {
        let file = person.get(&format!("{page}/export?format={format}"));
        let name = file.header("content-disposition").unwrap();
        assert!(name.starts_with("attachment") && name.contains(&format!(".{format}")), "{file}");
        assert!(file.status == 200 && text(&file).contains("alice"), "{file}");
        let policies = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-security-policy");
        assert_eq!(
            file.headers.iter().filter(policies).count(),
            1,
            "its own, which allows its style: {file}"
        );
    }
    assert_eq!(person.get(&format!("{page}/export?format=xml")).status, 400);
    let printed = person.get(&format!("{page}/export?format=pdf"));
    assert!(printed.status == 503 && text(&printed).contains("No browser is available"), "{printed}");
}

fn it_is_deleted(person: &Person<'_>, page: &str) {
    assert!(text(&person.get(page)).contains("Delete permanently"));
    let answer = person.post("/app", &format!("{page}/delete"), &[]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/app/searches")), "{answer}");
    for path in [page.to_owned(), format!("{page}/export?format=json")] {
        assert_eq!(person.get(&path).status, 404);
    }
    assert!(!text(&person.get("/app/searches")).contains(page));
    person.has_left("0 of 5 credits are");
}

#[test]
fn a_search_that_is_deleted_in_the_app_is_deleted_in_the_api() {
    let mut server = Setup::new().start();
    let page = Person::signed_in(&server, EMAIL, "unlimited").search("alice", &[]);
    server.key = server.cli(&["key", "create", "--account", EMAIL]).trim().to_owned();
    server.finished(page.rsplit('/').next().unwrap());
    // From now on the run is only in the store, and the API caches it for a while.
    let server = server.restart(&[]);
    let ask = || server.get(&page.replace("/app", "/v1"));
    assert_eq!(ask().status, 200);
    let person = Person::new(&server);
    assert_eq!(person.sign_in(EMAIL, PASSWORD).status, 303);
    assert_eq!(person.post("/app", &format!("{page}/delete"), &[]).status, 303);
    ask().is_error(404, "not_found");
}

/// The first attempt may have started the search, so the form keeps its token.
#[test]
fn a_refused_form_starts_the_same_search_when_it_is_sent_again() {
    let server = Setup::new().flag("--rate-limits=search=1").start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let once = once(&person);
    let with = |query| send(&person, &[("query", query), ("premium", "yes"), ("once", &*once)]);
    refused(&with("a b"), 400, "aria-invalid");
    let soon = with("octocat");
    refused(&soon, 429, "Too many requests");
    assert_eq!(field_of(&soon, "once"), once);
    assert!(text(&soon).contains("<strong data-part=\"price\">2 credits</strong>"), "{soon}");
}

#[test]
fn expensive_pages_count_against_the_rate_limit() {
    let server = Setup::new().flag("--rate-limits=read=2").start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let run = person.search("octocat", &[]);
    assert_eq!([(); 3].map(|()| person.get("/app/searches").status), [200, 200, 429]);
    for path in [format!("{run}/export?format=json"), "/app/keys".into()] {
        let answer = person.get(&path);
        assert_eq!(answer.status, 429, "{path}: {answer}");
        assert!(answer.header("retry-after").unwrap().parse::<u64>().unwrap() <= 60, "{answer}");
        assert!(text(&answer).contains("Requests are limited per minute"), "{answer}");
    }
    // What shows a few rows does not count.
    for path in ["/app", &run, "/app/account"] {
        assert_eq!(person.get(path).status, 200, "{path}");
    }
}

#[test]
fn a_search_is_stopped_and_asked_again_from_its_page() {
    let site = GatedSite::start();
    let server = Setup::real().flags(&site.flags(FREE_SITES, GATED_SITES)).start();
    let person = Person::signed_in(&server, EMAIL, "free");
    let page = person.search("alice", &[]);
    let shows = |want: &str| person.shows(&page, |shown| shown.contains(want));
    let running = shows(&format!("data-part=\"found\">{FREE_SITES}<"));
    assert!(running.contains(">Stop</button>"), "{running}");
    let (stop, retry) = (format!("{page}/stop"), format!("{page}/retry"));
    assert_eq!(person.post(&page, &retry, &[("once", &once(&person))]).status, 409, "it is running");
    assert_eq!(page_of(&person.post(&page, &stop, &[])), page);
    let stopped = shows(">Stopped</span>");
    assert!(!stopped.contains(">Stop</button>"), "{stopped}");
    // The checks that were given up are not done.
    let done = format!("data-part=\"asked\">{FREE_SITES} of {}<", FREE_SITES + GATED_SITES);
    assert!(stopped.contains(&done), "{stopped}");
    assert!(stopped.contains("Ask the 2 sites without an answer again (1 credit)"), "{stopped}");

    site.open();
    let once = field_of(&person.get(&page), "once");
    let again = || page_of(&person.post(&page, &retry, &[("once", &once)]));
    let first = again();
    assert_eq!(again(), first, "a form that is sent twice");
    person.has_left("3 of 5 credits are");
    let has_all =
        |shown: &str| shown.contains(">Completed</span>") && shown.contains("data-part=\"found\">2<");
    assert!(person.shows(&first, has_all).contains("asks again what <a"));
}

#[test]
fn the_address_of_a_profile_is_never_searched_without_a_choice() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, EMAIL, "free");
    for address in
        ["https://github.com/octocat", "github.com/octocat/", " https://www.github.com/octocat?tab=x "]
    {
        let offer = text(&person.try_search(address, &[]));
        assert!(offer.contains("<strong><bdi>octocat</bdi></strong> on GitHub"), "{address}: {offer}");
        assert!(offer.contains(">The domain ") && offer.contains("Only on GitHub"), "{offer}");
    }
    person.has_left("5 of 5 credits are");
    let address = "https://github.com/octocat";
    for (meant, kind, query, is_all) in [
        ("account", "username", "octocat", false),
        ("username", "username", "octocat", true),
        ("domain", "domain", address, true),
    ] {
        let page = person.search(address, &[("as", meant)]);
        let export = person.get(&format!("{page}/export?format=json")).json();
        assert_eq!((&export["type"], &export["query"]), (&kind.into(), &query.into()), "{export}");
        assert_eq!(export["progress"]["modules_total"].as_u64() > Some(1), is_all, "{meant}");
    }
    // Other addresses are those of a domain, and a chosen type is no guess.
    person.search("https://github.com/about", &[]);
    person.has_left("1 of 5 credits is");
    page_of(&send(&person, &[("query", address), ("type", "domain"), ("once", &once(&person))]));
}
