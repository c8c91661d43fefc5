//! An operator resets circuits and learnt deadlines, and every instance follows.

use super::circuits::{DOWN, free_port, modules};
use super::*;
use crate::support::databases::{TestDatabase, databases, sqlite};
use crate::web::person::{Person, text};

const OPEN: &str = "sightline_circuits_open";

/// Starts an instance that asks `up`, which answers at once, and `down`, whose host refuses connections.
fn instance(catalog: &str, database: &TestDatabase) -> Server {
    let setup = Setup::real().flag("--no-builtin").flag("--allow-private-targets").flag("--host-retry=1h");
    setup.flag(catalog).database(&database.url).start()
}

/// Returns the instances that the database allows, the first of which has learnt from searches.
fn instances(site: &Site, database: &TestDatabase) -> Vec<Server> {
    let catalog = site.catalog(&modules(site, free_port()));
    let count = if database.name == "postgres" { 2 } else { 1 };
    let servers: Vec<Server> = (0..count).map(|_| instance(&catalog, database)).collect();
    for name in ["first", "second", "third", "fourth", "fifth"] {
        servers[0].finished(&servers[0].search("username", name));
    }
    assert!(has_learnt_deadline(&servers[0]) && has_open_circuit(&servers[0]), "{}", database.name);
    servers
}

/// Returns the learnt deadline of `up` in seconds. It is two seconds, and longer after a slow answer on a busy machine.
fn learnt_deadline(server: &Server) -> Option<f64> {
    let modules = server.get("/v1/modules").json();
    let up = modules["modules"].as_array().unwrap().iter().find(|module| module["id"] == "up").unwrap();
    up["health"]["deadline_ms"].as_u64().map(|millis| millis as f64 / 1000.0)
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
        let servers = instances(&site, &database);
        for server in &servers {
            eventually("every instance knows", || has_learnt_deadline(server) && has_open_circuit(server));
        }
        let cli = |arguments: &[&str]| servers[0].cli(arguments);
        let listed = format!("up      real  {:.1}s", learnt_deadline(&servers[0]).unwrap());
        eventually("the deadline is stored", || cli(&["deadline", "list"]).contains(&listed));
        eventually("the circuit is stored", || cli(&["circuit", "list"]).contains(DOWN));
        assert_eq!(cli(&["deadline", "reset", "up"]), "up\n");
        assert!(!cli(&["deadline", "list"]).contains("up"), "{}", cli(&["deadline", "list"]));
        for server in &servers {
            eventually("the instance has read the reset", || !has_learnt_deadline(server));
            assert!(has_open_circuit(server), "{}", database.name);
        }
        assert_eq!(cli(&["circuit", "reset", "--all"]).trim(), DOWN);
        for server in &servers {
            eventually("the instance has read the reset", || !has_open_circuit(server));
        }
        assert_eq!(cli(&["deadline", "reset", "--all"]), "", "nothing was learnt since");
        let audit = cli(&["audit"]);
        assert!(audit.contains("health.reset"), "{audit}");
    }
}

#[test]
fn an_operator_sees_and_resets_what_was_learnt_in_the_web_app() {
    const PAGE: &str = "/app/operator";
    const RESETS: [&str; 2] = ["/app/operator/circuits/reset", "/app/operator/deadlines/reset"];
    for database in databases() {
        let site = Site::start();
        let servers = instances(&site, &database);
        let [ann, bob] =
            ["ann@example.org", "bob@example.org"].map(|email| Person::signed_in(&servers[0], email, "pro"));
        servers[0].cli(&["account", "set-role", "--email", "ann@example.org", "--role", "operator"]);

        let page = text(&ann.get(PAGE));
        assert!(page.contains(&format!("<th scope=\"row\">{DOWN}</th>")), "{page}");
        assert!(page.contains("1 host, not asked"), "{page}");
        assert!(page.contains("1 of 2 modules have a deadline"), "{page}");
        assert!(page.contains("the configured deadline of 60.0 s"), "{page}");
        let learnt = format!("<td class=\"num\">{:.1} s</td>", learnt_deadline(&servers[0]).unwrap());
        assert!(page.contains(&learnt), "{page}");
        for path in RESETS {
            assert_eq!(bob.post("/app/account", path, &[]).status, 403, "{path}");
            assert_eq!(ann.post_as(path, &[("csrf", "wrong")], &[]).status, 403, "{path}");
        }
        assert!(has_learnt_deadline(&servers[0]) && has_open_circuit(&servers[0]));

        let reset = |path: &str, notice: &str| {
            let answer = ann.post(PAGE, path, &[]);
            assert_eq!((answer.status, answer.header("location")), (303, Some(PAGE)), "{answer}");
            let page = text(&ann.get(PAGE));
            assert!(page.contains(notice), "{page}");
            assert!(!page.contains(path), "nothing is left to reset: {page}");
        };
        reset(RESETS[0], "Searches ask all hosts again.");
        assert!(
            !has_open_circuit(&servers[0]) && has_learnt_deadline(&servers[0]),
            "it has an effect at once"
        );
        reset(RESETS[1], "The learnt deadlines are forgotten.");
        assert!(!has_learnt_deadline(&servers[0]), "it has an effect at once");
        for server in &servers {
            eventually("the instance has read the resets", || {
                !has_open_circuit(server) && !has_learnt_deadline(server)
            });
        }
        let page = text(&ann.get(PAGE));
        assert!(page.contains("No host is down") && page.contains("0 of 2 modules have"), "{page}");
        let audit = servers[0].cli(&["audit"]);
        assert!(audit.contains("health.reset"), "{audit}");
    }
}

#[test]
fn a_module_has_a_page_with_its_failures_and_what_was_learnt() {
    const UP: &str = "/app/operator/modules/up";
    const DOWN_PAGE: &str = "/app/operator/modules/down";
    let (site, database) = (Site::start(), sqlite());
    let servers = instances(&site, &database);
    let [ann, bob] =
        ["ann@example.org", "bob@example.org"].map(|email| Person::signed_in(&servers[0], email, "pro"));
    servers[0].cli(&["account", "set-role", "--email", "ann@example.org", "--role", "operator"]);

    let page = text(&ann.get(DOWN_PAGE));
    assert!(page.contains(&format!("<strong>{DOWN}</strong> is down since")), "{page}");
    assert!(page.contains("<td data-label=\"Reason\">connect</td>"), "{page}");
    assert!(page.contains("<dd>none</dd>"), "no account is known: {page}");
    for name in ["second", "third", "fourth", "fifth"] {
        assert!(!page.contains(name), "a query: {page}");
    }
    let circuits = format!("{DOWN_PAGE}/circuits/reset");
    let deadline = format!("{UP}/deadline/reset");
    for path in [&circuits, &deadline] {
        assert_eq!(bob.post("/app/account", path, &[]).status, 403, "{path}");
        assert_eq!(ann.post_as(path, &[("csrf", "wrong")], &[]).status, 403, "{path}");
    }
    assert_eq!(ann.post(UP, "/app/operator/modules/other/circuits/reset", &[]).status, 404);
    // A reset of one module leaves the others as they are.
    for path in [format!("{UP}/circuits/reset"), format!("{DOWN_PAGE}/deadline/reset")] {
        assert_eq!(ann.post(UP, &path, &[]).status, 303, "{path}");
    }
    assert!(has_learnt_deadline(&servers[0]) && has_open_circuit(&servers[0]));

    for (page, path) in [(DOWN_PAGE, &circuits), (UP, &deadline)] {
        let answer = ann.post(page, path, &[]);
        assert_eq!((answer.status, answer.header("location")), (303, Some(page)), "{answer}");
        let after = text(&ann.get(page));
        assert!(after.contains("It is reset for this module.") && !after.contains(path.as_str()), "{after}");
    }
    assert!(!has_learnt_deadline(&servers[0]) && !has_open_circuit(&servers[0]));
    let audit = servers[0].cli(&["audit"]);
    assert!(audit.contains("health.reset"), "{audit}");
}
