//! Starting a run: charge, run and idempotency key are stored together or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;

use sightline::base::ids::RunId;
use sightline::model::coverage::Coverage;
use sightline::model::notes::RunNotes;
use sightline::model::run::{Progress, RunOptions, RunSummary, Status, TimeBudget};
use sightline::model::search::Search;
use sightline::model::start::{NewRun, Refused, Started};
use sightline::modules::catalog::Choice;
use sightline::modules::query::SearchType;

use super::{at, charge, once_connected, race, search, with_key};

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

    fn every_search_type_is_read_back(f) {
        for search_type in SearchType::ALL {
            let run = NewRun { search: Search { search_type, ..search("someone") }, ..f.new_run() };
            f.store.start(&run, &charge(1, None)).unwrap();
            assert_eq!(f.summary(&run).search_type, search_type);
        }
    }

    fn fifty_threads_cannot_spend_the_last_credit_twice(f) {
        for _ in 0..6 {
            f.started();
        }
        let another = f.another();
        let outcomes = race(50, |index| {
            let store = if index % 2 == 0 { &f.store } else { &another };
            once_connected(|| store.start(&f.new_run(), &charge(1, Some(7))))
        });
        let created = outcomes.iter().filter(|outcome| **outcome == Started::Created).count();
        let refused = outcomes.iter().filter(|o| **o == Started::Refused(Refused::InsufficientCredits { used: 7 })).count();
        assert_eq!((created, refused), (1, 49));
        assert_eq!(f.used(), 7);
        assert_eq!(f.database.number("SELECT count(*) FROM runs"), 7);
        assert_eq!(f.database.number("SELECT CAST(sum(credits) AS bigint) FROM charges"), 7);
    }

    fn twenty_threads_with_one_key_start_one_run(f) {
        let another = f.another();
        let outcomes = race(20, |index| {
            let store = if index % 2 == 0 { &f.store } else { &another };
            let run = with_key(f.new_run(), "key-1", 7);
            (run.id, once_connected(|| store.start(&run, &charge(1, None))))
        });
        let mut told: BTreeMap<RunId, usize> = BTreeMap::new();
        for (own, outcome) in &outcomes {
            match outcome {
                Started::Created => *told.entry(*own).or_default() += 1,
                Started::Repeated(id) => *told.entry(*id).or_default() += 1,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(told.into_values().collect::<Vec<_>>(), [20]);
        assert_eq!(outcomes.iter().filter(|(_, outcome)| *outcome == Started::Created).count(), 1);
        assert_eq!(f.used(), 1);
    }

    fn one_key_and_too_few_credits_still_starts_what_fits(f) {
        let outcomes = race(20, |index| {
            let run = with_key(f.new_run(), &format!("key-{}", index % 4), 7);
            once_connected(|| f.store.start(&run, &charge(1, Some(2))))
        });
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Started::Created).count(), 2);
        assert_eq!(f.used(), 2);
        assert_eq!(f.database.number("SELECT count(*) FROM idempotency_keys"), 2);
    }
}
