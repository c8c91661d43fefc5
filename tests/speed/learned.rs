//! The deadline of a check is learned from the earlier answers of its module.

use std::time::Duration;

use super::*;
use crate::support::databases::sqlite;

/// The number of answers after which a deadline is learned.
const ENOUGH: usize = 5;

fn start(server: &Server, patient: bool) -> String {
    let body = json!({"type": "username", "query": "alice", "patient": patient});
    server.post(&body).json()["run_id"].as_str().unwrap().to_owned()
}

/// Waits for the end of a run. Returns the outcome and the reason of its only module.
fn end(server: &Server, run: &str) -> (Value, Value) {
    let mut report = ended(server, run, "slow").0;
    (report["status"].take(), report["reason"].take())
}

/// Searches while the site takes this time for its answer. Returns the outcome and the reason of the module.
fn search(server: &Server, site: &Site, time: Duration, patient: bool) -> (Value, Value) {
    let run = start(server, patient);
    site.wait_for_held(1);
    std::thread::sleep(time);
    site.answer_one(200);
    end(server, &run)
}

/// Returns the learned deadline in milliseconds.
fn deadline(server: &Server) -> Option<u64> {
    let health = health(server, "slow");
    assert!(health.get("deadline_ms").is_some(), "{health}");
    health["deadline_ms"].as_u64()
}

fn serve(site: &Site, database: &str) -> Server {
    setup_for(site, &[site.module("slow", 1)], &["--check-timeout=60s"]).database(database).start()
}

/// Starts a server that has learned a deadline from answers that took this time. Returns the deadline as well.
fn with_learnt_deadline(site: &Site, database: &str, time: Duration) -> (Server, u64) {
    let server = serve(site, database);
    for _ in 0..ENOUGH {
        assert_eq!(deadline(&server), None);
        assert_eq!(search(&server, site, time, false), (json!("hit"), Value::Null));
    }
    let learned = deadline(&server).expect("a deadline was learned");
    assert!(learned >= 2000 && u128::from(learned) >= 2 * time.as_millis() + 500, "{learned}");
    (server, learned)
}

#[test]
fn a_site_that_became_three_times_slower_is_cut_once_and_found_by_the_second_search() {
    for database in databases() {
        let site = Site::start();
        let usual = Duration::from_secs(2);
        let (mut first, learned) = with_learnt_deadline(&site, &database.url, usual);
        assert!(first.terminate().success());
        let mut server = serve(&site, &database.url);
        server.key.clone_from(&first.key);
        eventually("the stored deadline is read", || deadline(&server) == Some(learned));

        let run = start(&server, false);
        assert_eq!(end(&server, &run), (json!("timeout"), json!("learnt_deadline")), "{}", database.name);
        site.answer_one(200);
        assert!(deadline(&server) > Some(2 * learned), "{:?} after {learned}", deadline(&server));

        let slower = (3 * usual).max(Duration::from_millis(learned + 100));
        assert_eq!(search(&server, &site, slower, false), (json!("hit"), Value::Null), "{}", database.name);
    }
}

#[test]
fn a_patient_search_waits_for_longer_than_the_learnt_deadline() {
    let (site, database) = (Site::start(), sqlite());
    let (server, learned) = with_learnt_deadline(&site, &database.url, Duration::ZERO);
    let slower = Duration::from_millis(learned + 100);
    assert_eq!(search(&server, &site, slower, true), (json!("hit"), Value::Null));
}

/// The hit of a slow module would otherwise take twice as long as its site.
#[test]
fn a_slow_module_is_asked_for_a_made_up_name_before_it_answers() {
    let site = Site::start();
    let mut module = site.module("slow", 1);
    module["control"] = json!(true);
    let server = server_for(&site, &[module], &["--check-timeout=60s"]);
    let run = server.search("username", "nobody");
    site.wait_for_held(1);
    std::thread::sleep(Duration::from_millis(1600));
    site.answer_one(404);
    assert_eq!(end(&server, &run).0, "miss");

    let run = server.search("username", "alice");
    site.wait_for_held(2);
    let asked = site.asked();
    assert_eq!(asked.iter().filter(|(_, name)| name == "alice").count(), 1, "{asked:?}");
    for (_, name) in &asked[1..] {
        site.answer_one(if name == "alice" { 200 } else { 404 });
    }
    assert_eq!(end(&server, &run), (json!("hit"), Value::Null));
    assert_eq!(site.asked().len(), 3, "the verdict is used again");
}
