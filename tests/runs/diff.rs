//! What changed between two runs: generated pairs of runs of a web of which everything is known.

use std::collections::BTreeSet;

use sightline::model::diff::{Diff, Difference};
use sightline::model::entity::merge::SOURCES;
use sightline::model::refusal::Code;
use sightline::model::run::{ResultRecord, Status};
use sightline::modules::catalog::Catalog;
use sightline::modules::query::{Query, SearchType};
use sightline::runs::record::Findings;

use super::diff_world::{Made, World};
use crate::support::chance::Chance;
use crate::support::modules::builtin;

const PAIRS: u64 = 3_000;

fn run(made: &Made) -> Findings<'_> {
    Findings {
        run_id: made.run_id,
        query: Query::parse(SearchType::Username, "somebody").unwrap(),
        depth: 0,
        status: made.status,
        simulated: false,
        created_at: jiff::Timestamp::UNIX_EPOCH,
        results: &made.results,
        modules: &made.modules,
    }
}

fn diff(catalog: &Catalog, before: &Made, after: &Made) -> Diff {
    Diff::between(&run(before), &run(after), catalog.profiles()).unwrap()
}

/// Returns the diff without what depends only on the order of results.
fn without_ids(mut diff: Diff) -> Diff {
    for list in [&mut diff.added, &mut diff.removed, &mut diff.changed, &mut diff.unknown] {
        list.iter_mut().for_each(|it| (it.before_id, it.after_id) = (None, None));
    }
    diff
}

/// The differences of a kind that the diffs stated, and those that the world had in what the runs found.
#[derive(Debug, Default)]
struct Tally {
    stated: usize,
    real: usize,
}

#[test]
fn nothing_untrue_is_stated() {
    let catalog = builtin();
    let [mut added, mut removed, mut changed] = [(); 3].map(|()| Tally::default());
    let mut unknown = 0;
    for seed in 0..PAIRS {
        let world = World::new(seed);
        let [before, after] = &world.runs;
        let found = diff(catalog, before, after);
        for it in &found.removed {
            assert!(world.is_gone(it), "seed {seed}: {it:#?} was not removed");
        }
        for it in &found.added {
            assert!(world.is_new(it), "seed {seed}: {it:#?} was not added");
        }
        for it in &found.changed {
            assert!(!it.fields.is_empty());
            for field in &it.fields {
                assert!(world.has_changed(it, field), "seed {seed}: {} of {it:#?} is the same", field.name);
            }
        }
        // Whatever only one run has is stated or unknown, and nothing is listed twice.
        let lists = [&found.added, &found.removed, &found.changed, &found.unknown];
        let listed: Vec<(Option<u32>, Option<u32>)> =
            lists.into_iter().flatten().map(|it| (it.before_id, it.after_id)).collect();
        let befores: BTreeSet<u32> = listed.iter().filter_map(|(before, _)| *before).collect();
        assert_eq!(
            befores.len(),
            listed.iter().filter(|(before, _)| before.is_some()).count(),
            "seed {seed}"
        );
        let counts = found.counts;
        assert_eq!(
            before.results.len() + after.results.len(),
            counts.added
                + counts.removed
                + 2 * (counts.changed + counts.unchanged)
                + found
                    .unknown
                    .iter()
                    .map(|it| usize::from(it.before_id.is_some()) + usize::from(it.after_id.is_some()))
                    .sum::<usize>(),
            "seed {seed}"
        );
        for it in &found.unknown {
            assert!(!it.undecided.is_empty(), "seed {seed}: {it:#?}");
        }
        added.stated += found.added.len();
        removed.stated += found.removed.len();
        changed.stated += found.changed.len();
        unknown += found.unknown.len();
        let all = |kind: fn(&World, &Difference) -> bool, list: &[&Vec<Difference>]| {
            list.iter().flat_map(|list| list.iter()).filter(|it| kind(&world, it)).count()
        };
        added.real += all(World::is_new, &[&found.added, &found.unknown]);
        removed.real += all(World::is_gone, &[&found.removed, &found.unknown]);
        let differs = |world: &World, it: &Difference| {
            !it.fields.is_empty() && it.fields.iter().all(|field| world.has_changed(it, field))
        };
        changed.real += all(differs, &[&found.changed, &found.unknown]);
    }
    println!("{added:?} added, {removed:?} removed, {changed:?} changed, {unknown} unknown");
    // Caution must not be an excuse for saying nothing.
    for (name, tally) in [("added", &added), ("removed", &removed), ("changed", &changed)] {
        assert!(tally.stated > 1_000 && tally.stated * 4 > tally.real, "{name}: {tally:?}");
    }
}

#[test]
fn everything_is_stated_if_nothing_went_wrong() {
    let catalog = builtin();
    let (mut stated, mut single) = (0, 0);
    for seed in 0..300 {
        let world = World::calm(seed);
        let [before, after] = &world.runs;
        let found = diff(catalog, before, after);
        for it in &found.unknown {
            assert!(
                it.undecided.iter().any(|module| module.cause.as_phrase().contains("sources")),
                "{it:#?}"
            );
            assert!(it.before_id.is_some() && it.after_id.is_some(), "seed {seed}: {it:#?}");
        }
        single += found.unknown.len();
        stated += found.added.len() + found.removed.len() + found.changed.len();
    }
    assert!(stated > 2_000 && single < stated, "{stated} stated, {single} not");
}

#[test]
fn order_ids_times_and_confidences_are_no_change() {
    let catalog = builtin();
    for seed in 0..500 {
        let world = World::new(seed);
        let [before, after] = &world.runs;
        let mut draw = Chance::new(seed);
        let again = shuffled(&mut draw, before, true);
        let counts = diff(catalog, before, &again).counts;
        assert_eq!(counts.added, 0, "seed {seed}");
        assert_eq!(counts.removed, 0, "seed {seed}");
        assert_eq!(counts.changed, 0, "seed {seed}");
        assert_eq!(counts.unknown, 0, "seed {seed}");
        let (first, other) = (shuffled(&mut draw, before, false), shuffled(&mut draw, after, false));
        let (plain, mixed) = (diff(catalog, before, after), diff(catalog, &first, &other));
        assert_eq!(without_ids(plain), without_ids(mixed), "seed {seed}");
    }
}

/// Returns the run with other ids, times and confidences, in another order; with `sources`, their order too.
fn shuffled(draw: &mut Chance, made: &Made, sources: bool) -> Made {
    let mut made = made.clone();
    shuffle(draw, &mut made.modules);
    shuffle(draw, &mut made.results);
    for (n, result) in made.results.iter_mut().enumerate() {
        result.id = u32::try_from(n).unwrap() + 1;
        result.confidence = 0.5 + 0.01 * f64::from(u8::try_from(draw.below(40)).unwrap());
        result.created_at = "2026-06-07T08:09:10Z".parse().unwrap();
        if sources {
            mix_sources(draw, result);
        }
    }
    shuffle(draw, &mut made.results);
    made
}

fn mix_sources(draw: &mut Chance, result: &mut ResultRecord) {
    let Some(list) = result.metadata.get_mut(SOURCES).and_then(|list| list.as_array_mut()) else { return };
    shuffle(draw, list);
    list.iter_mut().for_each(|source| source["confidence"] = 0.7.into());
    result.source = list[0]["module"].as_str().unwrap().to_owned();
}

pub(super) fn shuffle<T>(draw: &mut Chance, list: &mut [T]) {
    for end in (1..list.len()).rev() {
        list.swap(end, draw.below(end + 1));
    }
}

#[test]
fn only_ended_runs_of_one_query_are_compared() {
    let catalog = builtin();
    let world = World::calm(1);
    let [before, after] = &world.runs;
    let base = (run(before), run(after));
    let other = |query: &str| Query::parse(SearchType::Username, query).unwrap();
    let domain = Query::parse(SearchType::Domain, "example.com").unwrap();
    let cases = [
        (Findings { status: Status::Running, ..base.1.clone() }, Some(Code::RunNotEnded)),
        (Findings { query: other("somebodyelse"), ..base.1.clone() }, Some(Code::RunsDiffer)),
        (Findings { query: domain, ..base.1.clone() }, Some(Code::RunsDiffer)),
        (Findings { simulated: true, ..base.1.clone() }, Some(Code::RunsDiffer)),
        (Findings { query: other("@somebody"), ..base.1.clone() }, None),
        (Findings { status: Status::Failed, ..base.1.clone() }, None),
    ];
    for (after, wanted) in cases {
        let why = Diff::between(&base.0, &after, catalog.profiles()).err().map(|why| why.code);
        assert_eq!(why, wanted);
        let why = Diff::between(&after, &base.0, catalog.profiles()).err().map(|why| why.code);
        assert_eq!(why, wanted);
    }
}
