//! The writes of drivers, and the right to drive.

use std::collections::BTreeMap;
use std::time::Duration;

use sightline::base::ids::RunId;
use sightline::model::account::Account;
use sightline::model::audit::Origin;
use sightline::model::coverage::Coverage;
use sightline::model::credits::{Charge, Cycle};
use sightline::model::drive::{Checkpoint, Claim, Ending, Resumable, Write};
use sightline::model::run::{Progress, RunSummary, Status};
use sightline::model::search::Search;
use sightline::model::start::{NewRun, Refused, Started};

use super::{
    Fixture, HOLDS, added, at, charge, checkpoint, claim, completed, cycle, failed, new_account,
    new_instance, once_connected, race, result, search,
};

impl Fixture {
    fn started_at(&self, moment: &str) -> NewRun {
        let run = NewRun { created_at: at(moment), ..self.new_run() };
        self.store.start(&run, &charge(1, None)).unwrap();
        run
    }
}

on_both! {
    fn results_are_kept_in_order_and_counted(f) {
        let run = f.started();
        let all = [result(1, "a"), result(2, "b"), result(3, "c")];
        assert_eq!(f.store.add_results(run.id, f.me.lease(0), &added(&all[1..])).unwrap(), Write::Done);
        assert_eq!(f.store.add_results(run.id, f.me.lease(0), &added(&all[..1])).unwrap(), Write::Done);
        assert_eq!(f.store.add_results(run.id, f.me.lease(0), &added(&[])).unwrap(), Write::Done);
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), all);
        assert_eq!(f.summary(&run).total_results, 3);
    }

    fn a_batch_may_be_sent_again(f) {
        let run = f.started();
        let batch = [result(1, "a"), result(2, "b")];
        for _ in 0..3 {
            assert_eq!(f.store.add_results(run.id, f.me.lease(0), &added(&batch)).unwrap(), Write::Done);
        }
        let longer = [result(1, "a"), result(2, "b"), result(3, "c")];
        assert_eq!(f.store.add_results(run.id, f.me.lease(0), &added(&longer)).unwrap(), Write::Done);
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), longer);
        assert_eq!(f.summary(&run).total_results, 3);
    }

    fn a_known_result_stays_as_it_was_first_stored(f) {
        let run = f.started();
        f.store.add_results(run.id, f.me.lease(0), &added(&[result(1, "a")])).unwrap();
        let mut again = result(2, "a");
        again.confidence = 0.1;
        f.store.add_results(run.id, f.me.lease(0), &added(&[again, result(3, "b"), result(4, "b")])).unwrap();
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
        f.store.add_results(run.id, f.me.lease(0), &added(&others)).unwrap();
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), others);
    }

    fn a_new_result_under_a_taken_id_is_an_error_and_not_a_loss(f) {
        let run = f.started();
        f.store.add_results(run.id, f.me.lease(0), &added(&[result(1, "a")])).unwrap();
        let error = f.store.add_results(run.id, f.me.lease(0), &added(&[result(2, "b"), result(1, "c")])).unwrap_err();
        assert!(!error.is_unavailable(), "{error}");
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), [result(1, "a")]);
        assert_eq!(f.summary(&run).total_results, 1);
    }

    fn the_same_finding_in_two_runs_is_two_results(f) {
        for run in [f.started(), f.started()] {
            f.store.add_results(run.id, f.me.lease(0), &added(&[result(1, "a")])).unwrap();
            assert_eq!(f.store.results(run.id, 0, 10).unwrap().len(), 1);
        }
    }

    fn a_checkpoint_replaces_the_one_before(f) {
        let run = f.started();
        let early = Checkpoint {
            progress: Progress { modules_total: 2, modules_completed: 1, modules_with_hits: 1 },
            coverage: Coverage::of([sightline::modules::outcome::Outcome::Hit]),
            modules: checkpoint().modules[..1].to_vec(),
            lookups: Vec::new(),
        };
        for step in [&early, &checkpoint()] {
            let taken = f.store.checkpoint(run.id, f.me.lease(0), step, HOLDS).unwrap();
            assert_eq!(taken, Write::Done);
            let summary = f.summary(&run);
            assert_eq!((summary.progress, summary.coverage), (step.progress, step.coverage));
            assert_eq!(f.store.modules(run.id).unwrap(), step.modules);
            assert_eq!(summary.status, Status::Running);
        }
    }

    fn a_completed_run_costs_what_it_cost(f) {
        let run = f.started();
        f.store.add_results(run.id, f.me.lease(0), &added(&[result(1, "a")])).unwrap();
        let before = f.summary(&run);
        assert_eq!(f.finish(&run, &completed()), Write::Done);
        assert_eq!(f.summary(&run), RunSummary {
            status: Status::Completed,
            total_results: 1,
            revision: 1,
            progress: checkpoint().progress,
            coverage: checkpoint().coverage,
            completed_at: Some(at("2026-03-01T12:01:00.250Z")),
            ..before
        });
        assert_eq!(f.store.modules(run.id).unwrap(), checkpoint().modules);
        assert_eq!(f.used(), 1);
    }

    fn a_failed_run_gives_its_credits_back_once(f) {
        f.started();
        let run = NewRun { search: Search { premium: true, ..search("someone") }, ..f.new_run() };
        f.store.start(&run, &charge(2, Some(100))).unwrap();
        assert_eq!(f.used(), 3);
        assert_eq!(f.finish(&run, &failed()), Write::Done);
        for _ in 0..2 {
            assert_eq!(f.finish(&run, &failed()), Write::LeaseLost);
        }
        let summary = f.summary(&run);
        assert_eq!((summary.status, summary.credits_charged), (Status::Failed, 0));
        assert_eq!(summary.error, failed().error);
        assert_eq!(f.used(), 1);
        let refunds = "SELECT count(*) FROM charges WHERE kind = 'refund' AND credits = 2";
        assert_eq!(f.database.number(refunds), 1);
        assert_eq!(f.database.number("SELECT count(*) FROM charges"), 3);
    }

    fn ten_threads_that_fail_one_run_refund_it_once(f) {
        f.started();
        let run = f.started();
        let writes = race(10, |_| f.finish(&run, &failed()));
        assert_eq!(writes.iter().filter(|write| **write == Write::Done).count(), 1);
        assert_eq!(f.used(), 1);
    }

    fn a_refund_goes_to_the_cycle_that_paid(f) {
        let run = f.started();
        let next = Cycle { start: cycle().end, end: at("2026-04-15T10:00:00Z") };
        f.store.start(&f.new_run(), &Charge { cycle: next, ..charge(1, None) }).unwrap();
        let late = Ending { completed_at: at("2026-03-15T10:00:01Z"), ..failed() };
        assert_eq!(f.finish(&run, &late), Write::Done);
        assert_eq!((f.used(), f.store.credits_used(f.account.id, next).unwrap()), (0, 1));
    }

    fn a_refunded_credit_can_be_spent_again(f) {
        let run = f.new_run();
        f.store.start(&run, &charge(1, Some(1))).unwrap();
        f.finish(&run, &failed());
        let again = f.store.start(&f.new_run(), &charge(1, Some(1))).unwrap();
        assert_eq!(again, sightline::model::start::Started::Created);
    }

    fn a_run_cannot_end_as_running(f) {
        let run = f.started();
        let ending = Ending { status: Status::Running, ..completed() };
        assert!(f.store.finish(run.id, f.me.lease(0), &checkpoint(), &ending).is_err());
        assert_eq!(f.summary(&run).status, Status::Running);
    }

    fn nothing_is_written_to_a_run_that_ended(f) {
        let run = f.started();
        f.finish(&run, &completed());
        let before = (f.summary(&run), f.store.modules(run.id).unwrap());
        assert_eq!(f.store.add_results(run.id, f.me.lease(0), &added(&[result(1, "a")])).unwrap(), Write::LeaseLost);
        let empty = Checkpoint { modules: Vec::new(), ..checkpoint() };
        assert_eq!(f.store.checkpoint(run.id, f.me.lease(0), &empty, HOLDS).unwrap(), Write::LeaseLost);
        assert_eq!(f.finish(&run, &failed()), Write::LeaseLost);
        assert_eq!((f.summary(&run), f.store.modules(run.id).unwrap()), before);
        assert_eq!(f.used(), 1);
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), []);
    }

    fn a_write_without_the_lease_is_refused(f) {
        let run = f.started();
        let before = f.summary(&run);
        let unknown = RunId::new();
        for (id, lease) in [(run.id, new_instance().lease(0)), (unknown, f.me.lease(0)), (run.id, f.me.lease(1))] {
            assert_eq!(f.store.add_results(id, lease, &added(&[result(1, "a")])).unwrap(), Write::LeaseLost);
            assert_eq!(f.store.checkpoint(id, lease, &checkpoint(), HOLDS).unwrap(), Write::LeaseLost);
            assert_eq!(f.store.finish(id, lease, &checkpoint(), &failed()).unwrap(), Write::LeaseLost);
        }
        assert_eq!(f.summary(&run), before);
        assert_eq!((f.store.results(run.id, 0, 10).unwrap().len(), f.used()), (0, 1));
    }

    fn a_run_with_a_live_lease_is_left_alone(f) {
        let other = new_instance();
        // One run is held since its start, the other since a checkpoint.
        let held = NewRun { holds: HOLDS, ..f.new_run() };
        f.store.start(&held, &charge(1, None)).unwrap();
        let (driven, free) = (f.started(), f.started());
        f.store.checkpoint(driven.id, f.me.lease(0), &checkpoint(), HOLDS).unwrap();
        let taken = f.store.take_over(&claim(other, false, 10)).unwrap();
        assert_eq!(taken.iter().map(|run| run.summary.id).collect::<Vec<_>>(), [free.id]);
        // Each run is free once its lease has expired.
        f.store.checkpoint(driven.id, f.me.lease(0), &checkpoint(), Duration::ZERO).unwrap();
        assert_eq!(f.store.take_over(&claim(other, false, 10)).unwrap().len(), 1);
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

    fn an_instance_does_not_take_over_its_own_runs(f) {
        let (driven, lost) = (f.started(), f.started());
        let claim = Claim { except: &[driven.id], ..claim(f.me, false, 10) };
        let taken = f.store.take_over(&claim).unwrap();
        assert_eq!(taken.iter().map(|run| run.summary.id).collect::<Vec<_>>(), [lost.id]);
        assert_eq!(f.store.checkpoint(driven.id, f.me.lease(0), &checkpoint(), HOLDS).unwrap(), Write::Done);
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
        assert_eq!(f.store.add_results(run.id, old, &added(&[result(1, "a")])).unwrap(), Write::LeaseLost);
        assert_eq!(f.store.checkpoint(run.id, old, &checkpoint(), HOLDS).unwrap(), Write::LeaseLost);
        assert_eq!(f.store.finish(run.id, old, &checkpoint(), &failed()).unwrap(), Write::LeaseLost);
        assert_eq!((f.summary(&run), f.used()), (before, 1), "no result, no checkpoint, no end, no refund");
        assert_eq!(f.store.add_results(run.id, new, &added(&[result(1, "a")])).unwrap(), Write::Done);
        assert_eq!(f.store.finish(run.id, new, &checkpoint(), &completed()).unwrap(), Write::Done);
    }

    fn a_run_of_the_other_web_is_left_alone(f) {
        let real = f.started();
        let simulated = NewRun { simulated: true, ..f.new_run() };
        f.store.start(&simulated, &charge(1, None)).unwrap();
        let other = new_instance();
        for (web, run) in [(true, simulated.id), (false, real.id)] {
            let taken = f.store.take_over(&claim(other, web, 10)).unwrap();
            assert_eq!(taken.iter().map(|taken| taken.summary.id).collect::<Vec<_>>(), [run]);
        }
    }

    fn an_interrupted_run_is_taken_over_whole(f) {
        let run = f.new_run();
        f.store.start(&run, &charge(1, Some(100))).unwrap();
        let (results, other) = ([result(1, "a"), result(2, "b")], new_instance());
        f.store.add_results(run.id, f.me.lease(0), &added(&results)).unwrap();
        f.store.checkpoint(run.id, f.me.lease(0), &checkpoint(), Duration::ZERO).unwrap();
        let taken = f.another().take_over(&claim(other, false, 10)).unwrap();
        assert_eq!(taken, [Resumable {
            lease: other.lease(1),
            ran_for: taken[0].ran_for,
            summary: f.summary(&run),
            modules: run.modules.clone(),
            done: checkpoint().modules,
            lookups: checkpoint().lookups,
            results: results.to_vec(),
        }]);
        assert_eq!(taken[0].summary.total_results, 2);

        // The previous driver is fenced off; the new one drives, and no other takes the run from it.
        assert_eq!(f.store.add_results(run.id, f.me.lease(0), &added(&[result(3, "c")])).unwrap(), Write::LeaseLost);
        assert_eq!(f.finish(&run, &failed()), Write::LeaseLost);
        assert_eq!(f.store.take_over(&claim(f.me, false, 10)).unwrap(), []);
        assert_eq!(f.store.add_results(run.id, other.lease(1), &added(&[result(2, "b"), result(3, "c")])).unwrap(), Write::Done);
        assert_eq!(f.store.finish(run.id, other.lease(1), &checkpoint(), &completed()).unwrap(), Write::Done);
        assert_eq!(f.summary(&run).total_results, 3);
        assert_eq!(f.used(), 1);
    }

    fn a_released_run_is_free_at_once(f) {
        let (mine, done) = (f.started(), f.started());
        f.finish(&done, &completed());
        let other = new_instance();
        let theirs = NewRun { owner: Some(other), holds: HOLDS, ..f.new_run() };
        f.store.start(&theirs, &charge(1, None)).unwrap();
        f.store.checkpoint(mine.id, f.me.lease(0), &checkpoint(), HOLDS).unwrap();
        f.store.release(f.me).unwrap();
        // The run is free, and so does not belong to the instance that released it.
        assert_eq!(f.store.add_results(mine.id, f.me.lease(0), &added(&[result(1, "a")])).unwrap(), Write::LeaseLost);
        let taken = f.store.take_over(&claim(other, false, 10)).unwrap();
        assert_eq!(taken.iter().map(|run| run.summary.id).collect::<Vec<_>>(), [mine.id]);
        assert_eq!(f.store.add_results(theirs.id, other.lease(0), &added(&[result(1, "a")])).unwrap(), Write::Done);
    }

    fn the_oldest_are_taken_over_first_and_no_more_than_asked(f) {
        let second = f.started_at("2026-03-01T12:00:02Z");
        let third = f.started_at("2026-03-01T12:00:03Z");
        let first = f.started_at("2026-03-01T12:00:01Z");
        let other = new_instance();
        let take = |count| -> Vec<RunId> {
            let taken = f.store.take_over(&claim(other, false, count)).unwrap();
            taken.iter().map(|run| run.summary.id).collect()
        };
        assert_eq!(take(0), []);
        assert_eq!(take(2), [first.id, second.id]);
        assert_eq!(take(2), [third.id]);
        assert_eq!(take(2), []);
    }

    fn a_run_that_waits_is_nobodys_until_it_is_taken_over(f) {
        let run = NewRun { owner: None, ..f.new_run() };
        assert_eq!(f.store.start(&run, &charge(1, None)).unwrap(), Started::Created);
        assert_eq!(f.summary(&run).queue_position, Some(1));
        assert_eq!([false, true].map(|simulated| f.store.queue_length(simulated, None).unwrap().all), [1, 0]);
        assert_eq!(f.store.checkpoint(run.id, f.me.lease(0), &checkpoint(), HOLDS).unwrap(), Write::LeaseLost);
        // The run has no lease: it is free even where expired leases are not taken over.
        let interrupted = f.started();
        let fresh = Claim { expired: false, ..claim(f.me, false, 10) };
        let taken = f.store.take_over(&fresh).unwrap();
        assert_eq!(taken.iter().map(|run| (run.summary.id, run.lease)).collect::<Vec<_>>(), [(run.id, f.me.lease(0))]);
        assert_eq!(taken[0].ran_for, Duration::ZERO);
        assert_eq!((f.store.queue_length(false, None).unwrap().all, f.summary(&run).queue_position), (0, None));
        // From here on the run is like any other.
        let taken = f.store.take_over(&claim(new_instance(), false, 10)).unwrap();
        assert_eq!(taken.iter().map(|run| run.summary.id).collect::<Vec<_>>(), [interrupted.id]);
        f.store.release(f.me).unwrap();
        assert_eq!((f.store.queue_length(false, None).unwrap().all, f.summary(&run).queue_position), (0, None));
        assert_eq!(f.store.take_over(&claim(f.me, false, 10)).unwrap()[0].lease, f.me.lease(1));
    }

    fn interrupted_runs_go_on_before_those_that_wait_begin(f) {
        let waiting = ["2026-03-01T12:00:00Z", "2026-03-01T12:00:02Z"].map(|created_at| {
            let run = NewRun { owner: None, created_at: at(created_at), ..f.new_run() };
            f.store.start(&run, &charge(1, None)).unwrap();
            run.id
        });
        let interrupted = f.started_at("2026-03-01T12:00:01Z");
        let take = || f.store.take_over(&claim(new_instance(), false, 2)).unwrap();
        let ids = |taken: Vec<Resumable>| taken.into_iter().map(|run| run.summary.id).collect::<Vec<_>>();
        assert_eq!(ids(take()), [interrupted.id, waiting[0]]);
        assert_eq!(ids(take()), [waiting[1]]);
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

    fn as_many_runs_wait_as_may_and_the_next_costs_nothing(f) {
        let queued = |account: &Account| {
            let run = NewRun { account: account.id, owner: None, max_waiting: Some(2), ..f.new_run() };
            f.store.start(&run, &charge(1, None)).unwrap()
        };
        assert_eq!([queued(&f.account), queued(&f.account)], [Started::Created, Started::Created]);
        assert_eq!((queued(&f.account), f.used()), (Started::Refused(Refused::Overloaded), 2));
        let other = new_account("other@example.com");
        f.store.add_account(&other, &Origin::CLI).unwrap();
        assert_eq!([queued(&other), queued(&other)], [Started::Created, Started::Refused(Refused::Overloaded)]);
        // Runs with a driver do not count.
        f.store.take_over(&claim(f.me, false, 2)).unwrap();
        assert_eq!(queued(&f.account), Started::Created);
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

    fn what_is_not_confirmed_is_ended_and_refunded(f) {
        let driven = NewRun { is_unconfirmed: true, ..f.new_run() };
        let waiting = NewRun { owner: None, ..NewRun { id: RunId::new(), ..driven.clone() } };
        let confirmed = NewRun { id: RunId::new(), ..waiting.clone() };
        for run in [&driven, &waiting, &confirmed] {
            assert_eq!(f.store.start(run, &charge(1, Some(100))).unwrap(), Started::Created);
        }
        f.store.confirm_run(confirmed.id);
        let taken = f.store.take_over(&claim(new_instance(), false, 10)).unwrap();
        assert_eq!(taken.iter().map(|taken| taken.summary.id).collect::<Vec<_>>(), [confirmed.id]);
        assert_eq!((f.summary(&driven).status, f.used()), (Status::Failed, 2));
        // It may be confirmed yet, and is not taken before.
        f.store.undo_unconfirmed(Duration::from_secs(1_000_000_000)).unwrap();
        assert_eq!(f.summary(&waiting).status, Status::Running);
        f.store.undo_unconfirmed(Duration::ZERO).unwrap();
        assert_eq!((f.summary(&waiting).status, f.used()), (Status::Failed, 1));
        for run in [&driven, &waiting] {
            assert_eq!(f.summary(run).error.unwrap().code, "store_failed");
        }
        assert_eq!(f.store.checkpoint(driven.id, f.me.lease(0), &checkpoint(), HOLDS).unwrap(), Write::LeaseLost);
    }

    fn a_driver_confirms_its_run(f) {
        let run = NewRun { is_unconfirmed: true, ..f.new_run() };
        assert_eq!(f.store.start(&run, &charge(1, Some(100))).unwrap(), Started::Created);
        assert_eq!(f.store.checkpoint(run.id, f.me.lease(0), &checkpoint(), Duration::ZERO).unwrap(), Write::Done);
        assert_eq!(f.store.take_over(&claim(new_instance(), false, 10)).unwrap().len(), 1);
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
