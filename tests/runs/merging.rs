//! Entities that several modules find.

use std::collections::{BTreeMap, BTreeSet};

use sightline::model::entity::merge::sources;

use super::web::listed;
use super::*;

/// Returns `count` modules that find email addresses.
fn lists(kind: &str, count: usize) -> Vec<Value> {
    let emails = json!({"results": [{"type": "email", "each": "json:/*"}]});
    modules(kind, count).into_iter().map(|module| with(module, &emails)).collect()
}

/// Returns the modules that find each address.
fn named(kind: &str, count: usize) -> BTreeMap<String, BTreeSet<String>> {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for number in 0..count {
        for address in listed(number) {
            named.entry(address.to_lowercase()).or_default().insert(format!("{kind}-{number:03}"));
        }
    }
    named
}

fn modules_of(record: &ResultRecord) -> BTreeSet<String> {
    let all = sources(record);
    let modules: BTreeSet<String> = all.iter().map(|source| source.module.clone()).collect();
    assert_eq!(modules.len(), all.len(), "each module once: {record:?}");
    modules
}

fn entities(records: &[ResultRecord]) -> BTreeMap<String, BTreeSet<String>> {
    let shown: BTreeMap<_, _> = records
        .iter()
        .map(|record| (record.value.as_deref().unwrap().to_lowercase(), modules_of(record)))
        .collect();
    assert_eq!(shown.len(), records.len(), "each entity once");
    shown
}

fn are_sequential(records: &[ResultRecord]) -> bool {
    records.iter().map(|record| record.id).eq(1..=u32::try_from(records.len()).unwrap())
}

#[test]
fn a_crash_before_a_save_duplicates_nothing_and_takes_nothing_back() {
    let catalog = [lists("list", 8), lists("gatelist", 8)].concat();
    let first = bench(&catalog, config());
    let switch = Switch::of(&first.store);
    let run = first.start("alice");
    eventually("eight are done", || run.summary().progress.modules_completed == 8);
    let before = first.results(&run);
    assert_eq!(entities(&before), named("list", 8));
    // What is answered from now on cannot be stored, so nobody sees it.
    *switch.refused.lock() = Some("save");
    first.web.open_gate();
    eventually("all are asked", || (0..8).all(|at| first.web.asked(&format!("gatelist-{at:03}")) == 1));
    eventually("it was tried", || switch.refusals.load(Ordering::SeqCst) > 1);
    first.runs.shut_down(Instant::now() + PATIENCE);
    assert_eq!((first.results(&run), run.summary().progress.modules_completed), (before.clone(), 8));
    assert_eq!(first.store.modules(run.id()).unwrap().len(), 8);
    *switch.refused.lock() = None;
    let web = Arc::new(PlayedWeb::default());
    let second = first.another_process(&web);
    second.dispatch();
    let resumed = second.live(run.id()).expect("taken over");
    assert_eq!(first.results(&resumed), before, "nothing has changed");
    assert_eq!(resumed.summary().progress, run.summary().progress, "nothing is taken back");
    web.open_gate();
    assert!(has_ended(&resumed, Instant::now() + PATIENCE));
    assert_eq!(web.asked("list-000"), 0, "only what was not stored is asked");
    assert_eq!(web.asked("gatelist-000"), 1, "only what was not stored is asked");
    let after = first.results(&resumed);
    for (was, is) in before.iter().zip(&after) {
        assert_eq!(
            (was.id, &was.value, &was.source, was.created_at),
            (is.id, &is.value, &is.source, is.created_at)
        );
        assert!(modules_of(was).is_subset(&modules_of(is)));
    }
    let mut want = named("list", 8);
    for (address, modules) in named("gatelist", 8) {
        want.entry(address).or_default().extend(modules);
    }
    assert_eq!(entities(&after), want);
    assert!(are_sequential(&after));
}
