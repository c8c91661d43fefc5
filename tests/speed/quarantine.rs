//! Quarantine: modules that fail their control checks are not asked by each search.

use super::*;
use crate::support::databases::{TestDatabase, databases, sqlite};
use crate::web::person::{Person, text};

const QUARANTINED: &str = "sightline_modules_quarantined";
const CUT: &str = "sightline_checks_cut_total{reason=\"quarantined\"}";

/// Starts an instance on which verdicts of control checks are not cached.
fn instance(catalog: &str, database: &TestDatabase, retry: &str) -> Server {
    let setup = Setup::real().flag("--no-builtin").flag("--allow-private-targets").flag(catalog);
    let setup = setup.flag("--times=control-ttl=0s").flag(&format!("--times=quarantine-retry={retry}"));
    setup.database(&database.url).start()
}

/// Returns the modules `up`, whose site answers at once that nobody is there, and `stale` with a known account.
fn modules(site: &Site) -> [Value; 2] {
    site.answer_at_once("up", 404);
    let mut stale = site.module("stale", 2);
    stale["known"] = json!(["alice"]);
    [site.module("up", 1), stale]
}

/// Returns the report of a module in a run that has ended, and the run.
fn ended(server: &Server, run: &str, module: &str) -> (Value, Value) {
    let ended = server.finished(run);
    let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
    let reports = reports["modules"].as_array().unwrap();
    (reports.iter().find(|report| report["module"] == module).unwrap().clone(), ended)
}

fn search(server: &Server, name: &str, module: &str) -> (Value, Value) {
    ended(server, &server.search("username", name), module)
}

/// Returns the quarantine of a module as `/v1/modules` shows it.
fn quarantine(server: &Server, module: &str) -> Value {
    let shown = server.get("/v1/modules").json();
    let all = shown["modules"].as_array().unwrap();
    let found = all.iter().find(|shown| shown["id"] == module).unwrap();
    assert!(found["health"].get("quarantine").is_some(), "{found}");
    found["health"]["quarantine"].clone()
}

/// Searches while the site of `stale` answers well, and then until `stale` is in quarantine.
fn put_in_quarantine(site: &Site, server: &Server) {
    let run = server.search("username", "zero");
    site.answer_one(404);
    site.answer_one(200);
    assert_eq!(ended(server, &run, "stale").0["status"], "miss", "the known account is a hit");
    site.answer_at_once("stale", 404);
    for name in ["first", "second"] {
        assert_eq!(quarantine(server, "stale"), Value::Null, "{name}");
        let (report, ended) = search(server, name, "stale");
        assert_eq!((&report["status"], &report["reason"]), (&json!("unreliable"), &json!("known_missed")));
        assert_eq!((&ended["coverage"]["quarantined"], report.get("circuit")), (&json!(0), None), "{ended}");
    }
}

#[test]
fn a_module_that_fails_its_control_checks_is_not_asked_and_every_view_says_so() {
    for database in databases() {
        let site = Site::start();
        let catalog = site.catalog(&modules(&site));
        let server = instance(&catalog, &database, "1h");
        put_in_quarantine(&site, &server);

        let (report, ended) = search(&server, "third", "stale");
        assert_eq!((&report["status"], &report["reason"]), (&json!("unreliable"), &json!("quarantined")));
        let coverage = &ended["coverage"];
        let counts = ["unreliable", "quarantined", "down", "down_since", "miss"].map(|name| &coverage[name]);
        assert_eq!(counts, [&json!(1), &json!(1), &json!(0), &Value::Null, &json!(1)], "{ended}");
        assert!(!site.asked().contains(&("stale".to_owned(), "third".to_owned())), "{:?}", site.asked());
        let shown = quarantine(&server, "stale");
        for time in ["open_since", "next_try_at"] {
            assert!(shown[time].is_string() && shown[time] == report["circuit"][time], "{shown} {report}");
        }
        let told = ["reason", "failures"].map(|name| &shown[name]);
        assert_eq!(told, [&json!("known_missed"), &json!(2)], "{shown}");
        assert_eq!(shown["before"], json!({"http_status": 200, "matcher": "hit[0]: status 200"}));
        assert_eq!(shown["after"], json!({"http_status": 404, "matcher": "miss[0]: status 404"}));
        assert_eq!(quarantine(&server, "up"), Value::Null);
        assert_eq!([QUARANTINED, CUT].map(|name| server.figure(name)), [1.0, 1.0]);

        let named = json!({"type": "username", "query": "fourth", "modules": ["stale"], "wait": true});
        let run = server.post(&named).json();
        let asked = server.get(&format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap())).json();
        assert_eq!(asked["modules"][0]["reason"], "known_missed", "a named module is asked in any case");

        let list = || server.cli(&["health", "list", "--kind", "quarantine"]);
        eventually("the quarantine is stored", || list().contains("stale"));
        let change =
            "a known account is a miss: HTTP 404, miss[0]: status 404; before: HTTP 200, hit[0]: status 200";
        assert!(list().contains(change), "{}", list());
        let key = server.key.clone();
        drop(server);
        let mut server = instance(&catalog, &database, "1h");
        server.key = key;
        eventually("the stored quarantine is read", || server.figure(QUARANTINED) == 1.0);
        let (again, _) = search(&server, "fifth", "stale");
        assert_eq!((&again["reason"], &again["circuit"]), (&json!("quarantined"), &report["circuit"]));

        assert_eq!(server.cli(&["health", "reset", "stale", "--kind", "quarantine"]), "quarantine stale\n");
        assert!(!server.cli(&["health", "list", "--kind", "quarantine"]).contains("stale"));
        assert!(server.cli(&["audit"]).contains("health.reset"));
        site.answer_at_once("stale", 200);
        eventually("the server has read the reset", || {
            search(&server, "sixth", "stale").0["status"] == "hit"
        });
    }
}

#[test]
fn a_trial_repeats_the_control_check_and_ends_the_quarantine_if_it_passes() {
    let (site, database) = (Site::start(), sqlite());
    let [up, mut broken] = [modules(&site)[0].clone(), site.module("broken", 3)];
    broken["control"] = json!(true);
    site.answer_at_once("broken", 200);
    let server = instance(&site.catalog(&[up, broken]), &database, "1s");
    for name in ["first", "second"] {
        let (report, _) = search(&server, name, "broken");
        assert_eq!((&report["status"], &report["reason"]), (&json!("unreliable"), &json!("control_hit")));
    }
    let count = std::cell::Cell::new(0);
    let names = |prefix: &str| {
        count.set(count.get() + 1);
        format!("{prefix}{}", count.get())
    };
    eventually("the quarantine is stored", || {
        server.cli(&["health", "list"]).contains("  a made-up name is a hit: HTTP 200, hit[0]: status 200\n")
    });
    eventually("a trial has failed", || {
        search(&server, &names("failing"), "broken");
        quarantine(&server, "broken")["failures"].as_u64() > Some(2)
    });
    let asked = || -> Vec<String> {
        let all = site.asked().into_iter().filter(|(module, _)| module == "broken");
        all.map(|(_, name)| name).collect()
    };
    assert!(!asked().iter().any(|name| name.starts_with("failing")), "only made-up names: {:?}", asked());

    site.answer_at_once("broken", 404);
    let before = asked().len();
    eventually("the trial passes", || search(&server, &names("fine"), "broken").0["status"] == "miss");
    let first = &asked()[before..][..2];
    assert!(!first[0].starts_with("fine") && first[1].starts_with("fine"), "{first:?}");
    assert_eq!((quarantine(&server, "broken"), server.figure(QUARANTINED)), (Value::Null, 0.0));
    let (report, ended) = search(&server, "last", "broken");
    assert_eq!((&report["status"], &ended["coverage"]["quarantined"]), (&json!("miss"), &json!(0)));
}

#[test]
fn operators_see_and_end_quarantines_on_every_instance() {
    const PAGE: &str = "/app/operator";
    const RESET: &str = "/app/operator/health/reset";
    const QUARANTINE: (&str, &str) = ("kind", "quarantine");
    for database in databases() {
        let site = Site::start();
        let catalog = site.catalog(&modules(&site));
        let count = if database.name == "postgres" { 2 } else { 1 };
        let mut servers: Vec<Server> = (0..count).map(|_| instance(&catalog, &database, "1h")).collect();
        put_in_quarantine(&site, &servers[0]);
        let key = servers[0].key.clone();
        for server in &mut servers {
            server.key.clone_from(&key);
            eventually("every instance knows", || server.figure(QUARANTINED) == 1.0);
            assert_eq!(search(server, "third", "stale").0["reason"], "quarantined", "{}", database.name);
        }
        let [ann, bob] =
            ["ann@example.org", "bob@example.org"].map(|email| Person::signed_in(&servers[0], email, "pro"));
        servers[0].cli(&["account", "set-role", "--email", "ann@example.org", "--role", "operator"]);
        let page = text(&ann.get(PAGE));
        assert!(page.contains(">stale</th>"), "{page}");
        assert!(page.contains("1 host or module, not asked"), "{page}");
        assert!(page.contains("a known account is a miss: HTTP 404"), "{page}");
        assert_eq!(bob.post("/app/account", RESET, &[QUARANTINE]).status, 403);
        assert_eq!(ann.post_as(RESET, &[("csrf", "wrong"), QUARANTINE], &[]).status, 403);
        assert!(servers[0].figure(QUARANTINED) > 0.0);
        let answer = ann.post(PAGE, RESET, &[QUARANTINE]);
        assert_eq!((answer.status, answer.header("location")), (303, Some(PAGE)), "{answer}");
        let page = text(&ann.get(PAGE));
        assert!(
            page.contains("What was learnt is forgotten.") && !page.contains("value=\"quarantine\""),
            "{page}"
        );
        assert!(page.contains("No host is down, and no module is in quarantine"), "{page}");
        for server in &servers {
            eventually("the instance has read the reset", || server.figure(QUARANTINED) == 0.0);
        }
        assert_eq!(search(&servers[0], "fourth", "stale").0["reason"], "known_missed");
        assert!(servers[0].cli(&["audit"]).contains("health.reset"));
    }
}
