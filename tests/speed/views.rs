//! Modules that are not asked, or not until the configured deadline, in all views of one search and after a restart.

use super::quarantine::QUARANTINED;
use super::*;
use crate::web::person::{PASSWORD, Person};

const EMAIL: &str = "ann@example.com";

fn start(server: &Server, query: &str, modules: &[&str], budget: Option<u64>) -> String {
    let mut body = json!({"type": "username", "query": query});
    if !modules.is_empty() {
        body["modules"] = json!(modules);
    }
    if let Some(seconds) = budget {
        body["time_budget"] = json!(seconds);
    }
    server.post(&body).json()["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn every_view_says_which_modules_were_cut_and_why() {
    for database in databases() {
        let site = Site::start();
        let [up, down] = up_and_down(&site);
        let mut lies = site.module("lies", 4);
        lies["control"] = json!(true);
        site.answer_at_once("lies", 200);
        let modules = [up, down, site.module("slow", 2), site.module("silent", 3), lies];
        let times = ["host-retry=1h", "quarantine-retry=1h", "control-ttl=0s"];
        let times = times.map(|time| format!("--times={time}"));
        let serve = || {
            let setup = setup_for(&site, &modules, &["--check-timeout=60s"]).flags(&times);
            setup.database(&database.url).start()
        };
        let mut server = serve();
        drop(Person::signed_in(&server, EMAIL, "pro"));
        let key = server.cli(&["key", "create", "--account", EMAIL]).trim().to_owned();
        server.key.clone_from(&key);
        // They open the circuit of `down`, put `lies` in quarantine and learn the deadline of `slow`.
        for _ in 0..5 {
            let run = start(&server, "alice", &["up", "down", "slow", "lies"], None);
            site.answer_one(200);
            server.finished(&run);
        }
        let learned = health(&server, "slow")["deadline_ms"].as_u64().unwrap();
        let run = start(&server, "bob", &[], Some(learned / 1000 + 8));
        let (broken, run_ended) = ended(&server, &run, "down");
        let (lying, _) = ended(&server, &run, "lies");
        let coverage = &run_ended["coverage"];
        let counts =
            ["checked", "miss", "down", "quarantined", "cut_by_learnt_deadline", "cut_by_time_budget"];
        assert_eq!(counts.map(|name| &coverage[name]), [5, 1, 1, 1, 1, 1], "{coverage}");
        assert_eq!((&broken["status"], &broken["reason"]), (&json!("error"), &json!("circuit_open")));
        assert_eq!((&lying["status"], &lying["reason"]), (&json!("unreliable"), &json!("quarantined")));
        assert!(!site.asked().contains(&("lies".to_owned(), "bob".to_owned())), "{:?}", site.asked());
        let (circuit, quarantine) = (health(&server, "down"), health(&server, "lies"));
        let (circuit, quarantine) = (&circuit["circuit"], &quarantine["quarantine"]);
        assert_eq!((circuit, &coverage["down_since"]), (&broken["circuit"], &circuit["open_since"]));
        assert!(circuit["next_try_at"].as_str() > circuit["open_since"].as_str(), "{circuit}");
        assert_eq!(quarantine["reason"], "control_hit");
        for time in ["open_since", "next_try_at"] {
            assert!(quarantine[time].is_string(), "{quarantine}");
            assert_eq!(quarantine[time], lying["circuit"][time], "{quarantine}");
        }
        let well = health(&server, "up");
        assert_eq!((&well["circuit"], &well["quarantine"]), (&Value::Null, &Value::Null));
        for reason in ["circuit_open", "quarantined", "learnt_deadline", "time_budget"] {
            let figure = server.figure(&format!("sightline_checks_cut_total{{reason=\"{reason}\"}}"));
            assert_eq!(figure.to_bits(), 1f64.to_bits(), "{reason}: {figure}");
        }

        let since = coverage["down_since"].as_str().unwrap()[..16].replace('T', " ");
        let cuts = format!(
            "1 not asked: down since {since} UTC; 1 not asked: in quarantine; 1 cut short: learned deadline; \
             1 cut short: time budget."
        );
        let report = server.get(&format!("/v1/searches/{run}/export?format=html"));
        assert!(String::from_utf8_lossy(&report.body).contains(&format!("<p>{cuts}</p>")), "{report}");
        let ann = Person::new(&server);
        assert_eq!(ann.sign_in(EMAIL, PASSWORD).status, 303);
        let answered = format!("1 of 5 sites gave an answer (20%). {cuts}");
        ann.shows(&format!("/app/searches/{run}"), |page| page.contains(&answered));

        // A named module is asked in any case.
        for (module, reason) in [("down", "connect"), ("lies", "control_hit")] {
            let named = start(&server, "carol", &[module], None);
            assert_eq!(ended(&server, &named, module).0["reason"], reason);
        }
        let list = || server.cli(&["health", "list"]);
        eventually("both are stored", || list().contains(DOWN) && list().contains("lies"));
        drop(server);
        let mut server = serve();
        server.key = key;
        for figure in ["sightline_circuits_open", QUARANTINED] {
            eventually("what was stored is read", || server.figure(figure) == 1.0);
        }
        let again = start(&server, "dave", &[], Some(learned / 1000 + 8));
        assert_eq!(ended(&server, &again, "down").0["reason"], "circuit_open", "{}", database.name);
        assert_eq!(ended(&server, &again, "lies").0["reason"], "quarantined", "{}", database.name);
    }
}
