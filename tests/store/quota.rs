//! Rate limits over several instances: what PostgreSQL grants. (SQLite serves one, which counts for itself.)

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sightline::account::rate_limit::Policy;
use sightline::account::rate_limit::quota::{Ask, Grant, Taken};
use sightline::base::ids::AccountId;

use super::{Fixture, once_connected, race};
use crate::support::databases::{postgres, sqlite};
use crate::support::eventually;
use crate::support::server::PATIENCE;

fn ask(account: AccountId, limit: u32) -> Ask {
    Ask { account, policy: Policy::Search, limit, wanted: 1, counts_for: Duration::from_secs(60) }
}

impl Fixture {
    fn take(&self, ask: &Ask) -> Taken {
        self.store.quota().unwrap().take(ask).unwrap().unwrap()
    }

    fn give_back(&self, grant: Grant, unused: u32) {
        self.store.quota().unwrap().give_back(self.account.id, Policy::Search, grant, unused).unwrap();
    }
}

#[test]
fn sqlite_serves_one_process_which_counts_for_itself() {
    assert!(Fixture::new(sqlite()).store.quota().is_none());
}

#[test]
fn instances_that_race_are_granted_exactly_the_limit() {
    let f = Fixture::new(postgres());
    let another = f.another();
    let ask = ask(f.account.id, 25);
    let taken = race(8, |index| {
        let store = if index % 2 == 0 { &f.store } else { &another };
        (0..10).map(|_| once_connected(|| store.quota().unwrap().take(&ask)).unwrap()).collect::<Vec<_>>()
    });
    let (granted, refused): (Vec<Taken>, Vec<Taken>) =
        taken.into_iter().flatten().partition(|taken| taken.grant.is_some());
    let mut used: Vec<u32> = granted.iter().map(|taken| taken.used).collect();
    used.sort_unstable();
    assert_eq!(used, (1..=25).collect::<Vec<_>>());
    assert_eq!(refused.len(), 80 - 25);
    for taken in refused {
        assert_eq!(taken.used, 25);
        assert!(taken.frees_in > Duration::ZERO && taken.frees_in <= Duration::from_secs(60), "{taken:?}");
    }
}

#[test]
fn no_window_ever_holds_more_than_the_limit_and_each_is_filled() {
    const LIMIT: u32 = 7;
    const WINDOW: Duration = Duration::from_millis(300);
    let f = Fixture::new(postgres());
    let another = f.another();
    // However long that takes: more than some windows hold, and once all that one holds.
    let (sum, is_full, until) = (AtomicU32::new(0), AtomicBool::new(false), Instant::now() + PATIENCE);
    let is_enough = || is_full.load(Ordering::SeqCst) && sum.load(Ordering::SeqCst) >= 4 * LIMIT;
    let taken = race(4, |index| {
        let store = if index % 2 == 0 { &f.store } else { &another };
        // Some ask for more than one at once.
        let wanted = 1 + u32::try_from(index).unwrap();
        let ask = Ask { wanted, counts_for: WINDOW, ..ask(f.account.id, LIMIT) };
        let mut granted = Vec::new();
        while !is_enough() && Instant::now() < until {
            let taken = once_connected(|| store.quota().unwrap().take(&ask)).unwrap();
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
fn little_is_granted_at_once_where_little_is_left() {
    let f = Fixture::new(postgres());
    let ask = Ask { wanted: 100, ..ask(f.account.id, 20) };
    let mut granted = Vec::new();
    while let Some(grant) = f.take(&ask).grant {
        granted.push(grant.requests);
    }
    assert_eq!(granted, [5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1]);
    assert_eq!(granted.iter().sum::<u32>(), 20);
}

#[test]
fn what_is_given_back_can_be_had_again_and_counts_once() {
    let f = Fixture::new(postgres());
    let all = Ask { wanted: 40, ..ask(f.account.id, 40) };
    let ten = f.take(&all).grant.unwrap();
    assert_eq!(ten.requests, 10);
    f.give_back(ten, 4);
    assert_eq!(f.take(&ask(f.account.id, 40)).used, 7);
    // It is no longer there as it was: nothing changes.
    f.give_back(ten, 4);
    assert_eq!(f.take(&ask(f.account.id, 40)).used, 8);
    let six = Grant { requests: 6, ..ten };
    f.give_back(six, 6);
    f.give_back(six, 6);
    f.give_back(Grant { moment: ten.moment - 1, ..ten }, 1);
    assert_eq!(f.take(&ask(f.account.id, 40)).used, 3);
}

#[test]
fn a_clock_that_was_set_back_blocks_nobody() {
    let f = Fixture::new(postgres());
    for _ in 0..3 {
        f.take(&ask(f.account.id, 3));
    }
    assert_eq!(f.take(&ask(f.account.id, 3)).grant, None);
    // As if all had been granted in an hour's time.
    f.database.execute(
        "UPDATE rate_grants SET grants = ARRAY(SELECT g + (3600000::bigint << 20) FROM unnest(grants) g)",
    );
    assert_eq!(f.take(&ask(f.account.id, 3)).used, 1);
}

#[test]
fn accounts_and_policies_are_granted_apart() {
    let f = Fixture::new(postgres());
    assert_eq!(f.take(&ask(f.account.id, 1)).used, 1);
    assert_eq!(f.take(&Ask { policy: Policy::Read, ..ask(f.account.id, 1) }).used, 1);
    assert_eq!(f.take(&ask(f.account.id, 1)).grant, None);
}

#[test]
fn nothing_is_granted_to_an_account_that_is_gone() {
    let f = Fixture::new(postgres());
    let nobody = ask(AccountId::new(), 5);
    assert_eq!(f.store.quota().unwrap().take(&nobody).unwrap(), None);
    // Neither to one that goes meanwhile.
    let mut other = f.database.client();
    let mut deletion = other.transaction().unwrap();
    deletion.execute("DELETE FROM accounts WHERE id = $1", &[&f.account.id.0]).unwrap();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| f.store.quota().unwrap().take(&ask(f.account.id, 5)));
        eventually("it waits for the deletion", || {
            f.database.number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0
        });
        deletion.commit().unwrap();
        assert_eq!(asking.join().unwrap().unwrap(), None);
    });
}

#[test]
fn whoever_loses_the_race_for_the_first_grant_is_granted_the_next() {
    let f = Fixture::new(postgres());
    let stores = [f.another(), f.another(), f.another()];
    for policy in [Policy::Search, Policy::Stream, Policy::Read] {
        let ask = Ask { policy, ..ask(f.account.id, 1000) };
        let take = |index: usize| once_connected(|| stores[index % 3].quota().unwrap().take(&ask)).unwrap();
        let taken = race(6, take);
        let mut used: Vec<u32> = taken.iter().map(|taken| taken.used).collect();
        used.sort_unstable();
        assert_eq!(used, [1, 2, 3, 4, 5, 6], "{taken:?}");
    }
}
