//! The writes of drivers, and the right to drive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sightline::base::ids::RunId;
use sightline::base::storage::StorageError;
use sightline::model::drive::{Claim, Delta, Write};
use sightline::model::run::Status;
use sightline::model::start::NewRun;

use super::model::ORDER;
use super::{HOLDS, added, at, both_ended, claim, completed, failed, new_instance, race, result};

on_both! {
    fn ten_threads_that_fail_one_run_refund_it_once(f) {
        f.started();
        let run = f.started();
        let writes = f.race(10, |store| store.finish(run.id, f.me.lease(0), &both_ended(), &failed()));
        assert_eq!(writes.iter().filter(|write| **write == Write::Done).count(), 1);
        assert_eq!(f.used(), 1);
    }

    fn leases_are_dated_by_the_databases_clock(f) {
        // The clock of the instance does not matter.
        f.start(NewRun { created_at: at("2100-01-01T00:00:00Z"), ..f.new_run() });
        assert!(f.store.take_over(&claim(new_instance(), false)).unwrap().is_some());
        f.start(NewRun { created_at: at("2001-01-01T00:00:00Z"), holds: HOLDS, ..f.new_run() });
        assert_eq!(f.store.take_over(&claim(new_instance(), false)).unwrap(), None);
    }

    fn an_instance_that_gets_a_run_back_writes_nothing_under_its_old_lease(f) {
        let (run, other) = (f.started(), new_instance());
        let old = f.me.lease(0);
        assert_eq!(f.store.take_over(&claim(other, false)).unwrap().unwrap().lease, other.lease(1));
        f.store.release(other).unwrap();
        let new = f.store.take_over(&claim(f.me, false)).unwrap().unwrap().lease;
        assert_eq!(new, f.me.lease(2));
        // Writes from before the driver stood still may arrive only now.
        let before = f.summary(&run);
        assert_eq!(f.store.save(run.id, old, &added(&[result(1, "a")]), HOLDS).unwrap(), Write::LeaseLost);
        assert_eq!(f.store.save(run.id, old, &Delta::default(), HOLDS).unwrap(), Write::LeaseLost, "not renewed");
        assert_eq!(f.store.finish(run.id, old, &both_ended(), &failed()).unwrap(), Write::LeaseLost);
        assert_eq!((f.summary(&run), f.used()), (before, 1), "no result, no report, no end, no refund");
        assert_eq!(f.store.save(run.id, new, &added(&[result(1, "a")]), HOLDS).unwrap(), Write::Done);
        assert_eq!(f.store.finish(run.id, new, &both_ended(), &completed()).unwrap(), Write::Done);
    }

    fn a_run_with_a_turn_and_an_expired_lease_is_taken_over(f) {
        // An earlier version, which runs beside this one during an upgrade, leaves the turn of a run that it takes over.
        let run = f.started();
        f.database.execute("UPDATE runs SET turn = 1");
        assert_eq!((f.store.queue_length(false, None).unwrap().0, f.summary(&run).queue_position), (0, None));
        let fresh = Claim { expired: false, ..claim(f.me, false) };
        assert_eq!(f.store.take_over(&fresh).unwrap(), None);
        let taken = f.store.take_over(&claim(f.me, false)).unwrap();
        assert_eq!(taken.map(|run| run.lease), Some(f.me.lease(1)));
    }

    fn ten_starts_at_once_of_one_account_take_ten_turns(f) {
        let other = f.add_account("other@example.com");
        let start = |account| f.start(NewRun { account, owner: None, ..f.new_run() });
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
        let mut taken = Vec::new();
        while taken.len() < runs.len() {
            let more = f.race(8, |store| store.take_over(&claim(new_instance(), false)));
            assert!(more.iter().any(Option::is_some), "{} of {}", taken.len(), runs.len());
            taken.extend(more.into_iter().flatten().map(|run| run.summary.id));
        }
        taken.sort_unstable();
        let mut ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        ids.sort_unstable();
        assert_eq!(taken, ids);
    }

    fn all_families_that_no_run_continues_are_listed(f) {
        f.finish(&f.started(), &completed());
        let started = || {
            let mut run = f.new_run();
            (run.search.follow, run.charge.allowed) = (Some(Arc::new(ORDER)), None);
            f.start(run).id
        };
        let mut idle: Vec<RunId> = (0..120).map(|_| started()).collect();
        f.database.execute("UPDATE runs SET status = 'completed'");
        started();
        let mut found: Vec<RunId> = f.store.idle_families(false).unwrap().into_iter().map(|(root, _)| root).collect();
        idle.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, idle);
    }

    fn a_confirmation_whose_answer_was_lost_is_repeated(f) {
        let tries = AtomicUsize::new(0);
        f.store.before_each(move |operation| match operation {
            "confirm" if tries.fetch_add(1, Ordering::Relaxed) == 0 => Err(StorageError::unavailable("lost").unconfirmed()),
            _ => Ok(()),
        });
        let run = NewRun { is_unconfirmed: true, owner: None, ..f.new_run() };
        let run = f.start(run);
        f.store.undo_unconfirmed(Duration::ZERO).unwrap();
        assert_eq!((f.summary(&run).status, f.used()), (Status::Running, 1));
    }
}
