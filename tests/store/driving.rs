//! The writes of drivers, and the right to drive.

use std::collections::BTreeMap;
use std::time::Duration;

use sightline::base::ids::RunId;
use sightline::model::audit::Origin;
use sightline::model::drive::{Claim, Write};
use sightline::model::run::Status;
use sightline::model::start::{NewRun, Started};

use super::{
    Fixture, HOLDS, added, at, both_ended, charge, claim, completed, failed, new_account, new_instance,
    once_connected, race, result,
};

impl Fixture {
    fn started_at(&self, moment: &str) -> NewRun {
        let run = NewRun { created_at: at(moment), ..self.new_run() };
        self.store.start(&run, &charge(1, None)).unwrap();
        run
    }
}

on_both! {
    fn a_known_result_stays_as_it_was_first_stored(f) {
        let run = f.started();
        f.store.save(run.id, f.me.lease(0), &added(&[result(1, "a")]), Duration::ZERO).unwrap();
        let mut again = result(2, "a");
        again.confidence = 0.1;
        f.store.save(run.id, f.me.lease(0), &added(&[again, result(3, "b"), result(4, "b")]), Duration::ZERO).unwrap();
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), [result(1, "a"), result(3, "b")]);
        assert_eq!(f.summary(&run).total_results, 2);
    }

    fn type_platform_and_value_make_a_profile_what_it_is(f) {
        let run = f.started();
        let mut others = vec![result(1, "a"); 5];
        others[1].platform = Some("GitLab".into());
        others[2].result_type = "account".into();
        others[3].value = None;
        others[4].value = Some(String::new());
        for (id, record) in (1..).zip(&mut others) {
            record.id = id;
            record.entity_type = record.result_type.clone();
        }
        f.store.save(run.id, f.me.lease(0), &added(&others), Duration::ZERO).unwrap();
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), others);
    }

    fn ten_threads_that_fail_one_run_refund_it_once(f) {
        f.started();
        let run = f.started();
        let writes = race(10, |_| f.finish(&run, &failed()));
        assert_eq!(writes.iter().filter(|write| **write == Write::Done).count(), 1);
        assert_eq!(f.used(), 1);
    }

    fn leases_are_dated_by_the_databases_clock(f) {
        // The clock of the instance does not matter.
        let run = NewRun { created_at: at("2100-01-01T00:00:00Z"), ..f.new_run() };
        f.store.start(&run, &charge(1, None)).unwrap();
        assert_eq!(f.store.take_over(&claim(new_instance(), false, 10)).unwrap().len(), 1);
        let run = NewRun { created_at: at("2001-01-01T00:00:00Z"), holds: HOLDS, ..f.new_run() };
        f.store.start(&run, &charge(1, None)).unwrap();
        assert_eq!(f.store.take_over(&claim(new_instance(), false, 10)).unwrap(), []);
    }

    fn an_instance_that_gets_a_run_back_writes_nothing_under_its_old_lease(f) {
        let (run, other) = (f.started(), new_instance());
        let old = f.me.lease(0);
        assert_eq!(f.store.take_over(&claim(other, false, 1)).unwrap()[0].lease, other.lease(1));
        f.store.release(other).unwrap();
        let new = f.store.take_over(&claim(f.me, false, 1)).unwrap()[0].lease;
        assert_eq!(new, f.me.lease(2));
        // Writes from before the driver stood still may arrive only now.
        let before = f.summary(&run);
        assert_eq!(f.store.save(run.id, old, &added(&[result(1, "a")]), HOLDS).unwrap(), Write::LeaseLost);
        assert_eq!(f.store.finish(run.id, old, &both_ended(), &failed()).unwrap(), Write::LeaseLost);
        assert_eq!((f.summary(&run), f.used()), (before, 1), "no result, no report, no end, no refund");
        assert_eq!(f.store.save(run.id, new, &added(&[result(1, "a")]), HOLDS).unwrap(), Write::Done);
        assert_eq!(f.store.finish(run.id, new, &both_ended(), &completed()).unwrap(), Write::Done);
    }

    fn a_run_with_a_turn_and_an_expired_lease_is_taken_over(f) {
        // An earlier version, which runs beside this one during an upgrade, leaves the turn of a run that it takes over.
        let run = f.started();
        f.database.execute("UPDATE runs SET turn = 1");
        assert_eq!((f.store.queue_length(false, None).unwrap().all, f.summary(&run).queue_position), (0, None));
        let fresh = Claim { expired: false, ..claim(f.me, false, 10) };
        assert!(f.store.take_over(&fresh).unwrap().is_empty());
        let taken = f.store.take_over(&claim(f.me, false, 10)).unwrap();
        assert_eq!(taken.iter().map(|run| run.lease).collect::<Vec<_>>(), [f.me.lease(1)]);
    }

    fn ten_starts_at_once_of_one_account_take_ten_turns(f) {
        let other = new_account("other@example.com");
        f.store.add_account(&other, &Origin::CLI).unwrap();
        let start = |account| {
            let run = NewRun { account, owner: None, ..f.new_run() };
            assert_eq!(once_connected(|| f.store.start(&run, &charge(1, None))), Started::Created);
            run
        };
        let runs = race(10, |_| start(f.account.id));
        let late = start(other.id);
        let mut positions: Vec<_> = runs.iter().map(|run| f.summary(run).queue_position).collect();
        positions.sort_unstable();
        let others = std::iter::once(1).chain(3..=11).map(Some).collect::<Vec<_>>();
        let late = f.store.run(late.id, other.id).unwrap().unwrap().queue_position;
        assert_eq!((late, positions), (Some(2), others));
    }

    fn instances_that_race_take_each_run_over_once(f) {
        let runs: Vec<NewRun> = (0..40).map(|_| f.started()).collect();
        let another = f.another();
        let takes = race(8, |index| {
            let store = if index % 2 == 0 { &f.store } else { &another };
            let me = new_instance();
            let mut mine = Vec::new();
            loop {
                let taken = once_connected(|| store.take_over(&claim(me, false, 3)));
                if taken.is_empty() {
                    return mine;
                }
                mine.extend(taken.into_iter().map(|run| run.summary.id));
            }
        });
        let mut times: BTreeMap<RunId, usize> = BTreeMap::new();
        for id in takes.into_iter().flatten() {
            *times.entry(id).or_default() += 1;
        }
        assert_eq!(times.len(), runs.len());
        assert!(times.values().all(|count| *count == 1), "{times:?}");
    }

    fn a_run_that_cannot_be_read_ends_and_does_not_stop_the_others(f) {
        let (bad, good) = (f.started_at("2026-03-01T12:00:01Z"), f.started_at("2026-03-01T12:00:02Z"));
        f.database.execute("UPDATE runs SET planned = '{}' WHERE created_at = (SELECT min(created_at) FROM runs)");
        let other = new_instance();
        let taken = f.store.take_over(&claim(other, false, 10)).unwrap();
        assert_eq!(taken.iter().map(|run| run.summary.id).collect::<Vec<_>>(), [good.id]);
        let ended = f.summary(&bad);
        assert_eq!((ended.status, ended.credits_charged), (Status::Failed, 0));
        assert_eq!(ended.error.unwrap().code, "store_failed");
        assert!(ended.completed_at.is_some_and(|moment| moment > bad.created_at));
        assert_eq!(f.used(), 1);
    }
}
