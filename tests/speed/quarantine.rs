//! Quarantine: modules that fail their control checks are not asked by each search.

use super::*;

pub(super) const QUARANTINED: &str = "sightline_modules_quarantined";

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
