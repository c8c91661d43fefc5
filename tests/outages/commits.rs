//! A connection is cut in the middle of a transaction: before the commit, or after it, so that only its answer is lost.

use serde_json::{Value, json};

use super::kit::{BEFORE, DURING, Scene, ended, has_no_faults, is_refused, started};
use super::network::behind_a_relay;
use crate::support::databases::TestDatabase;
use crate::support::relay::{Cut, Relay};
use crate::support::server::{Answer, Server, Setup};
use crate::support::{awaited, eventually};
use crate::web::person::{Person, field_of, text};

/// The name that is searched for while the connection is cut.
const NAME: &str = "somebody.unlucky";

fn order(scene: &Scene, idempotency_key: Option<&str>) -> Answer {
    let body = json!({"type": "username", "query": NAME});
    let request = scene.server.request("POST", "/v1/searches").key(&scene.key).json(&body);
    match idempotency_key {
        Some(key) => request.header("Idempotency-Key", key).send(),
        None => request.send(),
    }
}

fn runs_of(database: &TestDatabase) -> i64 {
    database.number(&format!("SELECT count(*) FROM runs WHERE query = '{NAME}'"))
}

fn used(scene: &Scene) -> Value {
    scene.get("/v1/credits").json()["credits_used"].clone()
}

fn set_up() -> (TestDatabase, Relay, Scene) {
    set_up_with(&[])
}

fn set_up_with(flags: &[String]) -> (TestDatabase, Relay, Scene) {
    let (database, relay, url) = behind_a_relay();
    let scene = Scene::with(|setup| setup.database(&url).flags(flags));
    scene.site.open();
    scene.recovers();
    // Two searches so far.
    assert_eq!(used(&scene), 2);
    (database, relay, scene)
}

/// Starts another instance that takes over what the first one cannot go on with.
fn another(scene: &Scene, database: &TestDatabase) -> Server {
    let flags = scene.site.flags(BEFORE, DURING);
    Setup::real().database(&database.url).flags(&flags).flag("--times=lease=5s").start()
}

/// Checks that a start whose caller was refused was committed, and that it is undone.
fn is_undone(database: &TestDatabase) {
    let undone = format!("SELECT count(*) FROM runs WHERE query = '{NAME}' AND status = 'failed'");
    eventually("it is undone", || database.number(&undone) == 1);
    has_no_faults(|sql| database.number(sql));
}

#[test]
fn a_start_that_was_not_committed_costs_nothing() {
    let (database, relay, scene) = set_up();
    relay.cut(NAME, Cut::BeforeCommit);
    is_refused(&order(&scene, None));
    assert_eq!(relay.cuts(), 1);
    assert_eq!((runs_of(&database), used(&scene)), (0, json!(2)));
    let run = ended(&scene.server, &scene.key, &started(&order(&scene, None)));
    assert_eq!((&run["status"], runs_of(&database), used(&scene)), (&json!("completed"), 1, json!(3)));
    has_no_faults(|sql| database.number(sql));
}

#[test]
fn a_start_whose_answer_was_lost_is_found_and_charged_once() {
    for idempotency_key in [None, Some("once")] {
        let (database, relay, scene) = set_up();
        relay.cut(NAME, Cut::AfterCommit);
        let run = started(&order(&scene, idempotency_key));
        assert_eq!(relay.cuts(), 1);
        let run = ended(&scene.server, &scene.key, &run);
        assert_eq!((&run["status"], runs_of(&database), used(&scene)), (&json!("completed"), 1, json!(3)));
        assert_eq!(run["total_results"], BEFORE + DURING);
        if idempotency_key.is_some() {
            let again = started(&order(&scene, idempotency_key));
            assert_eq!((json!(again), used(&scene)), (run["run_id"].clone(), json!(3)));
        }
        has_no_faults(|sql| database.number(sql));
    }
}

/// The answer is lost, and so is everything after it for a while: the caller has to be refused.
#[test]
fn an_unconfirmed_start_without_a_key_is_undone() {
    let (database, relay, scene) = set_up();
    relay.cut(NAME, Cut::ThenSilence);
    is_refused(&order(&scene, None));
    assert_eq!(relay.cuts(), 1);
    assert_eq!(runs_of(&database), 1, "it was committed");
    relay.freeze(false);
    is_undone(&database);
    eventually("its credit is given back", || used(&scene) == 2);
    // A caller that tries again pays once.
    let run = ended(&scene.server, &scene.key, &started(&order(&scene, None)));
    assert_eq!((&run["status"], used(&scene)), (&json!("completed"), json!(3)));
    has_no_faults(|sql| database.number(sql));
}

#[test]
fn an_unconfirmed_start_with_a_key_continues() {
    let (database, relay, scene) = set_up();
    relay.cut(NAME, Cut::ThenSilence);
    is_refused(&order(&scene, Some("once")));
    relay.freeze(false);
    let mut run = String::new();
    eventually("it is repeated", || {
        let answer = order(&scene, Some("once"));
        if answer.status == 200 {
            run = started(&answer);
        }
        answer.status == 200
    });
    let run = ended(&scene.server, &scene.key, &run);
    assert_eq!(
        (&run["status"], &run["total_results"]),
        (&json!("completed"), &json!(BEFORE + DURING)),
        "{run}"
    );
    assert_eq!((runs_of(&database), used(&scene)), (1, json!(3)));
    assert_eq!(scene.site.asked_again(NAME), [] as [String; 0]);
    has_no_faults(|sql| database.number(sql));
}

/// Nobody is left who knows that the caller was refused: the row itself has to tell.
#[test]
fn an_unconfirmed_start_is_undone_after_a_kill() {
    let (database, relay, mut scene) = set_up();
    relay.cut(NAME, Cut::ThenSilence);
    is_refused(&order(&scene, None));
    assert_eq!(runs_of(&database), 1, "it was committed");
    scene.server.kill();
    let _other = another(&scene, &database);
    is_undone(&database);
}

/// A batch and a watch are looked up by their ids, too. A caller that was refused would send them again, and pay twice.
#[test]
fn a_batch_and_a_watch_whose_answer_was_lost_are_made_once() {
    let search = json!({"type": "username", "query": NAME});
    for (path, body, table) in [
        ("/v1/batches", json!({"searches": [search]}), "batches"),
        ("/v1/watches", json!({"type": "username", "query": NAME, "every": "1d"}), "watches"),
    ] {
        let (database, relay, scene) = set_up();
        relay.cut(NAME, Cut::AfterCommit);
        let answer = scene.server.request("POST", path).key(&scene.key).json(&body).send();
        assert_eq!((answer.status, relay.cuts()), (201, 1), "{answer}");
        assert_eq!(database.number(&format!("SELECT count(*) FROM {table}")), 1);
        eventually("its search ends", || runs_of(&database) == 1 && used(&scene) == 3);
        has_no_faults(|sql| database.number(sql));
    }
}

/// Another instance may take the run over while this one cannot reach the store.
#[test]
fn an_unconfirmed_start_is_undone_by_another_instance() {
    let (database, relay, scene) = set_up_with(&["--times=lease=5s".to_owned()]);
    relay.cut(NAME, Cut::ThenSilence);
    is_refused(&order(&scene, None));
    let _other = another(&scene, &database);
    is_undone(&database);
    relay.freeze(false);
    eventually("its credit is given back", || used(&scene) == 2);
}

/// Once a search has been accepted, its caller gets its id, whatever the store does while it waits.
#[test]
fn a_wait_for_a_queued_search_survives_the_store() {
    let (database, relay, url) = behind_a_relay();
    let scene = Scene::with(|setup| setup.database(&url).flag("--max-runs=1"));
    let body = json!({"type": "username", "query": NAME, "wait": true});
    let answer = std::thread::scope(|scope| {
        let asked =
            scope.spawn(|| scene.server.request("POST", "/v1/searches").key(&scene.key).json(&body).send());
        eventually("the search is queued", || runs_of(&database) == 1);
        relay.freeze(true);
        asked.join().unwrap()
    });
    assert_eq!(answer.status, 200, "{answer}");
    assert!(answer.header("retry-after").is_some(), "{answer}");
    let run = started(&answer);
    assert_eq!(answer.json()["status"], "running", "{answer}");
    relay.freeze(false);
    scene.site.open();
    let run = ended(&scene.server, &scene.key, &run);
    assert_eq!((&run["status"], &run["credits_charged"]), (&json!("completed"), &json!(1)), "{run}");
    assert_eq!(runs_of(&database), 1);
}

/// The page with the error holds the same form, which leads to the same search.
#[test]
fn an_unconfirmed_form_continues_when_it_is_sent_again() {
    let (database, relay, scene) = set_up();
    let person = Person::signed_in(&scene.server, "person@example.org", "pro");
    let page = person.get("/app");
    let fields = |page: &Answer| {
        let [once, csrf] = ["once", "csrf"].map(|name| field_of(page, name));
        [("query", NAME.to_owned()), ("type", "username".to_owned()), ("once", once), ("csrf", csrf)]
    };
    let send = |page: &Answer| {
        let fields = fields(page);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        person.post_as("/app/searches", &fields, &[])
    };
    relay.cut(NAME, Cut::ThenSilence);
    let unconfirmed = send(&page);
    assert_eq!(unconfirmed.status, 503, "{unconfirmed}");
    assert!(
        text(&unconfirmed).contains("The search may have started") && text(&unconfirmed).contains(NAME),
        "{unconfirmed}"
    );
    // The token is masked anew in each page.
    assert_eq!(fields(&unconfirmed)[..3], fields(&page)[..3]);
    relay.freeze(false);
    awaited("it leads to its page", || {
        let answer = send(&unconfirmed);
        if answer.status == 303 { Ok(()) } else { Err(answer) }
    });
    assert_eq!(runs_of(&database), 1);
    let page = person.get("/app");
    assert!(text(&page).contains("99 of 100 credits are left"), "{page}");
    has_no_faults(|sql| database.number(sql));
}

/// A search whose commits of results and of its end are cut. What was stored is not stored again.
#[test]
fn results_and_ends_whose_answer_was_lost_are_stored_once() {
    for (marker, cut) in [
        // A result's record, and a statement that only an ending runs.
        ("entity_type", Cut::AfterCommit),
        ("entity_type", Cut::BeforeCommit),
        ("completed", Cut::AfterCommit),
        ("completed", Cut::BeforeCommit),
    ] {
        let (database, relay, url) = behind_a_relay();
        let scene = Scene::on(&url);
        relay.cut(marker, cut);
        scene.site.open();
        scene.recovers();
        assert_eq!(relay.cuts(), 1, "{marker} {cut:?}");
        has_no_faults(|sql| database.number(sql));
    }
}
