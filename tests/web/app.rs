//! The web app over HTTP: access, redirects, and the headers of every answer.

use super::person::{PASSWORD, Person, field_of, link_in, new_account, text};
use crate::support::databases::{databases, postgres};
use crate::support::eventually;
use crate::support::server::{Server, Setup};

const EMAIL: &str = "person@example.org";

fn is_sent_to(person: &Person<'_>, path: &str, want: &str) {
    let answer = person.get(path);
    assert_eq!((answer.status, answer.header("location")), (303, Some(want)), "{answer}");
}

#[test]
fn a_set_up_link_works_once_and_then_the_password() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let link = new_account(&server, EMAIL, "free");
        let person = Person::new(&server);
        is_sent_to(&person, "/app", "/app/sign-in");
        is_sent_to(&person, "/app/keys?a=b", "/app/sign-in?next=%2Fapp%2Fkeys%3Fa%3Db");
        assert_eq!(person.sign_in(EMAIL, PASSWORD).status, 401);

        let page = person.get(&link);
        assert!(page.status == 200 && text(&page).contains(EMAIL), "{page}");
        for (fields, want) in [
            ([("password", PASSWORD), ("again", "another")], "The two passwords differ"),
            ([("password", "short"), ("again", "short")], "at least 12 characters"),
            (
                [("password", "password12345"), ("again", "password12345")],
                "similar to a commonly used password. Add another word",
            ),
        ] {
            let answer = person.post(&link, &link, &fields);
            assert!(answer.status == 422 && text(&answer).contains(want), "{answer}");
        }
        let planted = "A".repeat(43);
        person.set_cookie("sightline", &planted);
        let answer = person.post(&link, &link, &[("password", PASSWORD), ("again", PASSWORD)]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/app")), "{answer}");
        let cookie =
            answer.headers.iter().map(|(_, value)| value).find(|value| value.starts_with("sightline="));
        let cookie = cookie.unwrap();
        assert!(cookie.ends_with("; Path=/app; Max-Age=7776000; HttpOnly; SameSite=Lax"), "{cookie}");
        assert_ne!(person.cookie("sightline"), Some(planted));
        // A notice is shown once.
        assert!(text(&person.get("/app/keys")).contains("Your password is set"));
        assert!(!text(&person.get("/app/keys")).contains("Your password is set"));

        let again = Person::new(&server);
        assert_eq!(again.get(&link).status, 404);
        let answer = again.post("/app/sign-in", &link, &[("password", PASSWORD), ("again", PASSWORD)]);
        assert_eq!(answer.status, 404, "{answer}");
        assert_eq!(again.sign_in(" Person@Example.ORG", PASSWORD).status, 303);
        is_sent_to(&again, "/app/sign-in?next=/app/keys", "/app/keys");
        is_sent_to(&again, "/app/sign-in?next=https://evil.example/", "/app");
        for next in ["//evil.example/?/app", "/app//evil.example?a=b", "/app/../v1?a=b", "/app\\evil.example"]
        {
            is_sent_to(&again, &format!("/app/sign-in?next={next}"), "/app");
        }
        // A bookmark of a search for the address of a profile.
        let bookmark = "/app?query=https://github.com/octocat&type=username";
        let next = "%2Fapp%3Fquery%3Dhttps%3A%2F%2Fgithub.com%2Foctocat%26type%3Dusername";
        let sent = Person::new(&server);
        is_sent_to(&sent, bookmark, &format!("/app/sign-in?next={next}"));
        is_sent_to(&again, &format!("/app/sign-in?next={next}"), bookmark);
        // Another link resets a lost password, and ends all sessions.
        let link = link_in(&server.cli(&["account", "link", "--email", EMAIL]));
        let answer =
            person.post(&link, &link, &[("password", "another password"), ("again", "another password")]);
        assert_eq!(answer.status, 303, "{answer}");
        is_sent_to(&again, "/app", "/app/sign-in");

        let answer = person.post("/app/keys", "/app/sign-out", &[]);
        assert_eq!(answer.header("location"), Some("/app/sign-in"), "{answer}");
        assert_eq!(person.cookie("sightline"), None);
        assert!(text(&person.get("/app/sign-in")).contains("You are signed out"));
        assert!(!server.log().contains(EMAIL) && !server.log().contains(PASSWORD));
    }
}

#[test]
fn a_wrong_password_and_an_unknown_account_look_the_same() {
    let server = Setup::new().start();
    Person::signed_in(&server, EMAIL, "pro");
    // An account that never set a password, too.
    new_account(&server, "new@example.org", "pro");
    let refusals: Vec<(String, Vec<(String, String)>)> =
        [EMAIL, "nobody@example.org", "new@example.org", "no email"]
            .map(|email| {
                let person = Person::new(&server);
                let token = person.form_token("/app/sign-in");
                let fields = [("email", email), ("password", "wrong password"), ("csrf", token.as_str())];
                let mut answer = person.post_as("/app/sign-in", &fields, &[]);
                assert_eq!(answer.status, 401, "{answer}");
                answer.headers.retain(|(name, _)| {
                    !["date", "x-request-id", "content-length"].contains(&name.to_ascii_lowercase().as_str())
                });
                let own = person.cookie("sightline-form").unwrap();
                let headers = std::mem::take(&mut answer.headers).into_iter();
                let headers = headers.map(|(name, value)| (name, value.replace(&own, "COOKIE"))).collect();
                (text(&answer).replace(email, "EMAIL").replace(&field_of(&answer, "csrf"), "TOKEN"), headers)
            })
            .into();
    assert!(refusals[0].0.contains("The email address or the password is wrong"));
    for refusal in &refusals[1..] {
        assert_eq!(refusal, &refusals[0]);
    }
}

#[test]
fn a_change_must_come_from_a_page_of_the_app() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let token = person.form_token("/app/keys");
    let other = Person::signed_in(&server, "other@example.org", "pro").form_token("/app/keys");
    let good = ("csrf", token.as_str());
    for (fields, headers) in [
        (vec![("label", "forged")], vec![]),
        (vec![("label", "forged"), ("csrf", "")], vec![]),
        (vec![("label", "forged"), ("csrf", other.as_str())], vec![]),
        (vec![("label", "forged"), good], vec![("Sec-Fetch-Site", "cross-site")]),
        (vec![("label", "forged"), good], vec![("Sec-Fetch-Site", "same-site")]),
        (vec![("label", "forged"), good], vec![("Origin", "https://evil.example")]),
    ] {
        let answer = person.post_as("/app/keys", &fields, &headers);
        assert_eq!(answer.status, 403, "{answer}");
        assert!(text(&answer).contains("Nothing was done"), "{answer}");
    }
    assert!(!text(&person.get("/app/keys")).contains("forged"));
    let own = [("Sec-Fetch-Site", "same-origin"), ("Origin", "null")];
    let answer = person.post_as("/app/keys", &[("label", "own"), good], &own);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/app/keys")), "{answer}");
    assert!(text(&person.get("/app/keys")).contains("sl_live_"));
    // Another site cannot sign a visitor in, either.
    let stranger = Person::new(&server);
    let answer = stranger.post_as("/app/sign-in", &[("email", EMAIL), ("password", PASSWORD)], &[]);
    assert_eq!((answer.status, stranger.cookie("sightline")), (403, None), "{answer}");
}

#[test]
fn a_session_ends_when_it_is_not_used() {
    let server = Setup::new().flag("--times=session-idle=1s").start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    eventually("the session ends", || {
        // Checked without the session: a request of the person would keep it alive.
        server.request("GET", "/app/keys").send();
        sessions(&server) == 0
    });
    let answer = person.post_as("/app/keys", &[("label", "late")], &[]);
    assert_eq!(answer.header("location"), Some("/app/sign-in"), "{answer}");
    assert!(text(&person.get("/app/sign-in")).contains("Your session had ended"));
    // A script gets a status instead of a redirect.
    let answer = server.request("GET", "/app/keys").header("Accept", "text/event-stream").send();
    assert_eq!(answer.status, 401, "{answer}");
}

fn sessions(server: &Server) -> usize {
    let export = server.cli(&["account", "export", "--email", EMAIL]);
    let export: serde_json::Value = serde_json::from_str(&export).unwrap();
    export["sessions"].as_array().unwrap().len()
}

#[test]
fn every_answer_has_the_headers_for_browsers() {
    let server = Setup::new().flag("--base-url=https://search.example.org/x").start();
    let person = Person::new(&server);
    for (path, status) in
        [("/app/sign-in", 200), ("/app", 303), ("/app/nothing", 404), ("/app/sign-out", 405)]
    {
        let answer = person.get(path);
        assert_eq!(answer.status, status, "{answer}");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
        for (name, want) in [
            ("cache-control", "no-store"),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(want), "{answer}");
        }
        assert_eq!(answer.header("content-encoding"), None);
    }
    // With TLS, below a path.
    is_sent_to(&person, "/app", "/x/app/sign-in");
    let answer = person.get("/app/sign-in");
    assert!(text(&answer).contains("action=\"/x/app/sign-in\""), "{answer}");
    let fresh = Person::new(&server).get("/app/sign-in");
    let cookie = fresh.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Secure-sightline-form=") && cookie.ends_with("; Secure"), "{cookie}");
    assert!(cookie.contains("; Path=/x/app;"), "{cookie}");

    let page = text(&answer);
    let (_, rest) = page.split_once("rel=\"stylesheet\" href=\"/x").unwrap();
    let address = rest.split_once('"').unwrap().0;
    let style = person.get(address);
    assert_eq!(style.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let tag = style.header("etag").unwrap();
    assert_eq!(server.request("GET", address).header("If-None-Match", tag).send().status, 304);
    assert_eq!(person.get("/app/assets/app-0000000000000000.css").status, 404);
    let answer = server.request("GET", "/application").send();
    answer.is_error(404, "not_found");
}

#[test]
fn an_unknown_address_is_a_page_for_browsers_and_json_for_programs() {
    let server = Setup::new().start();
    for path in [
        "/nope",
        "/v1x",
        "/v10/searches",
        "/manual/nope",
        "/manual/nope.md",
        "/manual/a/b",
        "/docs/assets/nope",
    ] {
        let page = Person::new(&server).get(path);
        assert!(page.status == 404 && text(&page).contains("<h1>Page not found</h1>"), "{path}: {page}");
        server.get(path).is_error(404, "not_found");
    }
    for path in ["/v1", "/v1/", "/v1/nope"] {
        let api = server.request("GET", path).header("Accept", "text/html").send();
        api.is_error(404, "not_found");
    }
    let page = Person::new(&server).get("/manual/api");
    assert!(page.status == 200 && !text(&page).contains("Page not found"), "{page}");
}

mod postgres {
    use super::*;

    #[test]
    fn attempts_are_limited_by_email_over_all_instances() {
        let database = postgres();
        let (one, another) =
            (Setup::new().database(&database.url).start(), Setup::new().database(&database.url).start());
        Person::signed_in(&one, EMAIL, "pro");
        for email in [EMAIL, "nobody@example.org"] {
            let statuses: Vec<u16> = (0..12)
                .map(|index| {
                    let server = if index % 2 == 0 { &one } else { &another };
                    Person::new(server).sign_in(email, "wrong password").status
                })
                .collect();
            // Another attempt is allowed after 90 s, which a slow machine may take.
            assert_eq!(statuses[..10], [401; 10], "{email}");
            assert!(statuses[10..].contains(&429), "{email}: {statuses:?}");
            let answer = Person::new(&another).sign_in(email, PASSWORD);
            assert_eq!(answer.status, 429, "{answer}");
            let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=90).contains(&wait), "{answer}");
        }
    }
}
