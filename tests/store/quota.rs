//! Rate limits that several instances share. PostgreSQL only: an SQLite database has one server, which counts in
//! memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sightline::base::ids::AccountId;
use sightline::model::quota::{Grant, GrantRequest, GrantResponse, Policy};
use sightline::store::Store;

use super::{Fixture, once_connected, race};
use crate::support::databases::{postgres, sqlite};
use crate::support::eventually;
use crate::support::server::PATIENCE;

fn ask(account: AccountId, limit: u32) -> GrantRequest {
    GrantRequest { account, policy: Policy::Search, limit, wanted: 1, counts_for: Duration::from_secs(60) }
}

/// Returns the shared counters of a store.
fn quota(store: &Arc<Store>) -> Arc<Store> {
    Arc::clone(store).quota().unwrap()
}

impl Fixture {
    fn take(&self, ask: &GrantRequest) -> GrantResponse {
        quota(&self.store).take(ask).unwrap().unwrap()
    }

    fn give_back(&self, grant: Grant, unused: u32) {
        quota(&self.store).give_back(self.account.id, Policy::Search, grant, unused).unwrap();
    }
}

mod postgres {
    use super::*;

    #[test]
    fn on_sqlite_the_process_counts_requests_itself() {
        assert!(Arc::clone(&Fixture::new(sqlite()).store).quota().is_none());
    }

    #[test]
    fn instances_that_race_are_granted_exactly_the_limit() {
        let f = Fixture::new(postgres());
        let another = f.another();
        let ask = ask(f.account.id, 25);
        let taken = race(8, |index| {
            let store = if index % 2 == 0 { &f.store } else { &another };
            (0..10).map(|_| once_connected(|| quota(store).take(&ask)).unwrap()).collect::<Vec<_>>()
        });
        let (granted, refused): (Vec<GrantResponse>, Vec<GrantResponse>) =
            taken.into_iter().flatten().partition(|taken| taken.grant.is_some());
        let mut used: Vec<u32> = granted.iter().map(|taken| taken.used).collect();
        used.sort_unstable();
        assert_eq!(used, (1..=25).collect::<Vec<_>>());
        assert_eq!(refused.len(), 80 - 25);
        for taken in refused {
            assert_eq!(taken.used, 25);
            assert!(
                taken.frees_in > Duration::ZERO && taken.frees_in <= Duration::from_secs(60),
                "{taken:?}"
            );
        }
    }

    #[test]
    fn no_window_ever_holds_more_than_the_limit_and_each_is_filled() {
        const LIMIT: u32 = 7;
        const WINDOW: Duration = Duration::from_millis(300);
        let f = Fixture::new(postgres());
        let another = f.another();
        // However long that takes: more than some windows allow, and exactly what one allows.
        let (sum, is_full, until) = (AtomicU32::new(0), AtomicBool::new(false), Instant::now() + PATIENCE);
        let is_enough = || is_full.load(Ordering::SeqCst) && sum.load(Ordering::SeqCst) >= 4 * LIMIT;
        let taken = race(4, |index| {
            let store = if index % 2 == 0 { &f.store } else { &another };
            // Some callers ask for more than one request at once.
            let wanted = 1 + u32::try_from(index).unwrap();
            let ask = GrantRequest { wanted, counts_for: WINDOW, ..ask(f.account.id, LIMIT) };
            let mut granted = Vec::new();
            while !is_enough() && Instant::now() < until {
                let taken = once_connected(|| quota(store).take(&ask)).unwrap();
                is_full.fetch_or(taken.grant.is_none(), Ordering::SeqCst);
                sum.fetch_add(taken.grant.map_or(0, |grant| grant.requests), Ordering::SeqCst);
                granted.extend(taken.grant);
            }
            granted
        });
        let mut grants: Vec<Grant> = taken.into_iter().flatten().collect();
        grants.sort_unstable_by_key(|grant| grant.moment);
        let window = i64::try_from(WINDOW.as_millis()).unwrap();
        let mut fullest = 0;
        for (index, first) in grants.iter().enumerate() {
            let within = grants[index..].iter().take_while(|grant| grant.moment < first.moment + window);
            let requests: u32 = within.map(|grant| grant.requests).sum();
            assert!(requests <= LIMIT, "{requests} from {first:?} on");
            fullest = fullest.max(requests);
        }
        let all: u32 = grants.iter().map(|grant| grant.requests).sum();
        assert!(fullest == LIMIT && all >= 4 * LIMIT, "{all} in all, at most {fullest} in one window");
    }

    #[test]
    fn small_grants_are_given_near_the_limit() {
        let f = Fixture::new(postgres());
        let ask = GrantRequest { wanted: 100, ..ask(f.account.id, 20) };
        let mut granted = Vec::new();
        while let Some(grant) = f.take(&ask).grant {
            granted.push(grant.requests);
        }
        assert_eq!(granted, [5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(granted.iter().sum::<u32>(), 20);
    }

    #[test]
    fn returned_requests_can_be_granted_again_and_count_once() {
        let f = Fixture::new(postgres());
        let all = GrantRequest { wanted: 40, ..ask(f.account.id, 40) };
        let ten = f.take(&all).grant.unwrap();
        assert_eq!(ten.requests, 10);
        f.give_back(ten, 4);
        assert_eq!(f.take(&ask(f.account.id, 40)).used, 7);
        // The grant is no longer there in that form: nothing changes.
        f.give_back(ten, 4);
        assert_eq!(f.take(&ask(f.account.id, 40)).used, 8);
        let six = Grant { requests: 6, ..ten };
        f.give_back(six, 6);
        f.give_back(six, 6);
        f.give_back(Grant { moment: ten.moment - 1, ..ten }, 1);
        assert_eq!(f.take(&ask(f.account.id, 40)).used, 3);
    }

    #[test]
    fn a_clock_that_was_set_back_blocks_no_account() {
        let f = Fixture::new(postgres());
        for _ in 0..3 {
            f.take(&ask(f.account.id, 3));
        }
        assert_eq!(f.take(&ask(f.account.id, 3)).grant, None);
        // As if all had been granted within an hour.
        f.database.execute(
            "UPDATE rate_grants SET grants = ARRAY(SELECT g + (3600000::bigint << 20) FROM unnest(grants) g)",
        );
        assert_eq!(f.take(&ask(f.account.id, 3)).used, 1);
    }

    #[test]
    fn accounts_and_policies_are_granted_apart() {
        let f = Fixture::new(postgres());
        assert_eq!(f.take(&ask(f.account.id, 1)).used, 1);
        assert_eq!(f.take(&GrantRequest { policy: Policy::Read, ..ask(f.account.id, 1) }).used, 1);
        assert_eq!(f.take(&ask(f.account.id, 1)).grant, None);
    }

    #[test]
    fn nothing_is_granted_to_an_account_that_is_gone() {
        let f = Fixture::new(postgres());
        let nobody = ask(AccountId::new(), 5);
        assert_eq!(quota(&f.store).take(&nobody).unwrap(), None);
        // Nor to an account that is deleted in the meantime.
        let mut other = f.database.client();
        let mut deletion = other.transaction().unwrap();
        deletion.execute("DELETE FROM accounts WHERE id = $1", &[&f.account.id.0]).unwrap();
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| quota(&f.store).take(&ask(f.account.id, 5)));
            eventually("it waits for the deletion", || {
                f.database.number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0
            });
            deletion.commit().unwrap();
            assert_eq!(asking.join().unwrap().unwrap(), None);
        });
    }

    #[test]
    fn the_loser_of_the_race_for_the_first_grant_gets_the_next() {
        let f = Fixture::new(postgres());
        let stores = [f.another(), f.another(), f.another()];
        for policy in [Policy::Search, Policy::Stream, Policy::Read] {
            let ask = GrantRequest { policy, ..ask(f.account.id, 1000) };
            let take = |index: usize| once_connected(|| quota(&stores[index % 3]).take(&ask)).unwrap();
            let taken = race(6, take);
            let mut used: Vec<u32> = taken.iter().map(|taken| taken.used).collect();
            used.sort_unstable();
            assert_eq!(used, [1, 2, 3, 4, 5, 6], "{taken:?}");
        }
    }
}
