//! What changed between two runs.

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::server::{Server, Setup};

fn search(server: &Server, query: &str, modules: &[&str]) -> String {
    let body = json!({"type": "username", "query": query, "modules": modules});
    let run = server.post(&body).json()["run_id"].as_str().unwrap().to_owned();
    server.finished(&run);
    run
}

fn diff(server: &Server, before: &str, after: &str) -> Value {
    let answer = server.get(&format!("/v1/searches/{before}/diff/{after}"));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

#[test]
fn a_module_that_took_no_part_makes_its_results_unknown() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let both = search(&server, "everybody", &["github", "gitlab"]);
        let again = search(&server, "@everybody", &["github", "gitlab"]);
        let one = search(&server, "everybody", &["github"]);
        let same = diff(&server, &both, &again);
        assert_eq!((&same["before"]["run_id"], &same["after"]["run_id"]), (&json!(both), &json!(again)));
        assert_eq!((&same["type"], &same["query"]), (&json!("username"), &json!("everybody")));
        let total = server.get(&format!("/v1/searches/{both}")).json()["total_results"].clone();
        let none = json!({"added": 0, "removed": 0, "changed": 0, "unknown": 0, "unchanged": total});
        assert_eq!(same["counts"], none, "{same}");
        assert_eq!((&same["modules_compared"], &same["modules_not_compared"]), (&json!(2), &json!(0)));

        let less = diff(&server, &both, &one);
        assert_eq!((&less["counts"]["removed"], &less["counts"]["added"]), (&json!(0), &json!(0)), "{less}");
        assert_eq!((&less["modules_compared"], &less["modules_not_compared"]), (&json!(1), &json!(1)));
        let unknown = less["unknown"].as_array().unwrap();
        assert!(!unknown.is_empty(), "{less}");
        for it in unknown {
            assert_eq!((&it["platform"], &it["after_id"]), (&json!("GitLab"), &Value::Null), "{it}");
            let undecided = json!([
                {"module": "gitlab", "run": "after", "cause": "not_asked", "status": null, "reason": null},
            ]);
            assert_eq!(it["undecided"], undecided, "{it}");
        }
        let more = diff(&server, &one, &both);
        assert_eq!(&more["counts"]["unknown"], &less["counts"]["unknown"]);
        assert_eq!(more["counts"]["added"], 0);
        assert_eq!(more["unknown"][0]["undecided"][0]["run"], "before", "{more}");

        // The stored rules are those of the live run.
        let server = server.restart(&[]);
        assert_eq!(diff(&server, &both, &again), same, "{}", database.name);
        assert_eq!(diff(&server, &both, &one), less, "{}", database.name);
    }
}
