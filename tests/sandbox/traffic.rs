//! Concurrency, determinism, and documented names.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use sightline::modules::module::Module;
use sightline::modules::outcome::Outcome;
use sightline::modules::query::{Query, SearchType};
use sightline::sandbox::SandboxOptions;

use super::lab::{Lab, module};

fn sites(count: usize) -> Vec<Arc<Module>> {
    let rules = json!({
        "hit": [{"status": [200], "json": [{"at": "/login", "equals_query": true}]}],
        "miss": [{"status": [404]}],
        "result": {"type": "profile", "metadata": {"followers": "json:/followers", "name": "json:/name"}}
    });
    (0..count).map(|number| module(&format!("site{number}"), &rules)).collect()
}

#[test]
fn the_same_options_give_the_same_answers_and_another_seed_another_web() {
    let options = |seed| SandboxOptions { seed, ..SandboxOptions::perfect() };
    let answers = |seed| -> Vec<(Outcome, String)> {
        let lab = Lab::new(sites(40), options(seed));
        let queries =
            ["alice", "Bob-7", "café"].map(|name| Query::parse(SearchType::Username, name).unwrap());
        let all = lab.modules.iter().flat_map(|module| queries.iter().map(move |query| (module, query)));
        all.map(|(module, query)| lab.check(module, query))
            .map(|report| (report.outcome, format!("{:?}", report.findings)))
            .collect()
    };
    let first = answers(1);
    assert_eq!(first, answers(1));
    assert_ne!(first, answers(2));
    let hits = first.iter().filter(|(outcome, _)| *outcome == Outcome::Hit).count();
    assert!((10..80).contains(&hits), "{hits} of {} exist", first.len());
}

#[test]
fn the_default_web_has_sites_of_every_behavior() {
    let lab = Lab::new(sites(300), SandboxOptions { delay_scale: 0.0, ..SandboxOptions::default() });
    let everybody = Query::parse(SearchType::Username, "everybody").unwrap();
    // Silent sites take the whole deadline, so all checks run concurrently.
    let outcomes = outcomes_of(&lab, &everybody);
    let seen: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.as_str()).collect();
    let expected = ["blocked", "error", "hit", "rate_limited", "timeout", "unreliable"];
    assert_eq!(seen, expected.into_iter().collect());
    let hits = outcomes.iter().filter(|outcome| **outcome == Outcome::Hit).count();
    assert!(hits > 200, "{hits} hits of 300");
}

fn outcomes_of(lab: &Lab, query: &Query) -> Vec<Outcome> {
    let outcomes = std::sync::Mutex::new(Vec::new());
    lab.complaints(64, |module| {
        let report = lab.checker.check(module, query, Instant::now() + Duration::from_secs(20));
        outcomes.lock().unwrap().push(report.outcome);
        None
    });
    outcomes.into_inner().unwrap()
}
