//! Results that get more sources, and readers that ask for what they have not read.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sightline::base::ids::RunId;
use sightline::model::drive::{Delta, Position, Write};
use sightline::model::entity::merge::{merge, name_source};
use sightline::model::run::ResultRecord;

use super::{Fixture, added, both_ended, result};

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
        name_source(&mut found, None);
        found
    };
    let mut record = of(0);
    for number in 1..modules {
        assert!(merge(&mut record, &of(number)));
    }
    record
}

impl Fixture {
    fn write(&self, run: RunId, batch: &Delta) {
        assert_eq!(self.store.save(run, self.me.lease(0), batch, Duration::ZERO).unwrap(), Write::Done);
    }

    /// Returns the results that a reader from revision `next` on gets, without those up to `left_out`.
    fn unread(&self, run: RunId, next: u64, left_out: u32) -> Vec<u32> {
        let at = Position { next, page: None };
        let changes = self.store.changes(run, self.account.id, at, left_out, 100).unwrap();
        changes.map_or_else(Vec::new, |it| it.results.iter().map(|record| record.id).collect())
    }
}

on_both! {
    fn a_try_whose_answer_was_lost_may_be_made_again_with_more_sources(f) {
        let run = f.started();
        f.write(run.id, &added(&[named_by(1, "a@x.example", 1), named_by(2, "b@x.example", 1)]));
        // The driver does not know that the write was accepted.
        let again = [named_by(1, "a@x.example", 4), named_by(2, "b@x.example", 1), named_by(3, "c@x.example", 1)];
        f.write(run.id, &Delta { revision: 2, ..added(&again) });
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), again);
        assert_eq!(f.summary(&run).total_results, 3);
        assert_eq!(f.unread(run.id, 2, 0), [1, 2, 3], "all that the newest try has written");
        // A try without any change: the driver's readers rely on its revision all the same.
        f.write(run.id, &Delta { revision: 3, ..added(&[named_by(7, "a@x.example", 1)]) });
        assert_eq!((f.summary(&run).revision, f.summary(&run).total_results), (3, 3));
    }

    fn a_batch_is_written_whole_or_not_at_all(f) {
        let run = f.started();
        let before = [named_by(1, "a@x.example", 1), named_by(2, "b@x.example", 1)];
        f.write(run.id, &added(&before));
        let mixed = Delta {
            revision: 2,
            added: vec![named_by(3, "c@x.example", 1), named_by(1, "taken@x.example", 1)],
            changed: vec![named_by(2, "b@x.example", 5)],
            reports: both_ended().reports,
            ..Delta::default()
        };
        assert!(!f.store.save(run.id, f.me.lease(0), &mixed, Duration::ZERO).unwrap_err().is_unavailable());
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), before);
        assert_eq!((f.summary(&run).total_results, f.summary(&run).revision), (2, 1));
        assert_eq!(f.store.modules(run.id).unwrap(), []);
    }

    fn a_reader_of_any_pace_gets_the_newest_results_and_each_report_once(f) {
        // Each step has new results, changed results, whether a module ends, and how many results a reader reads.
        let step = (0usize..3, prop::collection::vec(0usize..20, 0..4), any::<bool>(), 0usize..5);
        let mut runner = TestRunner::new(Config { cases: 12, failure_persistence: None, ..Config::default() });
        runner.run(&prop::collection::vec(step, 1..25), |steps| {
            let run = f.started();
            let (mut modules, mut state): (Vec<usize>, _) = (Vec::new(), Delta::default());
            let (mut at, mut has, mut ended): (_, Vec<ResultRecord>, usize) = (Position::default(), Vec::new(), 0);
            let last = steps.len() - 1;
            for (number, (new, touched, ends, most)) in steps.into_iter().enumerate() {
                let first = modules.len();
                modules.extend(std::iter::repeat_n(1, new));
                let touched: BTreeSet<usize> = touched.into_iter().filter(|at| *at < first).collect();
                touched.iter().for_each(|at| modules[*at] += 1);
                let of = |at: usize| named_by(u32::try_from(at).unwrap() + 1, &format!("{at}@x.example"), modules[at]);
                let mut delta = Delta {
                    revision: number as u64 + 1,
                    added: (first..modules.len()).map(of).collect(),
                    changed: touched.into_iter().map(of).collect(),
                    ..state
                };
                if ends {
                    delta.add_report(both_ended().reports[0].clone());
                }
                f.write(run.id, &delta);
                state = Delta { added: Vec::new(), changed: Vec::new(), reports: Vec::new(), ..delta };
                let (mut is_last, most) = (false, if number < last { most } else { 3 });
                while most > 0 && !is_last {
                    let changes = f.store.changes(run.id, run.account, at, 0, most).unwrap().unwrap();
                    for record in changes.results {
                        match has.binary_search_by_key(&record.id, |known| known.id) {
                            Ok(at) => has[at] = record,
                            Err(at) => {
                                prop_assert_eq!(at, has.len(), "new results come in the order of their ids");
                                has.push(record);
                            }
                        }
                    }
                    ended += changes.reports.len();
                    at = changes.end;
                    is_last = number < last || at == Position { next: changes.summary.revision + 1, page: None };
                }
            }
            prop_assert_eq!(has, f.store.results(run.id, 0, 1000).unwrap());
            prop_assert_eq!(ended as u32, state.progress.modules_completed);
            Ok(())
        }).unwrap();
    }
}
