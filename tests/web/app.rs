//! The web app over HTTP, as transcripts, and what several browsers do at once.

use super::person::{PASSWORD, Person, field_of, new_account, page_of, text};
use crate::support::databases::postgres;
use crate::support::race;
use crate::support::server::Setup;
use crate::support::transcript::play;

const EMAIL: &str = "person@example.org";

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

/// A form that is sent twice at the same time leads to the same page.
#[test]
fn one_form_is_one_search() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "free");
    let once = field_of(&person.get("/app"), "once");
    let body = format!("query=alice&once={once}&csrf={}", person.token());
    let cookie = format!("sightline={}", person.cookie("sightline").unwrap());
    let pages = race(2, |_| {
        let request = server.request("POST", "/app/searches").body(body.as_bytes());
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        page_of(&request.header("Cookie", &cookie).send())
    });
    assert_eq!(pages[0], pages[1]);
    person.has_left("4 of 5 credits are");
}

#[test]
fn access_keys_and_the_account() {
    play("web/app.txt");
}

#[test]
fn searches_batches_watches_and_webhooks() {
    play("web/searches.txt");
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
