//! Results that get more sources, readers that ask for changes, and databases of version 1.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sightline::base::ids::RunId;
use sightline::model::drive::{Changes, Delta, Write};
use sightline::model::entity::merge::{merge, name_source, sources};
use sightline::model::run::ResultRecord;

use super::{Fixture, added, completed, new_instance, result};

/// Returns an email address that was found by that many modules.
fn named_by(id: u32, value: &str, modules: usize) -> ResultRecord {
    let of = |number: usize| {
        let mut found = ResultRecord {
            result_type: "email".into(),
            entity_type: "email".into(),
            source: format!("m{number}"),
            platform: Some(format!("P{number}")),
            ..result(id, value)
        };
        name_source(&mut found);
        found
    };
    let mut record = of(0);
    for number in 1..modules {
        assert!(merge(&mut record, &of(number)));
    }
    record
}

fn changed(revision: u64, changed: Vec<ResultRecord>) -> Delta {
    Delta { revision, added: Vec::new(), changed }
}

impl Fixture {
    fn write(&self, run: RunId, batch: &Delta) {
        assert_eq!(self.store.add_results(run, self.me.lease(0), batch).unwrap(), Write::Done);
    }

    fn changed_ids(&self, run: RunId, since: Option<u64>, until: u64, after: u32) -> Vec<u32> {
        let changes = self.store.changes(run, Changes { since, known: u32::MAX, until, after }, 100).unwrap();
        changes.iter().map(|record| record.id).collect()
    }
}

on_both! {
    fn a_changed_result_keeps_its_id_and_is_counted_once(f) {
        let run = f.started();
        let [a, b] = [named_by(1, "a@x.example", 1), named_by(2, "b@x.example", 1)];
        f.write(run.id, &added(&[a.clone(), b]));
        let more = named_by(2, "b@x.example", 3);
        let new = named_by(3, "c@x.example", 1);
        f.write(run.id, &Delta { revision: 2, added: vec![new.clone()], changed: vec![more.clone()] });
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), [a, more, new]);
        let summary = f.summary(&run);
        assert_eq!((summary.total_results, summary.revision), (3, 2));
    }

    fn readers_ask_for_what_has_changed(f) {
        let run = f.started();
        let three: Vec<_> = (1..).zip(["a@x.example", "b@x.example", "c@x.example"]).map(|(id, value)| named_by(id, value, 1)).collect();
        f.write(run.id, &added(&three));
        f.write(run.id, &changed(2, vec![named_by(3, "c@x.example", 2)]));
        f.write(run.id, &changed(3, vec![named_by(1, "a@x.example", 2)]));
        f.write(run.id, &Delta { revision: 4, ..added(&[named_by(4, "d@x.example", 1)]) });
        assert_eq!(f.changed_ids(run.id, None, 4, 0), [1, 2, 3, 4]);
        assert_eq!(f.changed_ids(run.id, Some(1), 4, 0), [1, 3, 4]);
        assert_eq!(f.changed_ids(run.id, Some(1), 3, 0), [1, 3]);
        assert_eq!(f.changed_ids(run.id, Some(1), 4, 1), [3, 4]);
        assert_eq!(f.changed_ids(run.id, Some(4), 4, 0), Vec::<u32>::new());
        assert_eq!(f.changed_ids(RunId::new(), None, 9, 0), Vec::<u32>::new());
        assert_eq!(f.store.changes(run.id, Changes { since: None, known: 0, until: 4, after: 0 }, 2).unwrap().len(), 2);
        // Stored as it is given: the driver may have told its readers of this write and of no other.
        f.write(run.id, &changed(5, vec![named_by(1, "a@x.example", 2)]));
        assert_eq!((f.changed_ids(run.id, Some(4), 5, 0), f.summary(&run).revision), (vec![1], 5));
    }

    fn a_try_whose_answer_was_lost_may_be_made_again_with_more_sources(f) {
        let run = f.started();
        f.write(run.id, &added(&[named_by(1, "a@x.example", 1), named_by(2, "b@x.example", 1)]));
        // The driver does not know that the write was accepted.
        let again = [named_by(1, "a@x.example", 4), named_by(2, "b@x.example", 1), named_by(3, "c@x.example", 1)];
        f.write(run.id, &Delta { revision: 2, ..added(&again) });
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), again);
        assert_eq!(f.summary(&run).total_results, 3);
        assert_eq!(f.changed_ids(run.id, Some(1), 2, 0), [1, 2, 3], "all that the newest try has written");
        // A try without any change: the driver's readers rely on its revision all the same.
        f.write(run.id, &Delta { revision: 3, ..added(&[named_by(7, "a@x.example", 1)]) });
        assert_eq!((f.summary(&run).revision, f.summary(&run).total_results), (3, 3));
    }

    fn results_of_a_writer_that_counts_no_revisions_are_read_by_their_ids(f) {
        let run = f.started();
        let all: Vec<_> = (1..).zip(["a@x.example", "b@x.example", "c@x.example"]).map(|(id, value)| named_by(id, value, 1)).collect();
        f.write(run.id, &added(&all[..1]));
        f.write(run.id, &Delta { revision: 0, ..added(&all[1..]) });
        assert_eq!(f.summary(&run).revision, 1, "never less than before");
        let ids = |known, after| {
            let changes = Changes { since: Some(1), known, until: 1, after };
            f.store.changes(run.id, changes, 100).unwrap().iter().map(|record| record.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(1, 0), [2, 3]);
        assert_eq!(ids(2, 0), [3]);
        assert_eq!(ids(1, 2), [3]);
        assert_eq!(ids(3, 0), Vec::<u32>::new());
    }

    fn a_new_result_is_read_even_if_it_was_written_after_the_summary(f) {
        let run = f.started();
        f.write(run.id, &added(&[named_by(1, "a@x.example", 1), named_by(2, "b@x.example", 1)]));
        f.write(run.id, &changed(2, vec![named_by(1, "a@x.example", 2), named_by(2, "b@x.example", 2)]));
        let changes = Changes { since: Some(0), known: 1, until: 1, after: 0 };
        let ids: Vec<u32> = f.store.changes(run.id, changes, 100).unwrap().iter().map(|record| record.id).collect();
        assert_eq!(ids, [2], "the first is known to the reader, and its change comes later");
    }

    fn a_change_is_written_by_the_driver_alone(f) {
        let run = f.started();
        let before = named_by(1, "a@x.example", 1);
        f.write(run.id, &added(std::slice::from_ref(&before)));
        let batch = changed(2, vec![named_by(1, "a@x.example", 2)]);
        assert_eq!(f.store.add_results(run.id, new_instance().lease(0), &batch).unwrap(), Write::LeaseLost);
        f.finish(&run, &completed());
        assert_eq!(f.store.add_results(run.id, f.me.lease(0), &batch).unwrap(), Write::LeaseLost);
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), [before]);
    }

    fn a_batch_is_written_whole_or_not_at_all(f) {
        let run = f.started();
        let before = [named_by(1, "a@x.example", 1), named_by(2, "b@x.example", 1)];
        f.write(run.id, &added(&before));
        let mixed = Delta {
            revision: 2,
            added: vec![named_by(3, "c@x.example", 1), named_by(1, "taken@x.example", 1)],
            changed: vec![named_by(2, "b@x.example", 5)],
        };
        assert!(!f.store.add_results(run.id, f.me.lease(0), &mixed).unwrap_err().is_unavailable());
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), before);
        assert_eq!((f.summary(&run).total_results, f.summary(&run).revision), (2, 1));
    }

    fn an_interrupted_run_tells_the_next_driver_its_revision_and_sources(f) {
        let run = f.started();
        f.write(run.id, &added(&[named_by(1, "a@x.example", 1)]));
        f.write(run.id, &changed(7, vec![named_by(1, "a@x.example", 3)]));
        let taken = f.another().take_over(&super::claim(new_instance(), false, 10)).unwrap();
        assert_eq!(taken[0].summary, f.summary(&run));
        assert_eq!(taken[0].summary.revision, 7);
        assert_eq!(sources(&taken[0].results[0]).len(), 3);
    }

    fn a_follower_of_any_pace_sees_every_change_once(f) {
        // Each step has new results, changed results, and whether a reader looks.
        let steps = prop::collection::vec((0usize..3, prop::collection::vec(0usize..20, 0..4), any::<bool>()), 1..25);
        let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
        runner.run(&steps, |steps| {
            let run = f.started();
            let mut modules: Vec<usize> = Vec::new();
            let (mut seen, mut has): (Option<u64>, Vec<ResultRecord>) = (None, Vec::new());
            let last = steps.len() - 1;
            for (number, (new, touched, looks)) in steps.into_iter().enumerate() {
                let first = modules.len();
                modules.extend(std::iter::repeat_n(1, new));
                let mut touched: Vec<usize> = touched.into_iter().filter(|at| *at < first).collect();
                touched.sort_unstable();
                touched.dedup();
                touched.iter().for_each(|at| modules[*at] += 1);
                let of = |at: usize| named_by(u32::try_from(at).unwrap() + 1, &format!("{at}@x.example"), modules[at]);
                f.write(run.id, &Delta {
                    revision: number as u64 + 1,
                    added: (first..modules.len()).map(of).collect(),
                    changed: touched.into_iter().map(of).collect(),
                });
                if !looks && number < last {
                    continue;
                }
                let until = f.summary(&run).revision;
                for record in f.store.changes(run.id, Changes { since: seen, known: has.last().map_or(0, |last| last.id), until, after: 0 }, 100).unwrap() {
                    match has.binary_search_by_key(&record.id, |known| known.id) {
                        Ok(at) => {
                            prop_assert_ne!(&has[at], &record, "told again without a change");
                            has[at] = record;
                        }
                        Err(at) => has.insert(at, record),
                    }
                }
                seen = Some(until);
            }
            prop_assert_eq!(has, f.store.results(run.id, 0, 1000).unwrap());
            Ok(())
        }).unwrap();
    }
}
