//! The checks after all kills: every search has ended with all results, and was charged once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::clients::{Client, World};
use super::lives::{Deaths, Scene};
use super::site::{GHOST, Question, known_of};
use crate::outages::kit::has_no_faults;

/// Prints the figures, and fails if something was lost, duplicated or queried again unnecessarily.
pub(super) fn all_is_well(scene: &Scene, world: &World, deaths: &Deaths) {
    let mut client = Client::new(world, 0);
    let runs = runs_by_name(&mut client);
    let taken = world.taken.lock().clone();
    let lost_orders = taken.iter().filter(|(name, run)| runs.get(name) != Some(run)).count();
    let lost: usize = runs.iter().map(|(name, run)| missing_results(&mut client, world, name, run)).sum();
    let (again, moved) = asked_again(&scene.site.book(), deaths);
    let charges = scene.database.number("SELECT count(*) FROM charges WHERE kind = 'charge'");
    let resumed = scene.database.number("SELECT count(*) FROM runs WHERE epoch > 0");
    println!(
        "{} runs ({resumed} resumed, {moved} through several lives; {} orders not known to be taken, {} requests broken \
         off), {} results; runs lost {lost_orders}, results lost {lost}, charges doubled {}; {again} checks repeated, and \
         none of {} in a checkpoint",
        runs.len(),
        world.unsure.lock().len(),
        world.broken_off.load(Ordering::Relaxed),
        world.sightings.results(),
        charges - runs.len() as i64,
        deaths.checkpointed.len(),
    );
    assert_eq!((lost_orders, lost), (0, 0));
    assert!(resumed > 0 && moved > 0 && !deaths.checkpointed.is_empty(), "no kill disturbed anyone");
    everyone_is_known(world, &runs);
    is_paid_once(scene, &mut client, runs.len());
    let log = scene.program.logged();
    assert!(!log.contains("panicked"), "{log}");
}

/// Fails where a site was queried twice in one life, or again for an answer in a checkpoint. Returns how many checks were
/// repeated, and how many searches had requests from several processes.
fn asked_again(book: &[Question], deaths: &Deaths) -> (usize, usize) {
    let mut lives: HashMap<(&str, &str), BTreeSet<usize>> = HashMap::new();
    let mut of_names: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for question in book {
        let is_new = lives.entry((&question.name, &question.module)).or_default().insert(question.life);
        assert!(is_new, "asked twice in one life: {question:?}");
        of_names.entry(&question.name).or_default().insert(question.life);
    }
    for (life, name, module) in &deaths.checkpointed {
        let last = lives.get(&(name.as_str(), module.as_str())).and_then(BTreeSet::last);
        assert!(
            last.is_none_or(|last| last <= life),
            "{module} was asked again for {name}, and life {life} had left its answer in a checkpoint"
        );
    }
    (book.len() - lives.len(), of_names.values().filter(|lives| lives.len() > 1).count())
}

/// Returns all runs of the account by the name that they search. Each was created once, however often its order was
/// sent.
fn runs_by_name(client: &mut Client<'_>) -> BTreeMap<String, String> {
    let (mut runs, mut page) = (BTreeMap::new(), client.get("/searches?limit=100"));
    loop {
        for run in page["searches"].as_array().unwrap() {
            let [name, id] = ["query", "run_id"].map(|field| run[field].as_str().unwrap().to_owned());
            let other = runs.insert(name, id);
            assert_eq!(other, None, "one order made two runs: {run}");
        }
        let Some(cursor) = page["next_cursor"].as_str() else { return runs };
        page = client.get(&format!("/searches?limit=100&cursor={cursor}"));
    }
}

/// Returns how many results of a run are missing. Fails if it has not ended correctly, or lacks results that readers
/// saw.
fn missing_results(client: &mut Client<'_>, world: &World, name: &str, run: &str) -> usize {
    let was_followed = world.taken.lock().iter().any(|(_, taken)| taken == run);
    if !was_followed {
        client.wait_for(run);
    }
    let before = world.sightings.of(run);
    let shown = client.get(&format!("/searches/{run}"));
    world.sightings.whole(run, &shown, &before);
    let all = world.sightings.of(run);
    assert!(!was_followed || before.results == all.results, "readers saw {before:?} of {shown}");
    if shown["error"]["code"] == "store_failed" {
        // The kill came before the start was confirmed, and so before its answer.
        assert!(world.unsure.lock().contains(&name.to_owned()), "{shown}");
        assert_eq!((&shown["credits_charged"], &shown["total_results"]), (&0.into(), &0.into()), "{shown}");
        return 0;
    }
    let is_ghost = name.starts_with(GHOST);
    let wanted = if is_ghost { "failed" } else { "completed" };
    assert_eq!(shown["status"], wanted, "{shown}");
    assert_eq!(shown["credits_charged"], u64::from(!is_ghost), "{shown}");
    let (found, known) = (all.values(), known_of(name));
    assert!(found.is_subset(&known), "{found:?}");
    known.difference(&found).count()
}

/// Checks that every order of a client is a run, except unrepeatable ones whose answer was lost.
fn everyone_is_known(world: &World, runs: &BTreeMap<String, String>) {
    let taken: BTreeSet<String> = world.taken.lock().iter().map(|(name, _)| name.clone()).collect();
    let unsure: BTreeSet<String> = world.unsure.lock().iter().cloned().collect();
    let others: Vec<&String> =
        runs.keys().filter(|name| !taken.contains(*name) && !unsure.contains(*name)).collect();
    assert!(others.is_empty(), "nobody ordered {others:?}");
}

/// Checks that each run has one charge, each failed run one refund, and that the balance agrees.
fn is_paid_once(scene: &Scene, client: &mut Client<'_>, runs: usize) {
    let count = |sql: &str| scene.database.number(&format!("SELECT count(*) FROM {sql}"));
    let runs = runs as i64;
    let failed = count("runs WHERE status = 'failed'");
    assert_eq!(count("runs"), runs);
    assert_eq!(count("charges WHERE kind = 'charge' AND credits = 1"), runs);
    assert_eq!(count("charges WHERE kind = 'refund' AND credits = 1"), failed);
    assert_eq!(count("charges"), runs + failed);
    let credits: Value = client.get("/credits");
    assert_eq!(credits["credits_used"], runs - failed, "{credits}");
    has_no_faults(|sql| scene.database.number(sql));
}
