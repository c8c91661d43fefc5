//! An operator resets circuits, learned deadlines and quarantines, and every instance follows.

use super::quarantine::{QUARANTINED, put_in_quarantine};
use super::*;
use crate::web::person::{Person, text};

const OPEN: &str = "sightline_circuits_open";
const RESET: &str = "/app/operator/health/reset";

/// Returns instances that ask `up`, which answers at once, `down`, whose host refuses connections, and `stale`, which fails
/// its control check.
fn learned(site: &Site, database: &TestDatabase) -> Vec<Server> {
    let ([up, stale], down) = (quarantine::modules(site), site.refusing_module("down", 8));
    let times =
        ["host-retry=1h", "control-ttl=0s", "quarantine-retry=1h"].map(|time| format!("--times={time}"));
    let setup = || setup_for(site, &[up.clone(), down.clone(), stale.clone()], &["--check-timeout=60s"]);
    let servers = instances(database, || setup().flags(&times));
    put_in_quarantine(site, &servers[0]);
    for name in ["fourth", "fifth"] {
        servers[0].finished(&servers[0].search("username", name));
    }
    for server in &servers {
        eventually("every instance knows", || {
            has_learnt_deadline(server) && has_open_circuit(server) && server.figure(QUARANTINED) == 1.0
        });
    }
    servers
}

/// Returns the learned deadline of `up` in seconds. It is two seconds, and longer after a slow answer on a busy machine.
fn learnt_deadline(server: &Server) -> Option<f64> {
    health(server, "up")["deadline_ms"].as_u64().map(|millis| millis as f64 / 1000.0)
}

fn has_learnt_deadline(server: &Server) -> bool {
    learnt_deadline(server).is_some()
}

fn has_open_circuit(server: &Server) -> bool {
    server.figure(OPEN) > 0.0
}

#[test]
fn a_reset_from_the_command_line_reaches_every_instance() {
    for database in databases() {
        let site = Site::start();
        let servers = learned(&site, &database);
        let cli = |arguments: &[&str]| servers[0].cli(arguments);
        let deadline = learnt_deadline(&servers[0]).unwrap();
        let listed = json!({
            "kind": "deadline", "name": "up", "simulated": false, "failures": null, "open_since": null,
            "next_try_at": null, "deadline_ms": (deadline * 1000.0) as u64, "detail": format!("{deadline:.1}s"),
        });
        let list = || -> Value { serde_json::from_str(&cli(&["health", "list", "--format=json"])).unwrap() };
        eventually("all are stored", || {
            let list = list();
            let all = list.as_array().unwrap();
            let has = |kind: &str, name: &str| all.iter().any(|it| it["kind"] == kind && it["name"] == name);
            has("host", DOWN) && has("quarantine", "stale") && all.contains(&listed) && all.len() == 3
        });
        let quarantine = health(&servers[0], "stale")["quarantine"].clone();
        let told = ["reason", "failures"].map(|name| &quarantine[name]);
        assert_eq!(told, [&json!("known_missed"), &json!(2)], "{quarantine}");
        assert_eq!(quarantine["before"], json!({"http_status": 200, "matcher": "hit[0]: status 200"}));
        assert_eq!(quarantine["after"], json!({"http_status": 404, "matcher": "miss[0]: status 404"}));
        let change =
            "a known account is a miss: HTTP 404, miss[0]: status 404; before: HTTP 200, hit[0]: status 200";
        assert!(list().to_string().contains(change), "{}", list());
        assert_eq!(cli(&["health", "reset", "up"]), "deadline up\n");
        assert_eq!(list().as_array().unwrap().len(), 2, "{}", list());
        for server in &servers {
            eventually("the instance has read the reset", || !has_learnt_deadline(server));
            assert!(has_open_circuit(server), "{}", database.name);
        }
        let refused = &["health", "reset", "up", "--database", &database.url];
        crate::cli::ran(refused, &[]).code_is(3).err_has("nothing to reset for up");
        assert_eq!(cli(&["health", "reset", "--all", "--kind=host"]).trim(), format!("host {DOWN}"));
        for server in &servers {
            eventually("the instance has read the reset", || !has_open_circuit(server));
        }
        assert_eq!(
            cli(&["health", "reset", "--all"]),
            "quarantine stale\ndeadline stale\n",
            "nothing else was learned"
        );
        let audit = cli(&["audit"]);
        assert!(audit.contains("health.reset"), "{audit}");
    }
}

#[test]
fn an_operator_sees_and_resets_what_was_learned_in_the_web_app() {
    const PAGE: &str = "/app/operator";
    for database in databases() {
        let site = Site::start();
        let servers = learned(&site, &database);
        let ann = Person::signed_in(&servers[0], "ann@example.org", "pro");
        servers[0].cli(&["account", "set-role", "--email", "ann@example.org", "--role", "operator"]);

        let page = text(&ann.get(PAGE));
        assert!(page.contains(&format!("<th scope=\"row\">{DOWN}</th>")), "{page}");
        assert!(page.contains("2 hosts and modules, not asked"), "{page}");
        assert!(
            page.contains(">stale</th>") && page.contains("a known account is a miss: HTTP 404"),
            "{page}"
        );
        assert!(page.contains("1 of 3 modules have a deadline"), "{page}");
        assert!(page.contains("the configured deadline of 60.0 s"), "{page}");
        let learned = format!("<td class=\"num\">{:.1} s</td>", learnt_deadline(&servers[0]).unwrap());
        assert!(page.contains(&learned), "{page}");
        assert_eq!(ann.post(PAGE, RESET, &[("kind", "everything")]).status, 404);
        assert!(has_learnt_deadline(&servers[0]) && has_open_circuit(&servers[0]));

        let reset = |kind: &str| {
            let answer = ann.post(PAGE, RESET, &[("kind", kind)]);
            assert_eq!((answer.status, answer.header("location")), (303, Some(PAGE)), "{answer}");
            let page = text(&ann.get(PAGE));
            assert!(page.contains("What was learned has been forgotten."), "{page}");
            assert!(!page.contains(&format!("value=\"{kind}\"")), "nothing is left to reset: {page}");
        };
        // A reset of one name leaves the others as they are.
        for fields in [[("kind", "host"), ("name", "up")], [("kind", "deadline"), ("name", DOWN)]] {
            assert_eq!(ann.post(PAGE, RESET, &fields).status, 303);
        }
        assert!(has_learnt_deadline(&servers[0]) && has_open_circuit(&servers[0]));
        assert!(page.contains(&format!("name=\"name\" value=\"{DOWN}\"")), "{page}");
        assert_eq!(ann.post(PAGE, RESET, &[("kind", "host"), ("name", DOWN)]).status, 303);
        assert!(
            !has_open_circuit(&servers[0]) && has_learnt_deadline(&servers[0]),
            "it has an effect at once"
        );
        reset("quarantine");
        reset("deadline");
        assert!(!has_learnt_deadline(&servers[0]), "it has an effect at once");
        for server in &servers {
            eventually("the instance has read the resets", || {
                !has_open_circuit(server) && !has_learnt_deadline(server) && server.figure(QUARANTINED) == 0.0
            });
        }
        let page = text(&ann.get(PAGE));
        assert!(
            page.contains("No host is down, and no module is in quarantine")
                && page.contains("0 of 3 modules have"),
            "{page}"
        );
        let audit = servers[0].cli(&["audit"]);
        assert!(audit.contains("health.reset"), "{audit}");
    }
}
