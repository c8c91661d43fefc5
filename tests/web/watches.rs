//! The pages for watches over HTTP.

use super::person::{Person, between, field_of, text};
use crate::support::databases::{TestDatabase, databases};
use crate::support::server::Setup;
use crate::support::site::{Site, with_headers};
use crate::support::{awaited, eventually};
use crate::webhooks::lab;

const PAGE: &str = "/app/watches";

/// Waits until the watch has that many runs and the last one was compared. Returns the page.
fn compared(person: &Person<'_>, database: &TestDatabase, own: &str, count: i64) -> String {
    awaited("the runs were compared", || {
        let runs = database.number("SELECT count(*) FROM runs WHERE watch IS NOT NULL");
        let open = database.number("SELECT count(*) FROM watches WHERE is_open");
        if (runs, open) == (count, 0) {
            Ok(text(&person.get(own)))
        } else {
            Err(format!("{runs} runs, {open} open"))
        }
    })
}

#[test]
fn a_watch_is_created_run_paused_and_deleted() {
    for database in databases() {
        let site = Site::saying(with_headers("", b"thanks"));
        let server = lab::lab(&database).start();
        let person = Person::signed_in(&server, "person@example.org", "pro");
        assert!(text(&person.get(PAGE)).contains("There is no watch yet."));
        let (hook, event) = (site.url("/in"), "watch.changed");
        let hooks = "/app/webhooks";
        assert_eq!(person.post(hooks, hooks, &[("url", &hook), ("event", event)]).status, 303);
        let hook_id = between(&text(&person.get(hooks)), "href=\"/app/webhooks/", "\"").to_owned();
        let once = field_of(&person.get(PAGE), "once");
        let send = |every: &str| {
            let fields = [
                ("query", "everybody"),
                ("type", "username"),
                ("modules", "GitHub"),
                ("every", every),
                ("notify_on", "added"),
                ("notify_on", "changed"),
                ("webhook", hook_id.as_str()),
                ("once", &once),
            ];
            person.post(PAGE, PAGE, &fields)
        };
        let made = send("12h");
        let own = made.header("location").unwrap_or_else(|| panic!("{made}")).to_owned();
        let page = text(&person.get(&own));
        for part in ["The watch is created.", "every 12 hours", "added, changed", &hook, "github", "Active"] {
            assert!(page.contains(part), "no {part:?} in {page}");
        }
        assert_eq!(send("12h").header("location"), Some(own.as_str()), "a form that is sent twice");
        assert_eq!(database.number("SELECT count(*) FROM watches"), 1);
        let other = send("1d");
        assert!(other.status == 422 && text(&other).contains("Send it again"), "{other}");
        assert_ne!(field_of(&other, "once"), once);
        let page = compared(&person, &database, &own, 1);
        assert!(page.contains("Nothing has changed yet."), "{page}");

        // Nothing has changed on the sites. The stored conclusion is changed instead.
        let known = "'\"display_name\":\"', '\"display_name\":\"Not '";
        database.execute(&format!("UPDATE watches SET baseline = replace(baseline, {known})"));
        let post = |path: &str| person.post(&own, &format!("{own}{path}"), &[]);
        let once = field_of(&person.get(&own), "once");
        let run_now = || person.post(&own, &format!("{own}/run"), &[("once", &once)]);
        let run = run_now().header("location").unwrap().to_owned();
        let page = compared(&person, &database, &own, 2);
        assert_eq!(run_now().header("location").unwrap(), run, "a form that is sent again starts nothing");
        assert!(page.contains("<del><bdi>Not ") && page.contains(">changed<"), "{page}");
        let diff = between(&page, "href=\"/app/searches/", "/diff/");
        let diff = format!(
            "/app/searches/{}/diff{}",
            diff.rsplit('/').next().unwrap(),
            run.replace("/app/searches", "")
        );
        assert!(
            page.contains(&format!("href=\"{diff}\"")) && page.contains(&format!("href=\"{run}\"")),
            "{page}"
        );
        assert!(text(&person.get(&run)).contains(&format!("href=\"{own}\"")));
        eventually("the message arrives", || site.received().len() == 1);
        let list = text(&person.get(PAGE));
        assert!(
            list.contains(&format!("href=\"{own}\"")) && list.contains("data-label=\"Changes\">1<"),
            "{list}"
        );

        assert_eq!(post("/pause").header("location"), Some(own.as_str()));
        for page in [PAGE, &own] {
            let page = text(&person.get(page));
            assert!(
                page.contains("You have paused it.") && page.contains("none while it is paused"),
                "{page}"
            );
        }
        assert_eq!(post("/resume").status, 303);
        assert!(!text(&person.get(&own)).contains("You have paused it."));

        assert!(text(&person.get(&own)).contains("its changes are deleted. Its runs stay"));
        assert_eq!(post("/delete").header("location"), Some(PAGE));
        assert_eq!(person.get(&own).status, 404);
        assert!(text(&person.get(&run)).contains("Watch this"));
    }
}

#[test]
fn a_run_is_watched_with_its_own_options() {
    let server = Setup::new().flag("--plans=pro=1:api,unlimited=unlimited:api:premium").start();
    let person = Person::signed_in(&server, "person@example.org", "pro");
    let once = field_of(&person.get("/app"), "once");
    let fields = [("query", "Everybody"), ("type", "username"), ("nsfw", "yes"), ("once", once.as_str())];
    let run = person.post("/app", "/app/searches", &fields).header("location").unwrap().to_owned();
    let page = text(&person.get(&run));
    let link = between(&page, "href=\"/app/watches?run=", "\"");
    let form = format!("{PAGE}?run={link}");
    let page = text(&person.get(&form));
    for part in
        ["value=\"Everybody\"", "<option value=\"username\" selected>", "name=\"nsfw\" value=\"yes\" checked"]
    {
        assert!(page.contains(part), "no {part:?} in {page}");
    }
    let stranger = Person::signed_in(&server, "stranger@example.org", "pro");
    assert_eq!(stranger.get(&form).status, 404);
    assert_eq!(person.get(&format!("{PAGE}?run=x")).status, 404);

    // The only credit is used, so the first run does not start.
    let made = person.post(&form, PAGE, &[("query", "Everybody"), ("every", "1d"), ("notify_on", "added")]);
    let own = made.header("location").unwrap().to_owned();
    let once = field_of(&person.get(&own), "once");
    let refused = person.post(&own, &format!("{own}/run"), &[("once", &once)]);
    assert_eq!(field_of(&refused, "once"), once, "an earlier attempt may have started the run");
    assert!(refused.status == 402 && text(&refused).contains("Not enough credits."), "{refused}");
    eventually("the watch pauses", || text(&person.get(&own)).contains("The account cannot pay for a run"));
}

#[test]
fn a_wrong_form_is_shown_again_with_what_is_allowed() {
    let server = Setup::new().start();
    let person = Person::signed_in(&server, "person@example.org", "free");
    let every = ("every", "1d");
    let kind = ("notify_on", "added");
    for (fields, status, want) in [
        (vec![("query", "no one"), ("type", "email"), every, kind], 400, "Allowed: "),
        (vec![("query", "alice"), ("every", "30m"), kind], 422, "Allowed: 1h to 30d."),
        (vec![("query", "alice"), every], 422, "added, removed, changed are allowed"),
        (vec![("query", "alice"), every, ("notify_on", "gone")], 422, "added, removed, changed are allowed"),
        (vec![("query", "alice"), every, kind, ("webhook", "x")], 422, "choose a webhook of this account"),
        (
            vec![("query", "alice"), every, kind, ("webhook", "018f4a7e-5c1d-7b3a-9e2f-0123456789ab")],
            422,
            "choose a webhook of this account",
        ),
        (vec![("query", "alice"), every, kind, ("modules", "nowhere")], 400, "nowhere"),
        (vec![("query", "alice"), every, kind, ("premium", "yes")], 403, "does not include premium"),
    ] {
        let answer = person.post(PAGE, PAGE, &fields);
        let page = text(&answer);
        assert!(answer.status == status && page.contains(want), "{fields:?}: {answer}");
        assert!(page.contains(&format!("value=\"{}\"", fields[0].1)), "{page}");
    }
    assert!(text(&person.get(PAGE)).contains("There is no watch yet."));
}
