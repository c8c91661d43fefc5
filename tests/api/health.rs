//! The health of modules: stored over restarts, and shared by processes.

use serde_json::Value;

use crate::support::databases::{TestDatabase, databases, postgres};
use crate::support::eventually;
use crate::support::server::{Server, Setup};

/// Returns the id and health of the modules that have been asked.
fn asked(server: &Server) -> Vec<(String, Value)> {
    let modules = server.get("/v1/modules").json();
    let modules = modules["modules"].as_array().unwrap().iter();
    let asked = modules.filter(|module| module["health"]["checks"] != 0);
    asked.map(|module| (module["id"].as_str().unwrap().to_owned(), module["health"].clone())).collect()
}

fn checks(asked: &[(String, Value)]) -> i64 {
    asked.iter().map(|(_, health)| health["checks"].as_i64().unwrap()).sum()
}

fn written(database: &TestDatabase) -> i64 {
    let sum = "SELECT CAST(coalesce(sum(CAST(document ->> 'checks' AS bigint)), 0) AS bigint) FROM learnt";
    database.number(&format!("{sum} WHERE kind = 'deadline'"))
}

#[test]
fn module_health_survives_a_restart_and_a_kill() {
    for database in databases() {
        let mut server =
            Setup::new().all_modules().database(&database.url).realistic().flag("--check-timeout=1s").start();
        for name in ["alice", "bob", "carol"] {
            server.finished(&server.search("username", name));
        }
        let before = asked(&server);
        let count = checks(&before);
        assert!(before.len() > 20 && count > 50, "{before:?}");
        for (module, health) in &before {
            assert_eq!(health["checks"], health["sample"], "{module}");
            let is_known =
                ["ok", "degraded", "blocked", "broken"].contains(&health["status"].as_str().unwrap());
            assert_eq!(is_known, health["checks"].as_i64() >= Some(3), "{module}: {health}");
            let rate = |name: &str| health[format!("{name}_rate")].as_f64().unwrap();
            let sum = rate("hit") + rate("miss") + rate("blocked") + rate("error");
            assert!((sum - 1.0).abs() < 0.01, "{health}");
            assert_eq!(rate("hit") > 0.0, health["last_hit_at"].is_string(), "{health}");
            assert_eq!(
                rate("hit") + rate("miss") > 0.0,
                health["last_conclusive_at"].is_string(),
                "{health}"
            );
            assert!(health["last_checked_at"].is_string() && health["latency_ms"].is_u64(), "{health}");
        }
        assert!(server.terminate().success());
        assert_eq!(written(&database), count, "written at the shutdown");
        let mut server = server.restart(&[]);
        assert_eq!(asked(&server), before, "{}", database.name);

        // Stored data survives a kill.
        server.finished(&server.search("username", "dave"));
        let before = asked(&server);
        assert!(checks(&before) > count);
        eventually("it is written", || written(&database) == checks(&before));
        server.kill();
        let server = server.restart(&[]);
        assert_eq!(asked(&server), before, "{}", database.name);

        // Health of the simulated web is separate from that of the real one.
        drop(server);
        let real = Setup::real().database(&database.url).start();
        assert_eq!(asked(&real), [], "{}", database.name);
    }
}

mod postgres {
    use super::*;

    #[test]
    fn the_counts_of_processes_on_one_database_are_added() {
        let database = postgres();
        // Without delays and faults: a check that a busy machine cannot run in time would not count.
        let servers: Vec<Server> = (0..2).map(|_| Setup::new().database(&database.url).start()).collect();
        let runs: Vec<String> = servers.iter().map(|server| server.search("username", "alice")).collect();
        for (server, run) in servers.iter().zip(&runs) {
            server.finished(run);
        }
        for server in &servers {
            eventually("each shows the checks of both", || {
                let asked = asked(server);
                !asked.is_empty() && asked.iter().all(|(_, health)| health["checks"] == 2)
            });
        }
        eventually("both show the same", || asked(&servers[0]) == asked(&servers[1]));
    }
}
