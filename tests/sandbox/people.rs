//! Simulated people, of whom it is known to whom each account belongs: searches over HTTP, and the leads, graphs and
//! people that the server makes of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};
use sightline::base::ids::RunId;
use sightline::model::run::{ResultRecord, Status};
use sightline::modules::query::{Query, SearchType};
use sightline::runs::people::people;
use sightline::runs::record::Findings;

use super::truth::{self, Account, GROUPS, Group, Role};
use crate::support::modules::builtin;
use crate::support::server::{Server, Setup};

/// The modules that know simulated people, so that the many searches ask no others.
pub(super) fn modules() -> BTreeSet<String> {
    let accounts = (1..=GROUPS).flat_map(|number| &truth::group(number).accounts);
    accounts.map(|account| account.module.clone()).collect()
}

/// A finished run.
struct Run {
    id: RunId,
    query: Query,
    results: Vec<ResultRecord>,
}

impl Run {
    fn new(server: &Server, number: usize, avatars: bool) -> Self {
        let query = name(number);
        let body = json!({"type": "username", "query": query, "wait": true, "modules": modules(), "avatars": avatars});
        let answer = server.post(&body);
        assert_eq!(answer.status, 200, "{answer}");
        let run = answer.json();
        assert_eq!(run["coverage"]["ratio"], 1.0, "{answer}");
        Self {
            id: run["run_id"].as_str().unwrap().parse().unwrap(),
            query: Query::parse(SearchType::Username, &query).unwrap(),
            results: serde_json::from_value(run["results"].clone()).unwrap(),
        }
    }

    fn get(&self, server: &Server, what: &str) -> Value {
        let answer = server.get(&format!("/v1/searches/{}/{what}", self.id));
        assert_eq!(answer.status, 200, "{answer}");
        answer.json()
    }

    fn findings(&self) -> Findings<'_> {
        Findings {
            run_id: self.id,
            query: self.query.clone(),
            depth: 0,
            status: Status::Completed,
            simulated: false,
            created_at: jiff::Timestamp::UNIX_EPOCH,
            results: &self.results,
            modules: &[],
        }
    }
}

/// The name of a group.
pub(super) fn name(number: usize) -> String {
    format!("person{number}")
}

/// An account as answers name it: its platform and its username.
pub(super) type Key = (String, String);

pub(super) fn key_in(shown: &Value) -> Option<Key> {
    Some((shown["platform"].as_str()?.to_owned(), shown["value"].as_str()?.to_lowercase()))
}

/// Pairs of accounts: joined rightly, joined wrongly, and shown by the pages but not joined.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    right: usize,
    wrong: usize,
    missed: usize,
}

impl Pairs {
    /// Compares the people in an answer with the truth about the accounts for which searches were made.
    pub(super) fn add(&mut self, truth: &Group, depth: usize, shown: &Value, number: usize) {
        let mut person_of: BTreeMap<Key, (usize, &Value)> = BTreeMap::new();
        for (at, person) in shown["people"].as_array().unwrap().iter().enumerate() {
            for account in person["accounts"].as_array().unwrap() {
                person_of.extend(key_in(account).map(|key| (key, (at, &account["band"]))));
            }
        }
        let accounts: Vec<&Account> =
            truth.accounts.iter().filter(|account| account.depth <= depth).collect();
        for (at, one) in accounts.iter().enumerate() {
            for other in &accounts[..at] {
                let found = (person_of.get(&one.key()), person_of.get(&other.key()));
                let joined = match found {
                    (Some((one, band)), Some((other, other_band))) if one == other => {
                        Some([band, other_band])
                    }
                    _ => None,
                };
                match joined {
                    Some(_) if one.owner == other.owner => self.right += 1,
                    Some(bands) => {
                        let are_confirmed = bands.iter().all(|band| **band == "confirmed");
                        let is_impostor = [one, other].iter().any(|it| it.role == Some(Role::Impostor));
                        assert!(!(is_impostor && are_confirmed), "{}: {shown}", name(number));
                        self.wrong += 1;
                    }
                    None if one.owner == other.owner && one.role.is_none() => {
                        println!("{}: missed {:?} {:?}", name(number), one.key(), other.key());
                        self.missed += 1;
                    }
                    None => {}
                }
            }
        }
    }

    /// Checks that the joined pairs are right and that most of the shown ones are joined.
    pub(super) fn check(&self, least: usize) {
        println!("{self:?}");
        let Self { right, wrong, missed } = *self;
        assert!(right >= least && wrong * 100 <= right + wrong, "{self:?}");
        assert!(missed * 10 <= right + missed, "{self:?}");
    }
}

/// Checks that the results are exactly the accounts of the group's name, and that the graph has every link between
/// them.
fn check_pages(truth: &Group, run: &Run, graph: &Value, number: usize) {
    let is_found = |account: &&Account| account.username == name(number);
    let expected: BTreeSet<Key> = truth.accounts.iter().filter(is_found).map(Account::key).collect();
    let profiles = run.results.iter().filter(|record| record.metadata.contains_key("profile_url"));
    let found: BTreeSet<Key> = profiles.filter_map(|record| key_in(&json!(record))).collect();
    assert_eq!(found, expected, "{}", name(number));
    let nodes = graph["nodes"].as_array().unwrap().iter();
    let ids: BTreeMap<Key, &str> =
        nodes.filter_map(|node| Some((key_in(node)?, node["id"].as_str().unwrap()))).collect();
    let edges = graph["edges"].as_array().unwrap().iter();
    let edges: HashSet<(&str, &str, &str)> = edges
        .map(|edge| ["from", "to", "class"].map(|member| edge[member].as_str().unwrap()))
        .map(|[from, to, class]| (from, to, class))
        .collect();
    for account in truth.accounts.iter().filter(is_found) {
        for to in account.links.iter().chain(&account.verified) {
            let other = truth.at(to);
            let is_mutual = other.links.contains(&account.module) && is_found(&other);
            let class = if account.verified.contains(to) || is_mutual { "verified" } else { "stated" };
            let link = (ids[&account.key()], ids[&other.key()], class);
            assert!(edges.contains(&link), "{}: {} {to} {class}", name(number), account.module);
        }
    }
}

#[test]
fn simulated_people_are_found_as_they_are() {
    let server = Setup::new().all_modules().start();
    let mut pairs = Pairs::default();
    for number in 1..=GROUPS {
        let truth = truth::group(number);
        let run = Run::new(&server, number, false);
        check_pages(truth, &run, &run.get(&server, "graph"), number);
        let shown = run.get(&server, "people");
        pairs.add(truth, 0, &shown, number);
        // The answer does not depend on the order of the results.
        let (middle, mut results) = (run.results.len() / 2, run.results.clone());
        results.rotate_left(middle);
        results[..middle].reverse();
        let turned = people(&[Findings { results: &results, ..run.findings() }], builtin().profiles());
        let turned = json!(turned);
        for member in ["people", "unattributed"] {
            assert_eq!(turned[member], shown[member], "{}", name(number));
        }
    }
    pairs.check(60);
}

/// Impostors copy pictures, and platforms give one picture to many accounts.
#[test]
fn pictures_join_the_accounts_of_one_person_only() {
    let server = Setup::new().all_modules().start();
    let (mut pairs, mut pictures) = (Pairs::default(), 0);
    for number in [1, 2, 4, 5] {
        let run = Run::new(&server, number, true);
        let has_picture = |record: &&ResultRecord| record.metadata.contains_key("avatar");
        pictures += run.results.iter().filter(has_picture).count();
        pairs.add(truth::group(number), 0, &run.get(&server, "people"), number);
    }
    assert!(pictures > 8, "{pictures}");
    pairs.check(12);
}
