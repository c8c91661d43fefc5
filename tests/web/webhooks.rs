//! The pages for webhooks over HTTP.

use super::person::{Person, between, text};
use crate::support::databases::databases;
use crate::support::eventually;
use crate::support::server::Setup;
use crate::support::site::{Site, with_headers};

const PAGE: &str = "/app/webhooks";

#[test]
fn a_webhook_is_created_tested_replayed_rotated_and_deleted() {
    for database in databases() {
        let site = Site::saying(with_headers("X-Mark: <b>bold</b>\r\n", b""));
        let server = crate::webhooks::lab::lab(&database).start();
        let person = Person::signed_in(&server, "person@example.org", "pro");
        let url = site.url("/in");
        let fields = [("url", url.as_str()), ("event", "run.completed"), ("event", "run.failed")];
        let made = text(&person.post_and_go(PAGE, PAGE, &fields));
        let secret = between(&made, "<code id=\"secret\">", "</code>").to_owned();
        assert!(secret.starts_with("whsec_"), "{made}");
        let list = text(&person.get(PAGE));
        assert!(list.contains(&url) && list.contains("run.completed, run.failed"), "{list}");
        assert!(!list.contains(&secret), "{list}");
        let own = format!("{PAGE}/{}", between(&list, "href=\"/app/webhooks/", "\""));
        let post = |path: &str| person.post(&own, &format!("{own}{path}"), &[]);
        assert_eq!(post("/test").header("location"), Some(own.as_str()));
        let page = person.shows(&own, |page| page.contains("HTTP 200 after"));
        assert!(page.contains("x-mark: &#60;b&#62;bold") && !page.contains("<b>bold"), "{page}");
        assert!(page.len() < 100_000, "{} bytes", page.len());
        let replay = format!("/deliveries/{}", between(&page, &format!("{own}/deliveries/"), "\""));
        assert_eq!(post(&replay).header("location"), Some(own.as_str()));
        eventually("the replay arrives", || site.received().len() == 2);
        let rotated = text(&person.post_and_go(&own, &format!("{own}/rotate"), &[]));
        assert_ne!(between(&rotated, "<code id=\"secret\">", "</code>"), secret);
        assert!(text(&person.get(&own)).contains("signed with two secrets until"));
        assert_eq!(post("/disable").status, 303);
        assert!(text(&person.get(&own)).contains("You have disabled it."));
        assert_eq!(post(&replay).status, 409);
        assert_eq!(post("/enable").status, 303);
        let export = person.post("/app/account", "/app/account/export", &[]).json();
        assert_eq!(export["webhooks"][0]["url"], url);
        assert_eq!(export["webhooks"][0]["deliveries"][0]["type"], "webhook.test");
        assert!(!export.to_string().contains("whsec_"));

        assert!(text(&person.get(&own)).contains("its deliveries are deleted. It cannot be undone."));
        assert_eq!(post("/delete").header("location"), Some(PAGE));
        assert_eq!(person.get(&own).status, 404);
    }
}

#[test]
fn a_wrong_form_is_shown_again_with_the_reason() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    for (fields, want) in [
        (vec![("url", "http://hooks.example.com/"), ("event", "run.failed")], "an https:// address"),
        (vec![("url", "https://hooks.example.com/")], "events: run.completed, run.failed"),
        (vec![("url", "https://hooks.example.com/"), ("event", "run.started")], "are allowed"),
    ] {
        let answer = person.post(PAGE, PAGE, &fields);
        assert!(answer.status == 422 && text(&answer).contains(want), "{answer}");
    }
    assert!(text(&person.get(PAGE)).contains("There is no webhook yet."));
}
