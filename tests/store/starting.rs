//! Starting a run: charge, run and idempotency key are stored together or not at all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sightline::base::ids::{AccountId, RunId};
use sightline::model::audit::Origin;
use sightline::model::coverage::Coverage;
use sightline::model::credits::{Charge, Cycle};
use sightline::model::notes::RunNotes;
use sightline::model::run::{Progress, RunOptions, RunSummary, Status, TimeBudget};
use sightline::model::search::Search;
use sightline::model::start::{Idempotency, NewRun, Refused, Started};
use sightline::modules::catalog::Choice;
use sightline::modules::query::SearchType;

use super::{at, charge, cycle, new_account, once_connected, race, search, with_key};

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

    fn a_premium_run_needs_two_credits(f) {
        f.store.start(&f.new_run(), &charge(2, Some(3))).unwrap();
        let refused = f.new_run();
        let outcome = f.store.start(&refused, &charge(2, Some(3))).unwrap();
        assert_eq!(outcome, Started::Refused(Refused::InsufficientCredits { used: 2 }));
        assert_eq!(f.store.run(refused.id, f.account.id).unwrap(), None);
        assert_eq!(f.used(), 2);
        assert_eq!(f.store.start(&f.new_run(), &charge(1, Some(3))).unwrap(), Started::Created);
        assert_eq!(f.used(), 3);
    }

    fn the_first_run_of_a_cycle_must_fit_too(f) {
        let outcome = f.store.start(&f.new_run(), &charge(2, Some(1))).unwrap();
        assert_eq!(outcome, Started::Refused(Refused::InsufficientCredits { used: 0 }));
        assert_eq!((f.used(), f.database.number("SELECT count(*) FROM charges")), (0, 0));
    }

    fn without_a_cap_use_is_counted_all_the_same(f) {
        for _ in 0..3 {
            assert_eq!(f.store.start(&f.new_run(), &charge(2, None)).unwrap(), Started::Created);
        }
        let endless = charge(1, Some(u64::MAX));
        assert_eq!(f.store.start(&f.new_run(), &endless).unwrap(), Started::Created);
        assert_eq!(f.used(), 7);
    }

    fn a_new_cycle_starts_at_nothing(f) {
        f.store.start(&f.new_run(), &charge(1, Some(1))).unwrap();
        let next = Cycle { start: cycle().end, end: at("2026-04-15T10:00:00Z") };
        let charge = Charge { cycle: next, ..charge(1, Some(1)) };
        assert_eq!(f.store.start(&f.new_run(), &charge).unwrap(), Started::Created);
        assert_eq!((f.used(), f.store.credits_used(f.account.id, next).unwrap()), (1, 1));
    }

    fn accounts_do_not_share_a_pool(f) {
        let other = new_account("other@example.com");
        f.store.add_account(&other, &Origin::CLI).unwrap();
        f.store.start(&f.new_run(), &charge(1, Some(1))).unwrap();
        let run = NewRun { account: other.id, ..f.new_run() };
        assert_eq!(f.store.start(&run, &charge(1, Some(1))).unwrap(), Started::Created);
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

    fn the_same_key_and_body_is_the_same_run(f) {
        let first = with_key(f.new_run(), "key-1", 7);
        assert_eq!(f.store.start(&first, &charge(1, Some(1))).unwrap(), Started::Created);
        let second = with_key(f.new_run(), "key-1", 7);
        // No credit is left, and none is needed.
        assert_eq!(f.store.start(&second, &charge(1, Some(1))).unwrap(), Started::Repeated(first.id));
        assert_eq!(f.store.run(second.id, f.account.id).unwrap(), None);
        assert_eq!(f.used(), 1);
    }

    fn the_same_key_with_another_body_is_a_mismatch(f) {
        f.store.start(&with_key(f.new_run(), "key-1", 7), &charge(1, None)).unwrap();
        let other = with_key(f.new_run(), "key-1", 8);
        assert_eq!(f.store.start(&other, &charge(1, None)).unwrap(), Started::Refused(Refused::Mismatch));
        assert_eq!(f.used(), 1);
    }

    fn keys_of_two_accounts_have_nothing_to_do_with_each_other(f) {
        let other = new_account("other@example.com");
        f.store.add_account(&other, &Origin::CLI).unwrap();
        f.store.start(&with_key(f.new_run(), "key-1", 7), &charge(1, None)).unwrap();
        let run = NewRun { account: other.id, ..with_key(f.new_run(), "key-1", 8) };
        assert_eq!(f.store.start(&run, &charge(1, None)).unwrap(), Started::Created);
    }

    fn an_expired_key_is_free_again(f) {
        let first = with_key(f.new_run(), "key-1", 7);
        f.store.start(&first, &charge(1, None)).unwrap();
        let day = Duration::from_secs(24 * 3600);
        let in_time = NewRun { created_at: first.created_at + day, ..f.new_run() };
        let in_time = with_key(in_time, "key-1", 7);
        assert_eq!(f.store.start(&in_time, &charge(1, None)).unwrap(), Started::Repeated(first.id));
        let late = NewRun { created_at: first.created_at + day + Duration::from_millis(1), ..f.new_run() };
        let late = with_key(late, "key-1", 8);
        assert_eq!(f.store.start(&late, &charge(1, None)).unwrap(), Started::Created);
        let again = NewRun { created_at: late.created_at, ..f.new_run() };
        let again = with_key(again, "key-1", 8);
        assert_eq!(f.store.start(&again, &charge(1, None)).unwrap(), Started::Repeated(late.id));
    }

    fn a_key_is_looked_up_without_a_run(f) {
        let run = with_key(f.new_run(), "key", 1);
        let known = |account, request: &Idempotency| f.store.known_request(account, request).unwrap();
        let request = run.idempotency.clone().unwrap();
        assert_eq!(known(run.account, &request), None);
        assert_eq!(f.store.start(&run, &charge(1, None)).unwrap(), Started::Created);
        assert_eq!(known(run.account, &request), Some(Started::Repeated(run.id)));
        assert_eq!(known(run.account, &Idempotency { body_hash: [9; 32], ..request.clone() }), Some(Started::Refused(Refused::Mismatch)));
        assert_eq!(known(AccountId::new(), &request), None);
        let late = Idempotency { valid_since: run.created_at + Duration::from_millis(1), ..request };
        assert_eq!(known(run.account, &late), None, "expired");
    }

    fn forgetting_takes_the_old_keys_alone(f) {
        let old = with_key(f.new_run(), "old", 7);
        let new = NewRun { created_at: old.created_at + Duration::from_secs(1), ..f.new_run() };
        let new = with_key(new, "new", 7);
        f.store.start(&old, &charge(1, None)).unwrap();
        f.store.start(&new, &charge(1, None)).unwrap();
        f.store.forget_idempotency(new.created_at).unwrap();
        let repeat = |key| f.store.start(&with_key(f.new_run(), key, 7), &charge(1, None)).unwrap();
        assert_eq!(repeat("new"), Started::Repeated(new.id));
        assert_eq!(repeat("old"), Started::Created);
    }

    fn a_refused_run_does_not_use_up_its_key(f) {
        let run = with_key(f.new_run(), "key-1", 7);
        let refused = f.store.start(&run, &charge(1, Some(0))).unwrap();
        assert_eq!(refused, Started::Refused(Refused::InsufficientCredits { used: 0 }));
        let later = with_key(f.new_run(), "key-1", 8);
        assert_eq!(f.store.start(&later, &charge(1, Some(1))).unwrap(), Started::Created);
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

    fn a_run_needs_an_account(f) {
        let run = NewRun { account: new_account("nobody@example.com").id, ..f.new_run() };
        assert_eq!(f.store.start(&run, &charge(1, None)).unwrap(), Started::Refused(Refused::UnknownAccount));
        assert_eq!(f.database.number("SELECT count(*) FROM runs"), 0);
        assert_eq!(f.database.number("SELECT count(*) FROM charges"), 0);
    }
}
