//! Running servers that use a bundle.

use std::io::Write as _;

use super::*;
use crate::speed::site::Site;
use crate::support::databases::{TestDatabase, databases, postgres, sqlite};
use crate::support::eventually;
use crate::support::server::{Server, Setup};
use crate::support::site::{self, page};
use crate::web::person::{Person, text};

const SERIAL: &str = "sightline_catalog_bundle_serial";
const REFUSED: &str = "sightline_catalog_bundle_refused";

/// Starts a server whose own catalogue is the module `old`.
fn server(site: &Site, database: &TestDatabase, trust: Option<&str>) -> Server {
    let catalog = site.catalog(&[site.module("old", 1)]);
    let setup = Setup::real().flag("--no-builtin").flag("--allow-private-targets").flag(&catalog);
    let setup = setup.flag("--times=share-answers=10m");
    let setup = trust.into_iter().fold(setup, Setup::flag);
    setup.database(&database.url).start()
}

/// Returns a module with this id that asks the site as `asks`.
fn entry(site: &Site, id: &str, asks: &str, host: usize) -> Value {
    let mut entry = site.module(asks, host);
    entry["id"] = json!(id);
    entry
}

fn modules(server: &Server) -> Vec<String> {
    let shown = server.get("/v1/modules").json();
    shown["modules"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the serial and the status of the bundle as the health of the service shows them.
fn health(server: &Server) -> (Value, Value) {
    let health = server.get("/v1/health").json();
    let bundle = &health["catalog_bundle"];
    (bundle["serial"].clone(), bundle["status"].clone())
}

fn update(server: &Server, signer: &Signer, bundle: &str) {
    server.cli(&["catalog", "update", bundle, &signer.trust]);
}

/// Searches for a new name, and returns which parts of the site were asked for it.
fn asked(site: &Site, server: &Server, name: &str) -> Vec<String> {
    server.finished(&server.search("username", name));
    let mut asked: Vec<String> =
        site.asked().into_iter().filter(|(_, query)| query == name).map(|(module, _)| module).collect();
    asked.sort();
    asked
}

#[test]
fn a_running_server_uses_a_bundle_for_new_searches_and_goes_back() {
    for database in databases() {
        let (site, signer) = (Site::start(), Signer::new());
        let server = server(&site, &database, Some(&signer.trust));
        assert_eq!((health(&server), server.figure(SERIAL)), ((Value::Null, Value::Null), 0.0));
        let before = server.search("username", "before");
        site.wait_for_held(1);

        let first = signer.bundle(1, &[entry(&site, "new", "first", 2)]);
        update(&server, &signer, &first);
        eventually("the server has the bundle", || modules(&server) == ["new", "old"]);
        assert_eq!(health(&server), (json!(1), json!("in_use")));
        assert_eq!([SERIAL, REFUSED].map(|name| server.figure(name)), [1.0, 0.0]);
        site.answer_one(404);
        let ended = server.finished(&before);
        assert_eq!(ended["progress"]["modules_total"], 1, "a run keeps its modules: {ended}");

        ["first", "second"].into_iter().for_each(|module| site.answer_at_once(module, 200));
        site.answer_at_once("old", 404);
        assert_eq!(asked(&site, &server, "alice"), ["first", "old"], "{}", database.name);
        update(&server, &signer, &signer.bundle(2, &[entry(&site, "new", "second", 3)]));
        eventually("the entry is replaced", || health(&server).0 == 2);
        assert_eq!(asked(&site, &server, "bob"), ["old", "second"]);
        assert!(
            asked(&site, &server, "alice").contains(&"second".to_owned()),
            "the entry gave no answer yet"
        );

        server.cli(&["catalog", "rollback"]);
        eventually("the first bundle is in use again", || health(&server).0 == 1);
        assert_eq!(asked(&site, &server, "carol"), ["first", "old"]);
        server.cli(&["catalog", "rollback"]);
        eventually("no bundle is in use", || health(&server).0 == Value::Null);
        assert_eq!(
            (asked(&site, &server, "dave"), modules(&server)),
            (vec!["old".to_owned()], vec!["old".to_owned()])
        );
        let audit = server.cli(&["audit"]);
        assert!(audit.contains("catalog.updated") && audit.contains("catalog.rolled_back"), "{audit}");
    }
}

#[test]
fn a_restart_keeps_the_bundle_and_a_removed_key_leaves_it_out() {
    for database in databases() {
        let (site, signer) = (Site::start(), Signer::new());
        ["old", "new"].into_iter().for_each(|module| site.answer_at_once(module, 200));
        let mut running = server(&site, &database, Some(&signer.trust));
        let key = running.key.clone();
        update(&running, &signer, &signer.bundle(5, &[entry(&site, "new", "new", 2)]));
        running.kill();
        let start = |trust: Option<&str>| {
            let mut server = server(&site, &database, trust);
            server.key.clone_from(&key);
            server
        };
        let running = start(Some(&signer.trust));
        assert_eq!(
            (modules(&running), health(&running)),
            (vec!["new".into(), "old".into()], (json!(5), json!("in_use")))
        );
        assert_eq!(asked(&site, &running, "alice"), ["new", "old"]);
        drop(running);
        let other = Signer::new();
        for trust in [None, Some(other.trust.as_str())] {
            let running = start(trust);
            assert_eq!(health(&running), (json!(5), json!("refused")));
            assert_eq!(modules(&running), ["old"]);
            assert_eq!([SERIAL, REFUSED].map(|name| running.figure(name)), [0.0, 1.0]);
            assert!(running.log().contains("catalogue bundle 5 is not used"), "{}", running.log());
            let email = format!("{}@example.org", uuid::Uuid::new_v4().simple());
            let ann = Person::signed_in(&running, &email, "pro");
            running.cli(&["account", "set-role", "--email", &email, "--role", "operator"]);
            let page = text(&ann.get("/app/operator"));
            assert!(page.contains("is not used: catalogue bundle 5: signed with the key"), "{page}");
        }
    }
}

#[test]
fn a_module_in_quarantine_is_tried_again_when_a_bundle_changes_it() {
    let (site, signer, database) = (Site::start(), Signer::new(), sqlite());
    let catalog = site.catalog(&[site.module("old", 1)]);
    let setup = Setup::real().flag("--no-builtin").flag("--allow-private-targets").flag(&catalog);
    let setup = setup.flag("--times=control-ttl=0s").flag(&signer.trust).database(&database.url);
    let server = setup.start();
    let stale = |asks: &str| {
        let mut entry = entry(&site, "stale", asks, 2);
        entry["control"] = json!(true);
        entry
    };
    update(&server, &signer, &signer.bundle(1, &[stale("broken")]));
    eventually("the server has the module", || modules(&server) == ["stale", "old"]);
    // A site that shows a profile for every name.
    site.answer_at_once("broken", 200);
    site.answer_at_once("old", 404);
    site.answer_at_once("mended", 404);
    let reason = |name: &str| {
        let run = server.search("username", name);
        server.finished(&run);
        let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
        let all = reports["modules"].as_array().unwrap().clone();
        let of_stale = all.into_iter().find(|report| report["module"] == "stale").unwrap();
        (of_stale["status"].clone(), of_stale["reason"].clone())
    };
    for name in ["first", "second"] {
        assert_eq!(reason(name), (json!("unreliable"), json!("control_hit")));
    }
    assert_eq!(reason("third"), (json!("unreliable"), json!("quarantined")));
    update(&server, &signer, &signer.bundle(2, &[stale("mended")]));
    eventually("the server has the changed module", || health(&server).0 == 2);
    assert_eq!(reason("fourth").0, "miss");
}

#[test]
fn a_control_check_proves_nothing_about_a_changed_entry() {
    let changing = site::Site::start(|socket, request| {
        let is_miss = request.path().starts_with("/careful/") && !request.path().contains("alice");
        // The client may have disconnected.
        let _ = socket.write_all(&page(if is_miss { 404 } else { 200 }));
    });
    let (site, signer, database) = (Site::start(), Signer::new(), sqlite());
    let server = server(&site, &database, Some(&signer.trust));
    site.answer_at_once("old", 404);
    let entry = |path: &str| {
        let mut entry = super::super::entry();
        entry["probes"][0]["url"] = json!(changing.url(&format!("/{path}/{{query}}")));
        entry["control"] = json!(true);
        entry
    };
    let status = |name: &str| {
        let run = server.search("username", name);
        server.finished(&run);
        let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
        let all = reports["modules"].as_array().unwrap().clone();
        all.into_iter().find(|report| report["module"] == "site").unwrap()["status"].clone()
    };
    update(&server, &signer, &signer.bundle(1, &[entry("careful")]));
    eventually("the server has the bundle", || health(&server).0 == 1);
    assert_eq!(status("alice"), "hit");
    update(&server, &signer, &signer.bundle(2, &[entry("careless")]));
    eventually("the server has the changed entry", || health(&server).0 == 2);
    assert_eq!(status("alice2"), "unreliable");
}

#[test]
fn the_simulated_web_has_the_sites_of_a_bundle() {
    let signer = Signer::new();
    let server = Setup::new().flag(&signer.trust).start();
    let mut entry = super::super::entry();
    entry["id"] = json!("of-the-bundle");
    update(&server, &signer, &signer.bundle(1, &[entry]));
    eventually("the server has the bundle", || health(&server) == (json!(1), json!("in_use")));
    let chosen = json!({
        "type": "username", "query": "everybody", "modules": ["of-the-bundle"], "wait": true,
    });
    let run = server.post(&chosen).json();
    assert_eq!((&run["coverage"]["hit"], &run["status"]), (&json!(1), &json!("completed")), "{run}");
}

mod postgres {
    use super::*;

    #[test]
    fn all_instances_on_one_database_use_the_bundle() {
        let (site, signer, database) = (Site::start(), Signer::new(), postgres());
        ["old", "new"].into_iter().for_each(|module| site.answer_at_once(module, 200));
        let mut servers = [0; 2].map(|_| server(&site, &database, Some(&signer.trust)));
        servers[1].key = servers[0].key.clone();
        update(&servers[0], &signer, &signer.bundle(1, &[entry(&site, "new", "new", 2)]));
        for (server, name) in servers.iter().zip(["alice", "bob"]) {
            eventually("the instance has the bundle", || health(server) == (json!(1), json!("in_use")));
            assert_eq!(asked(&site, server, name), ["new", "old"]);
        }
        servers[1].cli(&["catalog", "rollback"]);
        for (server, name) in servers.iter().zip(["carol", "dave"]) {
            eventually("the instance has gone back", || health(server).0 == Value::Null);
            assert_eq!(asked(&site, server, name), ["old"]);
        }
    }
}
