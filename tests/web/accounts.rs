//! Keys and the account, over HTTP.

use super::person::{PASSWORD, Person, between, text};
use crate::support::databases::databases;
use crate::support::eventually;
use crate::support::server::{Server, Setup};

const EMAIL: &str = "person@example.org";
const NEW: &str = "another good password";

fn status(server: &Server, key: &str) -> u16 {
    server.request("GET", "/v1/me").key(key).send().status
}

#[test]
fn a_key_is_created_shown_once_used_and_revoked() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let label = "<b>lab</b> \"1\"";
    let made = text(&person.post_and_go("/app/keys", "/app/keys", &[("label", label)]));
    let key = between(&made, "<code id=\"new-key\">", "</code>");
    assert_eq!(status(&server, key), 200);
    let list = text(&person.get("/app/keys"));
    assert!(!list.contains(key) && list.contains(&format!("sl_live_…{}", &key[key.len() - 4..])), "{list}");
    assert!(list.contains("&#60;b&#62;lab&#60;/b&#62;") && !list.contains("<b>lab"), "{list}");
    // A page that is loaded again makes no second key, and the browser may send anything.
    assert!(!list.contains("Your new key") && list.matches("/revoke\"").count() == 1, "{list}");
    person.set_cookie("sightline-made", "<b>x");
    assert!(!text(&person.get("/app/keys")).contains("Your new key"));

    let path = format!("/app/keys/{}/revoke", between(&list, "action=\"/app/keys/", "/revoke\""));
    assert!(list.contains("Programs that use it are refused from then on."), "{list}");
    assert_eq!(person.post("/app/keys", &path, &[]).header("location"), Some("/app/keys"));
    assert_eq!(status(&server, key), 401);
    assert!(text(&person.get("/app/keys")).contains("Revoked"));
    assert_eq!(person.post("/app/keys", &path, &[]).status, 404);

    let answer = person.post("/app/keys", "/app/keys", &[("label", &"x".repeat(101))]);
    assert!(answer.status == 422 && text(&answer).contains("at most 100 characters"), "{answer}");
    let free = Person::signed_in(&server, "free@example.org", "free");
    let page = text(&free.get("/app/keys"));
    assert!(page.contains("pro, unlimited") && !page.contains("id=\"label\""), "{page}");
    assert_eq!(free.post("/app/keys", "/app/keys", &[("label", "x")]).status, 403);
}

#[test]
fn sessions_are_listed_and_a_new_password_ends_all_others() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let (phone, laptop) = (Person::new(&server), Person::new(&server));
    // A form stays valid after a sign-in in another tab.
    let token = phone.form_token("/app/sign-in");
    for other in [&phone, &laptop] {
        assert_eq!(other.sign_in(EMAIL, PASSWORD).status, 303);
    }
    // Signing in again ends the previous session of the browser.
    let fields = [("email", EMAIL), ("password", PASSWORD), ("csrf", &token)];
    assert_eq!(phone.post_as("/app/sign-in", &fields, &[]).status, 303);
    // Forms that need a session accept only the session's token.
    assert_eq!(phone.post_as("/app/keys", &[("label", "x"), ("csrf", &token)], &[]).status, 403);
    let page = text(&phone.get("/app/account"));
    assert!(page.contains("<span class=\"count\">3</span>") && page.contains("127.0.0.1"), "{page}");
    assert!(page.contains("0 of 100"), "{page}");
    // The most recently used session is first: the phone's own.
    let own = between(&page, "/app/account/sessions/", "/revoke");
    assert_eq!(laptop.get("/app/account").status, 200);
    let ended = laptop.post("/app/account", &format!("/app/account/sessions/{own}/revoke"), &[]);
    assert_eq!(ended.header("location").map(|to| &to[..4]), Some("/app"), "{ended}");
    let left = [&person, &phone, &laptop].map(|one| one.get("/app/account").status);
    assert_eq!(left.iter().filter(|status| **status == 200).count(), 2, "{left:?}");

    let link = server.cli(&["account", "link", "--email", EMAIL]);
    let change = |old: &str, again: &str| {
        let fields = [("old", old), ("password", NEW), ("again", again)];
        person.post("/app/account", "/app/account/password", &fields)
    };
    for (old, again, want) in [
        ("wrong password", NEW, "The current password is wrong"),
        (PASSWORD, "differs", "The two new passwords differ"),
    ] {
        let answer = change(old, again);
        assert!(answer.status == 422 && text(&answer).contains(want), "{answer}");
    }
    let answer = change(PASSWORD, NEW);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/app/account")), "{answer}");
    assert!(text(&person.get("/app/account")).contains("<span class=\"count\">1</span>"));
    assert_eq!([&phone, &laptop].map(|one| one.get("/app/account").status), [303, 303]);
    assert_eq!(Person::new(&server).sign_in(EMAIL, PASSWORD).status, 401);
    assert_eq!(Person::new(&server).sign_in(EMAIL, NEW).status, 303);
    // An old link in a mailbox is invalid, too.
    assert_eq!(Person::new(&server).get(&super::person::link_in(&link)).status, 404);
}

#[test]
fn too_many_wrong_current_passwords_are_refused() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, EMAIL, "pro");
    let change = |old: &str| {
        let fields = [("old", old), ("password", NEW), ("again", NEW)];
        person.post("/app/account", "/app/account/password", &fields)
    };
    let guesses: Vec<_> = (0..12).map(|_| change("wrong password")).collect();
    let statuses: Vec<u16> = guesses.iter().map(|answer| answer.status).collect();
    assert_eq!((&statuses[..10], statuses[11]), (&[422; 10][..], 429), "{statuses:?}");
    // The deletion counts too, since it asks for the same password.
    let deletion = person.post("/app/account", "/app/account/delete", &[("password", "x"), ("sure", "on")]);
    for answer in [&guesses[11], &deletion] {
        assert_eq!(answer.status, 429, "{answer}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=90).contains(&wait), "{answer}");
        let page = text(answer);
        assert!(page.contains("There were too many attempts.") && page.contains("Change password"), "{page}");
    }
    assert_eq!(change(PASSWORD).status, 429, "the right one too");
}

#[test]
fn an_account_is_exported_and_deleted() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let person = Person::signed_in(&server, EMAIL, "pro");
        let made = text(&person.post_and_go("/app/keys", "/app/keys", &[("label", "mine")]));
        let key = between(&made, "<code id=\"new-key\">", "</code>").to_owned();
        let answer = person.post("/app/account", "/app/account/export", &[]);
        let disposition = answer.header("content-disposition");
        assert_eq!(disposition, Some("attachment; filename=\"sightline-account.json\""));
        let export = answer.json();
        assert_eq!(export["account"]["email"], EMAIL);
        assert_eq!(export["keys"][0]["label"], "mine");
        assert_eq!(export["sessions"][0]["address"], "127.0.0.1");
        let all = text(&answer);
        assert!(!all.contains("argon2") && !all.contains(&person.cookie("sightline").unwrap()), "{all}");

        let delete = |fields: &[(&str, &str)]| person.post("/app/account", "/app/account/delete", fields);
        for (fields, want) in [
            (&[("password", PASSWORD)][..], "Confirm that you are sure"),
            (&[("password", "wrong password"), ("sure", "yes")], "The password is wrong"),
        ] {
            let answer = delete(fields);
            assert!(answer.status == 422 && text(&answer).contains(want), "{answer}");
        }
        assert_eq!(status(&server, &key), 200);
        let answer = delete(&[("password", PASSWORD), ("sure", "yes")]);
        assert_eq!(answer.header("location"), Some("/app/sign-in"), "{answer}");
        assert_eq!((status(&server, &key), person.cookie("sightline")), (401, None));
        assert!(text(&person.get("/app/sign-in")).contains("deleted permanently"));
        assert_eq!(person.sign_in(EMAIL, PASSWORD).status, 401);
        eventually("the account is gone", || !server.cli(&["account", "list"]).contains(EMAIL));
        for table in ["passwords", "web_sessions"] {
            assert_eq!(database.number(&format!("SELECT count(*) FROM {table}")), 0, "{table}");
        }
    }
}
