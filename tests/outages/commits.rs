//! A connection is cut in the middle of a transaction: before the commit, or after it, so that only its answer is lost.

use jiff::Timestamp;
use serde_json::{Value, json};
use sightline::model::audit::Origin;
use sightline::model::health::Learned;
use sightline::store::Role;

use super::kit::{BEFORE, DURING, Scene, ended, has_no_faults, is_refused, started};
use super::network::behind_a_relay;
use crate::support::databases::TestDatabase;
use crate::support::relay::{Cut, Relay};
use crate::support::server::{Answer, Setup};
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
    let (database, relay, url) = behind_a_relay();
    let scene = Scene::with(|setup| setup.database(&url).flag("--times=lease=5s"));
    scene.site.open_all();
    scene.recovers();
    // Two searches so far.
    assert_eq!(used(&scene), 2);
    (database, relay, scene)
}

#[test]
fn a_start_whose_commit_was_cut_is_made_and_charged_once_or_costs_nothing() {
    for (cut, key) in [(Cut::BeforeCommit, None), (Cut::AfterCommit, None), (Cut::AfterCommit, Some("once"))]
    {
        let (database, relay, scene) = set_up();
        relay.cut(NAME, cut);
        let mut answer = order(&scene, key);
        assert_eq!(relay.cuts(), 1);
        if cut == Cut::BeforeCommit {
            is_refused(&answer);
            assert_eq!((runs_of(&database), used(&scene)), (0, json!(2)));
            answer = order(&scene, key);
        }
        let run = ended(&scene.server, &scene.key, &started(&answer));
        assert_eq!((&run["status"], &run["total_results"]), (&json!("completed"), &json!(BEFORE + DURING)));
        if key.is_some() {
            assert_eq!(json!(started(&order(&scene, key))), run["run_id"]);
        }
        assert_eq!((runs_of(&database), used(&scene)), (1, json!(3)), "{cut:?} {key:?}");
        has_no_faults(|sql| database.number(sql));
    }
}

/// Who undoes a start whose answer was lost, with everything after it: the caller has to be refused.
#[derive(Debug, PartialEq)]
enum UndoneBy {
    TheInstance,
    /// Nobody is left who knows that the caller was refused: the row itself has to tell.
    TheNextProcess,
    /// Another instance may take the run over while this one cannot reach the store.
    AnotherInstance,
}

#[test]
fn an_unconfirmed_start_without_a_key_is_undone() {
    for who in [UndoneBy::TheInstance, UndoneBy::TheNextProcess, UndoneBy::AnotherInstance] {
        let (database, relay, mut scene) = set_up();
        relay.cut(NAME, Cut::ThenSilence);
        is_refused(&order(&scene, None));
        assert_eq!((relay.cuts(), runs_of(&database)), (1, 1), "it was committed");
        let mut other = None;
        if who == UndoneBy::TheInstance {
            relay.freeze(false);
        } else {
            if who == UndoneBy::TheNextProcess {
                scene.server.kill();
            }
            let setup = Setup::real().database(&database.url).flags(&scene.site.flags(BEFORE, DURING));
            other = Some(setup.flag("--times=lease=5s").start());
        }
        let undone = format!("SELECT count(*) FROM runs WHERE query = '{NAME}' AND status = 'failed'");
        eventually("it is undone", || database.number(&undone) == 1);
        has_no_faults(|sql| database.number(sql));
        drop(other);
        if who == UndoneBy::TheNextProcess {
            continue;
        }
        relay.freeze(false);
        eventually("its credit is given back", || used(&scene) == 2);
        // A caller that tries again pays once.
        let run = ended(&scene.server, &scene.key, &started(&order(&scene, None)));
        assert_eq!((&run["status"], used(&scene)), (&json!("completed"), json!(3)), "{who:?}");
        has_no_faults(|sql| database.number(sql));
    }
}

#[test]
fn an_unconfirmed_run_of_a_watch_is_undone() {
    let (database, relay, scene) = set_up();
    let watch = json!({"type": "username", "query": NAME, "every": "1d"});
    let watch = scene.server.request("POST", "/v1/watches").key(&scene.key).json(&watch).send();
    let run = format!("/v1/watches/{}/run", watch.json()["id"].as_str().unwrap());
    let waits = "SELECT count(*) FROM watches WHERE NOT is_open AND last_run IS NOT NULL";
    eventually("its first run is compared", || database.number(waits) == 1);
    relay.cut(NAME, Cut::ThenSilence);
    is_refused(&scene.server.request("POST", &run).key(&scene.key).send());
    relay.freeze(false);
    eventually("its credit is given back", || runs_of(&database) == 2 && used(&scene) == 3);
    has_no_faults(|sql| database.number(sql));
}

/// A connection that is made too late does not do what was given up meanwhile.
#[test]
fn nothing_is_done_within_a_transaction_that_nobody_waits_for() {
    let (database, relay, url) = behind_a_relay();
    let store = sightline::store::open(&url.parse().unwrap(), Role::Server).unwrap();
    relay.freeze(true);
    let write = || store.reset(Learned::Host, None, Timestamp::now(), &Origin::CLI).unwrap_err().to_string();
    eventually("a new connection is being made", || write().contains("no answer within 1 s"));
    relay.freeze(false);
    eventually("a check is counted", || store.count_today(false, "m", 9).is_ok());
    assert_eq!(database.number("SELECT count(*) FROM learnt"), 1);
}

#[test]
fn an_unconfirmed_start_with_a_key_continues() {
    let (database, relay, scene) = set_up();
    relay.cut(NAME, Cut::ThenSilence);
    is_refused(&order(&scene, Some("once")));
    relay.freeze(false);
    let answer = awaited("it is repeated", || match order(&scene, Some("once")) {
        answer if answer.status == 200 => Ok(answer),
        answer => Err(answer),
    });
    let run = ended(&scene.server, &scene.key, &started(&answer));
    assert_eq!((&run["status"], &run["total_results"]), (&json!("completed"), &json!(BEFORE + DURING)));
    assert_eq!((runs_of(&database), used(&scene)), (1, json!(3)));
    assert_eq!(scene.site.asked_again(NAME), [] as [String; 0]);
    has_no_faults(|sql| database.number(sql));
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

/// Once a search has been accepted, its caller gets its id, whatever the store does while it waits.
#[test]
fn a_wait_for_a_queued_search_survives_the_store() {
    let (database, relay, url) = behind_a_relay();
    let scene = Scene::with(|setup| setup.database(&url).flag("--max-runs=1"));
    let body = json!({"type": "username", "query": NAME, "wait": true});
    let ask = || {
        let request = scene.server.request("POST", "/v1/searches").key(&scene.key).json(&body);
        request.header("Idempotency-Key", "once")
    };
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask().send());
        eventually("the search is queued", || runs_of(&database) == 1);
        // A repetition is refused until the first request knows its search.
        eventually("it is waited for", || ask().header("Prefer", "wait=1").send().status == 200);
        relay.freeze(true);
        asked.join().unwrap()
    });
    assert_eq!(answer.status, 200, "{answer}");
    assert!(answer.header("retry-after").is_some(), "{answer}");
    let run = started(&answer);
    assert_eq!(answer.json()["status"], "running", "{answer}");
    relay.freeze(false);
    scene.site.open_all();
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
        text(&unconfirmed).contains("Your request may have been carried out")
            && text(&unconfirmed).contains(NAME),
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
        scene.site.open_all();
        scene.recovers();
        assert_eq!(relay.cuts(), 1, "{marker} {cut:?}");
        has_no_faults(|sql| database.number(sql));
    }
}
