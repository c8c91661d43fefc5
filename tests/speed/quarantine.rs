//! Quarantine: modules that fail their control checks are not asked by each search.

use super::*;

pub(super) const QUARANTINED: &str = "sightline_modules_quarantined";
const CUT: &str = "sightline_checks_cut_total{reason=\"quarantined\"}";

/// An instance on which verdicts of control checks are not cached.
fn instance(site: &Site, modules: &[Value], retry: &str) -> Setup {
    setup_for(site, modules, &["--times=control-ttl=0s", &format!("--times=quarantine-retry={retry}")])
}

/// Returns the modules `up`, whose site answers at once that nobody is there, and `stale` with a known account.
pub(super) fn modules(site: &Site) -> [Value; 2] {
    site.answer_at_once("up", 404);
    let mut stale = site.module("stale", 2);
    stale["known"] = json!(["alice"]);
    [site.module("up", 1), stale]
}

fn search(server: &Server, name: &str, module: &str) -> (Value, Value) {
    ended(server, &server.search("username", name), module)
}

/// Returns the quarantine of a module as `/v1/modules` shows it.
fn quarantine(server: &Server, module: &str) -> Value {
    let health = health(server, module);
    assert!(health.get("quarantine").is_some(), "{health}");
    health["quarantine"].clone()
}

/// Searches while the site of `stale` answers well, and then until `stale` is in quarantine.
pub(super) fn put_in_quarantine(site: &Site, server: &Server) {
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
        let modules = modules(&site);
        let start = || instance(&site, &modules, "1h").database(&database.url).start();
        let server = start();
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
        let run = server.post(&named).json()["run_id"].as_str().unwrap().to_owned();
        let reason = super::ended(&server, &run, "stale").0["reason"].take();
        assert_eq!(reason, "known_missed", "a named module is asked in any case");

        let list = || server.cli(&["health", "list", "--kind", "quarantine"]);
        eventually("the quarantine is stored", || list().contains("stale"));
        let change =
            "a known account is a miss: HTTP 404, miss[0]: status 404; before: HTTP 200, hit[0]: status 200";
        assert!(list().contains(change), "{}", list());
        let key = server.key.clone();
        drop(server);
        let mut server = start();
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
    let site = Site::start();
    let [up, mut broken] = [modules(&site)[0].clone(), site.module("broken", 3)];
    broken["control"] = json!(true);
    site.answer_at_once("broken", 200);
    let server = instance(&site, &[up, broken], "1s").start();
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
