//! Starting a run: charge, run and idempotency key are stored together or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sightline::base::storage::StorageError;
use sightline::model::coverage::Coverage;
use sightline::model::notes::RunNotes;
use sightline::model::run::{Progress, RunOptions, RunSummary, Status, TimeBudget};
use sightline::model::search::Search;
use sightline::model::start::{NewRun, Started};
use sightline::modules::catalog::Choice;
use sightline::modules::query::SearchType;

use super::{at, charge, search};

fn options() -> RunOptions {
    RunOptions {
        patient: true,
        time_budget: TimeBudget::from_secs(6),
        named: true,
        nsfw: true,
        passive: true,
        avatars: true,
    }
}

on_both! {
    fn a_started_run_is_stored_whole(f) {
        let choice = Choice { categories: vec!["coding".into()], nsfw: true, ..Choice::default() };
        let run =
            NewRun {
            search: Search { premium: true, options: options(), choice: choice.clone(), ..search(" @Someone ") },
            simulated: true,
            ..f.new_run()
        };
        assert_eq!(f.store.start(&run, &charge(2, Some(100))).unwrap(), Started::Created);
        assert_eq!(f.summary(&run), RunSummary {
            id: run.id,
            account: f.account.id,
            status: Status::Running,
            search_type: SearchType::Username,
            query: " @Someone ".into(),
            premium: true,
            options: options(),
            choice: Some(Arc::new(choice)),
            follow: None,
            family: None,
            watch: None,
            batch: None,
            retry_of: None,
            simulated: true,
            total_results: 0,
            revision: 0,
            progress: Progress { modules_total: 2, ..Progress::default() },
            coverage: Coverage::default(),
            credits_charged: 2,
            created_at: at("2026-03-01T12:00:00.123Z"),
            completed_at: None,
            stopped_at: None,
            error: None,
            queue_position: None,
            notes: RunNotes::default(),
        });
        assert_eq!(f.store.modules(run.id).unwrap(), []);
        assert_eq!(f.used(), 2);
    }

    fn a_driven_run_needs_no_confirmation(f) {
        f.refuse_confirmations();
        let run = NewRun { is_unconfirmed: true, ..f.new_run() };
        assert_eq!(f.store.start(&run, &charge(1, None)).unwrap(), Started::Created);
        f.store.save(run.id, f.me.lease(0), &super::added(&[]), Duration::ZERO).unwrap();
        // Its driver has stopped since.
        assert_eq!(f.store.take_over(&super::claim(super::new_instance(), false, 10)).unwrap().len(), 1);
        assert_eq!((f.summary(&run).status, f.used()), (Status::Running, 1));
    }

    fn a_confirmation_whose_answer_was_lost_is_repeated(f) {
        let tries = AtomicUsize::new(0);
        f.store.before_each(move |operation| match operation {
            "confirm" if tries.fetch_add(1, Ordering::Relaxed) == 0 => Err(StorageError::unavailable("lost").unconfirmed()),
            _ => Ok(()),
        });
        let run = NewRun { is_unconfirmed: true, owner: None, ..f.new_run() };
        assert_eq!(f.store.start(&run, &charge(1, None)).unwrap(), Started::Created);
        f.store.undo_unconfirmed(Duration::ZERO).unwrap();
        assert_eq!((f.summary(&run).status, f.used()), (Status::Running, 1));
    }
}
