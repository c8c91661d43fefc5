//! Who the accounts of a run belong to.

use serde_json::Value;

use crate::support::databases::databases;
use crate::support::server::{Server, Setup};

fn people(server: &Server, run: &str) -> Value {
    let answer = server.get(&format!("/v1/searches/{run}/people"));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

#[test]
fn people_are_explained_and_the_same_after_a_restart() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let run = server.search("email", "everybody@example.com");
        server.finished(&run);
        let before = people(&server, &run);
        let (all, person) = (before["people"].as_array().unwrap(), &before["people"][0]);
        assert_eq!(
            (before["count"].as_u64(), &before["run_id"]),
            (Some(all.len() as u64), &Value::from(run.as_str()))
        );
        assert_eq!(person["band"], "confirmed", "{person}");
        assert!(person["emails"].as_array().unwrap().contains(&"everybody@example.com".into()), "{person}");
        let accounts = person["accounts"].as_array().unwrap();
        let ids: Vec<&Value> = accounts.iter().map(|account| &account["id"]).collect();
        let evidence = person["evidence"].as_array().unwrap();
        assert!(accounts.len() > 5 && evidence.len() >= accounts.len() - 1, "{person}");
        for reason in evidence {
            assert!(reason["accounts"].as_array().unwrap().iter().all(|id| ids.contains(&id)), "{reason}");
            assert!(!reason["results"].as_array().unwrap().is_empty(), "{reason}");
        }
        let server = server.restart(&[]);
        assert_eq!(people(&server, &run), before, "{}", database.name);
    }
}
