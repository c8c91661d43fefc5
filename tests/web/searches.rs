//! Searches in the web app, over sockets: charged once, followed as long as the session lasts, found again, kept as
//! files, deleted.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::gated_site::GatedSite;
use crate::support::server::{Answer, Server, Setup};

const PASSWORD: &str = "correct horse battery staple";
const PLANS: &str = "--plans=tiny=2,unlimited=unlimited:api:premium";
const FREE_SITES: usize = 3;
const GATED_SITES: usize = 2;

/// Somebody with a browser: its cookie, and what its forms bring back.
struct Person<'a> {
    server: &'a Server,
    cookie: String,
    csrf: String,
}

impl<'a> Person<'a> {
    /// A new account whose owner has chosen a password.
    fn new(server: &'a Server, email: &str, plan: &str) -> Self {
        let said = server.cli(&["account", "create", "--email", email, "--plan", plan, PLANS]);
        let link = said.split_whitespace().find(|word| word.contains("/app/set-up/")).unwrap();
        let path = &link[link.find("/app").unwrap()..];
        Self::with_form(server, path, &[("password", PASSWORD), ("again", PASSWORD)])
    }

    fn signed_in(server: &'a Server, email: &str) -> Self {
        Self::with_form(server, "/app/sign-in", &[("email", email), ("password", PASSWORD)])
    }

    /// Sends the form of a page for those who are not signed in yet; they are, then.
    fn with_form(server: &'a Server, path: &str, fields: &[(&str, &str)]) -> Self {
        let form = server.request("GET", path).send();
        let mut person =
            Self { server, cookie: cookie_of(&form), csrf: between(&form, "name=\"csrf\" value=\"") };
        let answer = person.post(path, fields);
        assert_eq!(answer.status, 303, "{answer}");
        person.cookie = cookie_of(&answer);
        person.csrf = between(&person.get("/app"), "name=\"csrf\" value=\"");
        person
    }

    fn get(&self, path: &str) -> Answer {
        self.server.request("GET", path).header("Cookie", &self.cookie).send()
    }

    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let all = [("csrf", self.csrf.as_str())].into_iter().chain(fields.iter().copied());
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish();
        self.server
            .request("POST", path)
            .header("Cookie", &self.cookie)
            .header("Accept", "text/html")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body.as_bytes())
            .send()
    }

    /// Sends the search form, as it is in the browser, with that in it.
    fn search(&self, query: &str, more: &[(&str, &str)]) -> Answer {
        let once = self.once();
        let fields = [("query", query), ("type", "auto"), ("once", once.as_str())];
        self.post("/app/searches", &[&fields[..], more].concat())
    }

    /// What makes a form one search.
    fn once(&self) -> String {
        between(&self.get("/app"), "name=\"once\" value=\"")
    }

    /// What the search page says is left.
    fn has_left(&self, credits: &str) {
        let page = self.get("/app");
        assert!(text(&page).contains(&format!("{credits} left until")), "{page}");
    }
}

fn text(answer: &Answer) -> &str {
    std::str::from_utf8(&answer.body).unwrap()
}

fn cookie_of(answer: &Answer) -> String {
    let set = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let pairs = set.map(|(_, value)| value.split(';').next().unwrap());
    pairs.filter(|pair| !pair.ends_with('=')).collect::<Vec<_>>().join("; ")
}

/// What stands between this and the next quotation mark.
fn between(answer: &Answer, before: &str) -> String {
    let (_, rest) = text(answer).split_once(before).unwrap_or_else(|| panic!("no {before} in {answer}"));
    rest.split('"').next().unwrap().to_owned()
}

/// Where a search's page is.
fn page_of(answer: &Answer) -> String {
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
    let server = Setup::real().flags(&site.flags(FREE_SITES, GATED_SITES)).flag(PLANS).start();
    let person = Person::new(&server, "someone@example.com", "tiny");
    person.has_left("2 of 2 credits are");
    nothing_is_charged_for_what_is_refused(&person);
    let page = one_form_is_one_search(&person);
    no_credits_no_search(&person);
    a_stranger_sees_nothing(&server, &page);
    let person = a_stream_ends_with_its_session(&server, person, &page);
    site.open();
    the_end_is_told(&person, &page);
    it_is_found_again(&person, &page);
    it_is_kept_as_a_file(&person, &page);
    it_is_deleted(&person, &page);
}

fn nothing_is_charged_for_what_is_refused(person: &Person<'_>) {
    refused(&person.search("alice", &[("premium", "yes")]), 403, "Another plan is needed.");
    let wrong = person.search("\"><script>alert(1)</script>@x", &[]);
    refused(&wrong, 400, "aria-invalid");
    assert!(!text(&wrong).contains("<script>alert"), "{wrong}");
    let forged = Person { csrf: "x".into(), cookie: person.cookie.clone(), ..*person };
    let fields = [("query", "alice"), ("once", &*person.once())];
    assert_eq!(forged.post("/app/searches", &fields).status, 403);
    refused(&person.post("/app/searches", &[("query", "alice"), ("once", "1")]), 400, "was not whole");
    person.has_left("2 of 2 credits are");
}

/// Sent twice at the same moment and once more, it leads to the same page; with something else in it, to none.
fn one_form_is_one_search(person: &Person<'_>) -> String {
    let once = person.once();
    let send = |query: &str| person.post("/app/searches", &[("query", query), ("once", &once)]);
    let pages = std::thread::scope(|scope| {
        let both = [(); 2].map(|()| scope.spawn(|| page_of(&send("alice"))));
        both.map(|one| one.join().unwrap())
    });
    assert_eq!(pages[0], pages[1]);
    assert_eq!(page_of(&send("alice")), pages[0]);
    refused(&send("bob"), 409, "another search already");
    person.has_left("1 of 2 credits is");
    let [page, _] = pages;
    page
}

fn no_credits_no_search(person: &Person<'_>) {
    page_of(&person.search("bob", &[]));
    refused(&person.search("carol", &[]), 402, "Not enough credits.");
    person.has_left("0 of 2 credits are");
}

fn a_stranger_sees_nothing(server: &Server, page: &str) {
    let stranger = Person::new(server, "stranger@example.com", "tiny");
    for part in ["", "/events", "/modules", "/export?format=json", "/delete"] {
        assert_eq!(stranger.get(&format!("{page}{part}")).status, 404, "{part}");
    }
    assert_eq!(stranger.post(&format!("{page}/delete"), &[]).status, 404);
    assert!(!text(&stranger.get("/app/searches")).contains("alice"));
}

/// In mid-run, with a page that loads itself again where scripts are off.
fn a_stream_ends_with_its_session<'a>(server: &'a Server, person: Person<'a>, page: &str) -> Person<'a> {
    let shown = person.get(page);
    assert!(text(&shown).contains("http-equiv=\"refresh\"") && text(&shown).contains(">Running<"), "{shown}");
    let mut stream =
        server.request("GET", &format!("{page}/events")).header("Cookie", &person.cookie).stream();
    assert_eq!(stream.status, 200);
    let mut results = 0;
    while results < FREE_SITES {
        results += usize::from(stream.next().unwrap().event == "result");
    }
    assert_eq!(person.post("/app/sign-out", &[]).status, 303);
    let last = stream.all().pop().unwrap();
    assert_eq!((last.event.as_str(), &last.data["error"]), ("error", &Value::from("unauthorized")));
    assert_eq!(person.get(&format!("{page}/events")).status, 401);
    Person::signed_in(server, "someone@example.com")
}

fn the_end_is_told(person: &Person<'_>, page: &str) {
    let stream = |after: &str| {
        let request = person.server.request("GET", &format!("{page}/events{after}"));
        request.header("Cookie", &person.cookie).stream().all()
    };
    let events = stream("");
    let ids: BTreeSet<u64> = events
        .iter()
        .filter(|event| event.event == "result")
        .filter_map(|event| event.data["id"].as_u64())
        .collect();
    assert_eq!(ids.len(), FREE_SITES + GATED_SITES);
    let done = events.last().unwrap();
    assert_eq!((done.event.as_str(), &done.data["status"]), ("done", &Value::from("completed")));
    assert!(stream("?after=5").iter().all(|event| event.event != "result"));
    assert_eq!(person.get(&format!("{page}/events?after=x")).status, 400);
    let modules = person.get(&format!("{page}/modules")).json();
    assert_eq!(modules["modules"].as_array().unwrap().len(), FREE_SITES + GATED_SITES);
}

fn it_is_found_again(person: &Person<'_>, page: &str) {
    let shown = person.get(page);
    assert!(
        !text(&shown).contains("http-equiv=\"refresh\"") && text(&shown).contains(">Completed<"),
        "{shown}"
    );
    assert_eq!(text(&shown).matches("<li class=\"result\">").count(), FREE_SITES + GATED_SITES);
    let policy = |path: &str| person.get(path).header("content-security-policy").unwrap().to_owned();
    assert!(!policy(page).contains("https:"), "nobody is asked for a picture");
    assert!(policy(&format!("{page}?pictures=on")).contains("img-src 'self' data: https:;"));
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
    assert_eq!(person.get(&format!("{page}/export?format=pdf")).status, 400);
}

fn it_is_deleted(person: &Person<'_>, page: &str) {
    let question = person.get(&format!("{page}/delete"));
    assert!(text(&question).contains("Delete for good"), "{question}");
    let answer = person.post(&format!("{page}/delete"), &[]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/app/searches")), "{answer}");
    for path in [page.to_owned(), format!("{page}/export?format=json")] {
        assert_eq!(person.get(&path).status, 404);
    }
    assert!(!text(&person.get("/app/searches")).contains(page));
    person.has_left("0 of 2 credits are");
}

#[test]
fn what_is_deleted_in_the_app_is_gone_from_the_api_too() {
    let server = Setup::new().flag(PLANS).start();
    let person = Person::new(&server, "someone@example.com", "unlimited");
    let key = server.cli(&["key", "create", "--account", "someone@example.com"]);
    let page = page_of(&person.search("alice", &[]));
    let run = page.trim_start_matches("/app/searches/");
    let ask = || server.request("GET", &format!("/v1/searches/{run}")).key(key.trim()).send();
    crate::support::awaited("the run ends", || {
        let answer = ask();
        if answer.json()["status"] == "running" { Err(answer) } else { Ok(()) }
    });
    // Once more, so that the answer is one that was kept.
    assert_eq!(ask().status, 200);
    assert_eq!(person.post(&format!("{page}/delete"), &[]).status, 303);
    ask().is_error(404, "not_found");
}
