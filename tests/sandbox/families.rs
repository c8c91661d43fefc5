//! Following leads from simulated people: what is found at each depth, and where the following ends.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::people::{Pairs, key_in, modules, name};
use super::truth::{self, GROUPS, Group};
use crate::support::awaited;
use crate::support::server::{Server, Setup};

/// Starts a search for the name of a group that follows its leads, and waits for the end of its family. Returns the
/// root.
fn followed(server: &Server, number: usize, follow: &Value) -> Value {
    let body = json!({"type": "username", "query": name(number), "modules": modules(), "follow": follow});
    let started = server.post(&body).json();
    awaited("the family ends", || {
        let answer = server.get(&format!("/v1/searches/{}", started["run_id"].as_str().unwrap()));
        let run = answer.json();
        if run["follow"]["status"] == "completed" { Ok(run) } else { Err(answer) }
    })
}

fn get(server: &Server, root: &Value, what: &str) -> Value {
    let answer = server.get(&format!("/v1/searches/{}/{what}", root["run_id"].as_str().unwrap()));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

/// Returns the queries of all searches of a family.
fn queries(server: &Server, root: &Value) -> BTreeSet<String> {
    let id = root["run_id"].as_str().unwrap();
    let all = server.get(&format!("/v1/searches?root_run_id={id}&limit=100")).json();
    let runs = all["searches"].as_array().unwrap().iter();
    runs.map(|run| run["query"].as_str().unwrap().to_owned()).collect()
}

/// Returns the names of a group that are to be searched at this depth.
fn names(truth: &Group, depth: usize) -> BTreeSet<String> {
    let accounts = truth.accounts.iter().filter(|account| account.depth <= depth);
    let usernames: BTreeSet<String> = accounts.map(|account| account.username.clone()).collect();
    // The address leads to an account one search before its username can be searched.
    let third = truth.accounts.iter().find(|account| account.depth == 3).map(|account| &account.username);
    let usernames = usernames.into_iter().filter(|name| depth >= 3 || Some(name) != third);
    let mailboxes = truth.mailboxes.iter().filter(|mailbox| mailbox.depth <= depth);
    let sites = truth.sites.iter().filter(|site| site.depth <= depth);
    let mailboxes = mailboxes.map(|mailbox| mailbox.name.clone());
    usernames.chain(mailboxes).chain(sites.map(|site| site.name.clone())).collect()
}

#[test]
fn each_further_search_finds_more_of_a_person() {
    let server = Setup::new().all_modules().start();
    let mut pairs = Pairs::default();
    for (number, depth) in [(8, 1), (8, 2), (8, 3)] {
        let truth = truth::group(number);
        let root = followed(&server, number, &json!({"depth": depth}));
        assert_eq!(queries(&server, &root), names(truth, depth), "{} at {depth}", name(number));
        let shown = get(&server, &root, "people");
        pairs.add(truth, depth, &shown, number);
        let found = truth.accounts.iter().filter(|account| account.depth <= depth);
        let nodes = get(&server, &root, "graph")["nodes"].clone();
        for account in found {
            let wanted = account.key();
            let node = nodes.as_array().unwrap().iter().find(|node| key_in(node).as_ref() == Some(&wanted));
            let results = node.and_then(|node| node["results"].as_array()).map(Vec::len);
            assert!(results > Some(0), "{} at {depth}: {wanted:?}: {node:?}", name(number));
        }
    }
    pairs.check(20);
}

#[test]
fn following_keeps_simulated_people_apart_and_ends() {
    let server = Setup::new().all_modules().start();
    let mut pairs = Pairs::default();
    for number in (1..=GROUPS).filter(|number| ![7, 8].contains(number)) {
        let truth = truth::group(number);
        let root = followed(&server, number, &json!({"depth": 3}));
        // The names at any depth are those of the group, so nothing else is searched.
        let all = names(truth, 3);
        assert!(queries(&server, &root).is_subset(&all), "{}: {root}", name(number));
        pairs.add(truth, 0, &get(&server, &root, "people"), number);
    }
    pairs.check(100);
    // Circles end, and link farms are bounded.
    let root = followed(&server, 6, &json!({"depth": 3}));
    assert_eq!((&root["follow"]["searches_started"], &root["follow"]["lookups"]), (&json!(0), &json!(0)));
    let root = followed(&server, 7, &json!({"depth": 3, "max_searches": 2}));
    let follow = &root["follow"];
    assert_eq!(
        (&follow["searches_started"], &follow["searches_completed"]),
        (&json!(2), &json!(2)),
        "{follow}"
    );
    let lookups = follow["lookups"].as_u64().unwrap();
    assert!((1..=100).contains(&lookups), "{follow}");
    assert!(follow["leads"]["not_followed"].as_u64() > Some(50), "{follow}");
    let mut pairs = Pairs::default();
    pairs.add(truth::group(7), 0, &get(&server, &root, "people"), 7);
    pairs.check(1);
}
