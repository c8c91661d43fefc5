//! Searches in the web app over HTTP: charged once, followed while the session lasts, listed, exported,
//! deleted.

use super::person::{PASSWORD, Person, between, field_of, text};
use crate::support::awaited;
use crate::support::gated_site::GatedSite;
use crate::support::server::{Answer, RequestBuilder, Server, Setup};

const FREE_SITES: usize = 3;
const GATED_SITES: usize = 2;

/// Sends the search form of the current page with this query.
pub(super) fn search(person: &Person<'_>, query: &str, more: &[(&str, &str)]) -> Answer {
    let once = once(person);
    let fields = [("query", query), ("type", "auto"), ("once", once.as_str())];
    send(person, &[&fields[..], more].concat())
}

fn send(person: &Person<'_>, fields: &[(&str, &str)]) -> Answer {
    person.post("/app", "/app/searches", fields)
}

/// Returns the token that makes a form one search.
fn once(person: &Person<'_>) -> String {
    field_of(&person.get("/app"), "once")
}

/// Asserts the remaining credits on the search page.
pub(super) fn has_left(person: &Person<'_>, credits: &str) {
    let page = text(&person.get("/app"));
    assert!(page.contains(&format!("{credits} left until")), "{page}");
}

/// Sends a request as a script does, which is not redirected to the sign-in page.
fn asked<'s>(server: &'s Server, path: &str, cookie: &str) -> RequestBuilder<'s> {
    server.request("GET", path).header("Cookie", &format!("sightline={cookie}"))
}

/// Returns the address of a search's page.
pub(super) fn page_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{answer}");
    let path = answer.header("location").unwrap();
    assert!(path.starts_with("/app/searches/"), "{answer}");
    path.to_owned()
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
    let person = Person::signed_in(&server, "someone@example.com", "free");
    has_left(&person, "5 of 5 credits are");
    nothing_is_charged_for_what_is_refused(&person);
    let page = one_form_is_one_search(&server, &person);
    no_credits_no_search(&person);
    a_stranger_sees_nothing(&server, &page);
    the_parts_need_a_session(&server, &person, &page);
    site.open();
    the_end_is_told(&person, &page);
    it_is_found_again(&person, &page);
    it_is_kept_as_a_file(&person, &page);
    it_is_deleted(&person, &page);
}

fn nothing_is_charged_for_what_is_refused(person: &Person<'_>) {
    refused(&search(person, "alice", &[("premium", "yes")]), 403, "Another plan is needed.");
    let wrong = search(person, "\"><script>alert(1)</script>@x", &[]);
    refused(&wrong, 400, "aria-invalid");
    assert!(!text(&wrong).contains("<script>alert"), "{wrong}");
    let fields = [("query", "alice"), ("once", &*once(person)), ("csrf", "x")];
    assert_eq!(person.post_as("/app/searches", &fields, &[]).status, 403);
    refused(&send(person, &[("query", "alice"), ("once", "1")]), 400, "was incomplete");
    has_left(person, "5 of 5 credits are");
}

/// A form that is sent twice at the same time and once more leads to the same page. With another query it
/// starts nothing.
fn one_form_is_one_search(server: &Server, person: &Person<'_>) -> String {
    let (once, token) = (once(person), person.form_token("/app"));
    let (body, cookie) =
        (format!("query=alice&once={once}&csrf={token}"), person.cookie("sightline").unwrap());
    let send_raw = || {
        let request = server.request("POST", "/app/searches").body(body.as_bytes());
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        page_of(&request.header("Cookie", &format!("sightline={cookie}")).send())
    };
    let pages = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(send_raw));
        both.map(|one| one.join().unwrap())
    });
    assert_eq!(pages[0], pages[1]);
    assert_eq!(page_of(&send(person, &[("query", "alice"), ("once", &once)])), pages[0]);
    refused(&send(person, &[("query", "bob"), ("once", &once)]), 409, "another search already");
    has_left(person, "4 of 5 credits are");
    let [page, _] = pages;
    page
}

fn no_credits_no_search(person: &Person<'_>) {
    for _ in 0..3 {
        page_of(&search(person, "bob", &[]));
    }
    has_left(person, "1 of 5 credits is");
    page_of(&search(person, "bob", &[]));
    refused(&search(person, "carol", &[]), 402, "Not enough credits.");
}

fn a_stranger_sees_nothing(server: &Server, page: &str) {
    let stranger = Person::signed_in(server, "stranger@example.com", "free");
    for part in ["", "/live", "/graph", "/export?format=json"] {
        assert_eq!(stranger.get(&format!("{page}{part}")).status, 404, "{part}");
    }
    assert_eq!(stranger.post("/app", &format!("{page}/delete"), &[]).status, 404);
    assert!(!text(&stranger.get("/app/searches")).contains("alice"));
}

/// Without scripts the page reloads itself. With them it asks for its parts while the session lasts, which this does not
/// prolong.
fn the_parts_need_a_session(server: &Server, person: &Person<'_>, page: &str) {
    let shown = awaited("the first results", || {
        let shown = text(&person.get(page));
        if shown.contains(&format!("data-part=\"found\">{FREE_SITES}<")) { Ok(shown) } else { Err(shown) }
    });
    assert!(shown.contains("http-equiv=\"refresh\"") && shown.contains(">Running<"), "{shown}");
    assert_eq!(shown.matches("id=\"result-").count(), FREE_SITES);
    let next = next_of(&shown);
    let cookie = person.cookie("sightline").unwrap();
    assert_eq!(asked(server, &next, &cookie).send().status, 204, "nothing has changed");
    let next = next.split("&at=").next().unwrap();
    let parts = asked(server, next, &cookie).send();
    assert!(text(&parts).contains("data-open") && !text(&parts).contains("id=\"result-"), "{parts}");
    let all = asked(server, &next.replace("after=3", "after=0"), &cookie).send();
    assert_eq!(text(&all).matches("id=\"result-").count(), FREE_SITES, "{all}");
    assert_eq!(person.post("/app", "/app/sign-out", &[]).status, 303);
    assert_eq!(asked(server, next, &cookie).send().status, 401);
    assert_eq!(person.sign_in("someone@example.com", PASSWORD).status, 303);
}

/// Returns the address of the next parts.
fn next_of(shown: &str) -> String {
    between(shown, "data-next=\"", "\"").replace("&#38;", "&")
}

/// The parts of a search that has just ended lead to its page.
fn the_end_is_told(person: &Person<'_>, page: &str) {
    let next = format!("{page}/live?after={FREE_SITES}");
    let parts = awaited("the end", || {
        let parts = text(&person.get(&next));
        if parts.contains("data-open") { Err(parts) } else { Ok(parts) }
    });
    assert_eq!((parts.matches("id=\"result-").count(), next_of(&parts)), (GATED_SITES, page.to_owned()));
}

fn it_is_found_again(person: &Person<'_>, page: &str) {
    let shown = person.get(page);
    assert!(
        !text(&shown).contains("http-equiv=\"refresh\"") && text(&shown).contains(">Completed<"),
        "{shown}"
    );
    assert_eq!(text(&shown).matches("id=\"result-").count(), FREE_SITES + GATED_SITES);
    for (filter, count) in
        [("text=127-0-1-1", 1), ("text=nothing", 0), ("kind=email", 0), ("order=newest", 5)]
    {
        let shown = text(&person.get(&format!("{page}?{filter}")));
        assert_eq!(shown.matches("id=\"result-").count(), count, "{filter}: {shown}");
    }
    let policy = |path: &str| person.get(path).header("content-security-policy").unwrap().to_owned();
    assert!(!policy(page).contains("https:"), "nobody is asked for a picture");
    assert!(!policy(&format!("{page}?pictures=on")).contains("https:"), "an address of an earlier version");
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
    for (format, kind) in [
        ("json", "application/json"),
        ("ndjson", "application/x-ndjson"),
        ("csv", "text/csv"),
        ("html", "text/html"),
        ("md", "text/markdown"),
    ] {
        let file = person.get(&format!("{page}/export?format={format}"));
        assert_eq!(file.status, 200, "{file}");
        assert!(file.header("content-type").unwrap().starts_with(kind), "{file}");
        let disposition = file.header("content-disposition").unwrap();
        assert!(
            disposition.starts_with("attachment") && disposition.contains(&format!(".{format}")),
            "{file}"
        );
        assert!(text(&file).contains("alice"), "{file}");
    }
    let html = person.get(&format!("{page}/export?format=html"));
    let policies =
        html.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("content-security-policy"));
    assert_eq!(policies.count(), 1, "its own, and it would not wear its style under the app's");
    assert_eq!(person.get(&format!("{page}/export?format=xml")).status, 400);
    let printed = person.get(&format!("{page}/export?format=pdf"));
    assert!(printed.status == 503 && text(&printed).contains("No browser is available"), "{printed}");
}

fn it_is_deleted(person: &Person<'_>, page: &str) {
    let question = person.get(page);
    assert!(text(&question).contains("Delete permanently"), "{question}");
    let answer = person.post("/app", &format!("{page}/delete"), &[]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/app/searches")), "{answer}");
    for path in [page.to_owned(), format!("{page}/export?format=json")] {
        assert_eq!(person.get(&path).status, 404);
    }
    assert!(!text(&person.get("/app/searches")).contains(page));
    has_left(person, "0 of 5 credits are");
}

#[test]
fn a_search_that_is_deleted_in_the_app_is_deleted_in_the_api() {
    let server = Setup::new().start();
    let page =
        page_of(&search(&Person::signed_in(&server, "someone@example.com", "unlimited"), "alice", &[]));
    let key = server.cli(&["key", "create", "--account", "someone@example.com"]);
    let path = page.replace("/app", "/v1");
    awaited("the run ends", || {
        let answer = server.request("GET", &path).key(key.trim()).send();
        if answer.json()["status"] == "running" { Err(answer) } else { Ok(()) }
    });
    // From now on the run is only in the store, and the API caches it for a while.
    let server = server.restart(&[]);
    let ask = || server.request("GET", &path).key(key.trim()).send();
    assert_eq!(ask().status, 200);
    let person = Person::new(&server);
    assert_eq!(person.sign_in("someone@example.com", PASSWORD).status, 303);
    assert_eq!(person.post("/app", &format!("{page}/delete"), &[]).status, 303);
    ask().is_error(404, "not_found");
}

/// The first attempt may have started the search, so the form keeps its token.
#[test]
fn a_refused_form_starts_the_same_search_when_it_is_sent_again() {
    let server = Setup::new().flag("--rate-limits=search=1").start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    let once = once(&person);
    let fields = [("query", "octocat"), ("premium", "yes"), ("once", &*once)];
    let refused_first = send(&person, &[("query", "a b"), ("premium", "yes"), ("once", &*once)]);
    refused(&refused_first, 400, "aria-invalid");
    let soon = send(&person, &fields);
    refused(&soon, 429, "Too many requests");
    assert_eq!(field_of(&soon, "once"), once);
    assert!(text(&soon).contains("<strong data-part=\"price\">2 credits</strong>"), "{soon}");
}

#[test]
fn expensive_pages_count_against_the_rate_limit() {
    let server = Setup::new().flag("--rate-limits=read=2").start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    let run = search(&person, "octocat", &[]).header("location").unwrap().to_owned();
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
    let person = Person::signed_in(&server, "someone@example.com", "free");
    let page = page_of(&search(&person, "alice", &[]));
    let shown = |want: &str| {
        awaited(want, || {
            let shown = text(&person.get(&page));
            if shown.contains(want) { Ok(shown) } else { Err(shown) }
        })
    };
    let running = shown(&format!("data-part=\"found\">{FREE_SITES}<"));
    assert!(running.contains(">Stop</button>"), "{running}");
    let (stop, retry) = (format!("{page}/stop"), format!("{page}/retry"));
    assert_eq!(person.post(&page, &retry, &[("once", &once(&person))]).status, 409, "it is running");
    assert_eq!(person.post_as(&stop, &[], &[]).status, 403, "without its token");
    assert_eq!(page_of(&person.post(&page, &stop, &[])), page);
    let stopped = shown(">Stopped</span>");
    assert!(!stopped.contains(">Stop</button>"), "{stopped}");
    // The checks that were given up are not done.
    let done = format!("data-part=\"asked\">{FREE_SITES} of {}<", FREE_SITES + GATED_SITES);
    assert!(stopped.contains(&done), "{stopped}");
    assert!(stopped.contains("Ask the 2 sites without an answer again (1 credit)"), "{stopped}");

    site.open();
    let fields = [("once", field_of(&person.get(&page), "once"))];
    let again =
        || person.post(&page, &retry, &fields.each_ref().map(|(name, value)| (*name, value.as_str())));
    let first = page_of(&again());
    assert_eq!(page_of(&again()), first, "a form that is sent twice");
    has_left(&person, "3 of 5 credits are");
    awaited("the rest has answered", || {
        let shown = text(&person.get(&first));
        let is_done = shown.contains(">Completed</span>") && shown.contains("asks again what <a");
        if is_done && shown.contains("data-part=\"found\">2<") { Ok(()) } else { Err(shown) }
    });
    let stranger = Person::signed_in(&server, "stranger@example.com", "free");
    for path in [&stop, &retry] {
        assert_eq!(stranger.post("/app", path, &[("once", &once(&stranger))]).status, 404, "{path}");
    }
}

#[test]
fn the_address_of_a_profile_is_never_searched_without_a_choice() {
    let server = Setup::new().all_modules().start();
    let person = Person::signed_in(&server, "someone@example.com", "free");
    for address in
        ["https://github.com/octocat", "github.com/octocat/", " https://www.github.com/octocat?tab=x "]
    {
        let offer = text(&search(&person, address, &[]));
        assert!(offer.contains("<strong><bdi>octocat</bdi></strong> on GitHub"), "{address}: {offer}");
        assert!(offer.contains(">The domain ") && offer.contains("Only on GitHub"), "{offer}");
    }
    has_left(&person, "5 of 5 credits are");
    let chosen = |meant: &str| {
        let page = page_of(&search(&person, "https://github.com/octocat", &[("as", meant)]));
        let id = page.rsplit('/').next().unwrap().to_owned();
        let export = person.get(&format!("/app/searches/{id}/export?format=json")).json();
        (
            export["type"].clone(),
            export["query"].clone(),
            export["progress"]["modules_total"].as_u64().unwrap(),
        )
    };
    assert_eq!(chosen("account"), ("username".into(), "octocat".into(), 1));
    let (kind, query, modules) = chosen("username");
    assert!(kind == "username" && query == "octocat" && modules > 100, "{kind} {query} {modules}");
    assert_eq!(chosen("domain").0, "domain");
    // Other addresses are those of a domain, and a chosen type is no guess.
    page_of(&search(&person, "https://github.com/about", &[]));
    has_left(&person, "1 of 5 credits is");
    let typed = send(
        &person,
        &[("query", "https://github.com/octocat"), ("type", "domain"), ("once", once(&person).as_str())],
    );
    page_of(&typed);
}

#[test]
fn a_page_that_is_loaded_again_makes_no_second_key() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "someone@example.com", "pro");
    let made = text(&person.post_and_go("/app/keys", "/app/keys", &[("label", "mine")]));
    assert!(made.contains("Your new key") && made.contains("sl_live_"), "{made}");
    let again = text(&person.get("/app/keys"));
    assert!(!again.contains("Your new key") && again.matches("/revoke\"").count() == 1, "{again}");
    // The browser may send anything.
    person.set_cookie("sightline-made", "<b>x");
    assert!(!text(&person.get("/app/keys")).contains("Your new key"));
}
