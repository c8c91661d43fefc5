//! What was learned from searches: the health of each module, its deadline, its quarantine, the checks that it has made
//! today, and the circuits of hosts.
//!
//! Each module has a [`Tally`]: moving rates of its outcomes, its moving latency, and the deadline that follows from its
//! answers. A process keeps the total that it knows, and the part of it that is not stored yet. The maintenance thread
//! exchanges both with the store every five seconds and at the shutdown. Counts are added, never replaced. A process that
//! crashes loses the last five seconds. A write whose answer is lost may be counted twice, which is acceptable for
//! statistics.
//!
//! Hosts and modules that fail have a breaker (see [`breaker`] and [`counting`]), whose latest change is
//! valid for all processes.
//!
//! What was learned on the simulated web is stored separately, and only processes that query it see it.

pub mod breaker;
pub mod counting;
pub mod verdict;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use log::log;
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::clock::{Clock, SystemClock};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::health::{BreakerState, Learned};
use crate::model::tally::Tally;
use crate::modules::module::Module;
use crate::modules::outcome::{ControlAnswer, Direction, Outcome};
use crate::store::Store;
use breaker::{Breakers, Rules};
use verdict::ModuleHealth;

/// The expected latency of a module without earlier checks.
const UNKNOWN: Duration = Duration::from_millis(800);

/// The time for which checks of modules with a daily limit are not counted after the store could not count one.
const UNCOUNTED: Duration = Duration::from_secs(5);

/// What was learned about all modules and hosts. There is one table for each process.
pub struct HealthTable {
    /// The configured deadline of a check, which no learned deadline exceeds. It applies to modules without one.
    pub check_timeout: Duration,
    clock: Arc<dyn Clock>,
    /// The store with which this process exchanges what it learns, and whether it queries the simulated web.
    store: Option<(Arc<Store>, bool)>,
    /// For each kind, the last change that was read. It is locked during an exchange.
    read_until: Mutex<[Timestamp; Learned::ALL.len()]>,
    tallies: Mutex<Tallies>,
    /// The circuits of hosts.
    pub circuits: Breakers,
    /// The quarantines of modules.
    pub quarantines: Breakers,
    /// The time of the last answer of any host. It is locked after the circuits.
    heard: Mutex<Timestamp>,
    /// The answers to the last control checks that passed. They are locked after the quarantines.
    passed: Mutex<HashMap<(Arc<str>, Direction), ControlAnswer>>,
    /// The last time at which a check could not be counted. It is locked while one is counted.
    not_counted: Mutex<Option<Instant>>,
}

/// The tallies of modules by their ids.
#[derive(Default)]
struct Tallies {
    total: HashMap<Arc<str>, Tally>,
    /// The part of the total that is not stored yet.
    unsent: HashMap<Arc<str>, Tally>,
}

impl HealthTable {
    /// Creates a table without any checks. `check_timeout` is the configured deadline of a check. `host_retry` and
    /// `quarantine_retry` are the waits until a host or a module that failed is tried.
    pub fn new(
        clock: Arc<dyn Clock>,
        check_timeout: Duration,
        host_retry: Duration,
        quarantine_retry: Duration,
        store: Option<(Arc<Store>, bool)>,
    ) -> Self {
        Self {
            check_timeout,
            circuits: Breakers::new(Arc::clone(&clock), Rules::of_hosts(host_retry)),
            quarantines: Breakers::new(Arc::clone(&clock), Rules::of_modules(quarantine_retry)),
            clock,
            store,
            read_until: Mutex::default(),
            tallies: Mutex::default(),
            heard: Mutex::default(),
            passed: Mutex::default(),
            not_counted: Mutex::default(),
        }
    }

    /// Records the outcome of a check, the time until its answer, and its end. A skipped check is ignored, because it
    /// shows nothing about the site.
    pub fn note(&self, module: &Arc<str>, outcome: Outcome, took: Duration, at: Timestamp) {
        if outcome != Outcome::Skipped {
            self.add(module, &Tally::one(outcome, took, at));
        }
    }

    fn add(&self, module: &Arc<str>, newer: &Tally) {
        let Tallies { total, unsent } = &mut *self.tallies.lock();
        for tallies in [total, unsent] {
            let tally = tallies.entry(Arc::clone(module)).or_default();
            *tally = tally.then(newer);
        }
    }

    /// Returns the expected duration of the next check of a module.
    pub fn expected(&self, module: &str) -> Duration {
        self.tallies.lock().total.get(module).and_then(Tally::latency).unwrap_or(UNKNOWN)
    }

    /// Returns the deadline of a check of a module that was learned from its answers. A module that needs a browser has
    /// none, because its latency depends on this machine.
    pub fn deadline(&self, module: &Module, now: Timestamp) -> Option<Duration> {
        if module.is_premium() {
            return None;
        }
        self.tallies.lock().total.get(module.id())?.deadline(now, self.check_timeout)
    }

    /// Returns the health of each of these modules at `now`.
    pub fn of_all<'m>(&self, modules: &'m [Arc<Module>], now: Timestamp) -> Vec<(&'m Module, ModuleHealth)> {
        let health = |module: &Module| {
            let tally = self.tallies.lock().total.get(module.id()).cloned();
            let circuit = module.first_hosts().find_map(|host| Some(self.circuits.of(host)?.times()));
            ModuleHealth {
                circuit,
                quarantine: self.quarantines.of(module.id()).and_then(verdict::Quarantine::of),
                ..ModuleHealth::of(&tally.unwrap_or_default(), now, self.deadline(module, now))
            }
        };
        modules.iter().map(|module| (&**module, health(module))).collect()
    }

    /// Counts a check of a module with a daily limit, over all processes. Returns `false` if the module has already made
    /// `limit` of them in the 24 hours since the first. While the store is unavailable, no check is refused.
    pub fn count_today(&self, module: &str, limit: u32) -> bool {
        let Some((store, simulated)) = &self.store else { return true };
        // Checks count one after the other: all those of some runs at once would keep others from the store.
        let mut not_counted = self.not_counted.lock();
        if not_counted.is_some_and(|at| at.elapsed() < UNCOUNTED) {
            return true;
        }
        store.count_today(*simulated, module, limit).unwrap_or_else(|error| {
            *not_counted = Some(Instant::now());
            log!(error.log_level(), "cannot count a check of module {module}: {error}");
            true
        })
    }

    /// Stores what this process has learned, and takes over what others have. A failure is logged.
    pub fn share(&self) {
        let mut read_until = self.read_until.lock();
        let unsent: Vec<_> = std::mem::take(&mut self.tallies.lock().unsent).into_iter().collect();
        let stored = self
            .exchange(Learned::Deadline, &mut read_until, &unsent, |older: Tally, newer| older.then(newer));
        let mut tallies = self.tallies.lock();
        for (module, tally) in stored.iter().flatten() {
            let newer = tallies.unsent.get(module).map(|newer| tally.then(newer));
            tallies.total.insert(Arc::clone(module), newer.unwrap_or_else(|| tally.clone()));
        }
        for (module, tally) in unsent.into_iter().filter(|_| stored.is_none()) {
            let newer = tallies.unsent.entry(module).or_default();
            *newer = tally.then(newer);
        }
        drop(tallies);
        for (kind, breakers) in [(Learned::Host, &self.circuits), (Learned::Quarantine, &self.quarantines)] {
            let changed = breakers.unwritten();
            if let Some(stored) = self.exchange(kind, &mut read_until, &changed, BreakerState::later) {
                breakers.take_over(stored);
            }
        }
    }

    /// Stores changes, and returns what has changed in the store. Returns `None` if that fails.
    fn exchange<T: Default + Serialize + DeserializeOwned>(
        &self,
        kind: Learned,
        read_until: &mut [Timestamp; Learned::ALL.len()],
        changed: &[(Arc<str>, T)],
        merge: fn(T, &T) -> T,
    ) -> Option<Vec<(Arc<str>, T)>> {
        let (store, simulated) = self.store.as_ref()?;
        let since = &mut read_until[kind as usize];
        match store.share_learned(kind, *simulated, *since, changed, merge) {
            Ok(rows) => {
                *since = rows.iter().map(|(_, changed_at, _)| *changed_at).fold(*since, Timestamp::max);
                Some(rows.into_iter().map(|(name, _, value)| (name, value)).collect())
            }
            Err(error) => {
                log!(error.log_level(), "cannot share what was learned ({}): {error}", kind.as_str());
                None
            }
        }
    }

    /// Forgets what was learned about a host or a module, or about all, in this process at once and in others within
    /// seconds.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn reset(&self, what: Learned, name: Option<&str>, by: &Origin) -> Result<(), StorageError> {
        // What this process has learned is stored before, so that it is reset too.
        self.share();
        if let Some((store, _)) = &self.store {
            store.reset(what, name, self.clock.now(), by)?;
        }
        self.share();
        Ok(())
    }
}

impl Default for HealthTable {
    /// Returns a table that shares nothing, with the default settings of the program.
    fn default() -> Self {
        let [check_timeout, host_retry, quarantine_retry] = [10, 60, 600].map(Duration::from_secs);
        Self::new(Arc::new(SystemClock), check_timeout, host_retry, quarantine_retry, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    pub(super) fn now() -> Timestamp {
        "2026-03-01T12:00:00Z".parse().unwrap()
    }

    /// Returns the health of the module `m`.
    pub(super) fn of(table: &HealthTable) -> ModuleHealth {
        table.of_all(&[Module::example("m")], now()).remove(0).1
    }

    #[test]
    fn nothing_is_lost_or_doubled_while_it_is_shared() {
        let (store, module): (_, Arc<str>) = (crate::store::in_memory().unwrap(), "m".into());
        let start = || {
            let retry = Duration::from_secs(60);
            let clock = Arc::new(SystemClock);
            HealthTable::new(clock, retry, retry, retry, Some((Arc::clone(&store), false)))
        };
        let [one, other] = [start(), start()];
        let note = |table: &HealthTable| table.note(&module, Outcome::Hit, Duration::from_millis(100), now());
        let checks = |table: &HealthTable| of(table).checks;
        note(&one);
        one.share();
        note(&one);
        note(&one);
        assert_eq!((checks(&one), checks(&other)), (3, 0));
        (0..5).for_each(|_| note(&other));
        other.share();
        assert_eq!((checks(&one), checks(&other)), (3, 1 + 5));
        store.before_each(|_| Err(StorageError::unavailable("it fails")));
        one.share();
        store.before_each(|_| Ok(()));
        note(&one);
        assert_eq!(checks(&one), 4, "what was not stored counts");
        one.share();
        one.share();
        other.share();
        assert_eq!((checks(&one), checks(&other)), (9, 9));
        assert!(one.tallies.lock().unsent.is_empty() && other.tallies.lock().unsent.is_empty());
        let (shared, noting) = (Arc::new(one), Arc::new(AtomicU64::new(0)));
        let (one, noted) = (Arc::clone(&shared), Arc::clone(&noting));
        store.before_each(move |_| {
            noted.fetch_add(1, Ordering::Relaxed);
            shared.note(&"m".into(), Outcome::Hit, Duration::from_millis(100), now());
            Ok(())
        });
        one.share();
        assert_eq!(checks(&one), 9 + noting.load(Ordering::Relaxed), "what was learned during the exchange");
    }

    #[test]
    fn a_store_that_cannot_count_a_check_is_not_asked_by_all() {
        let (store, asked) = (crate::store::in_memory().unwrap(), Arc::new(AtomicU64::new(0)));
        let (retry, counted) = (Duration::from_secs(60), Arc::clone(&asked));
        let table =
            HealthTable::new(Arc::new(SystemClock), retry, retry, retry, Some((Arc::clone(&store), false)));
        assert_eq!([1, 1].map(|limit| table.count_today("m", limit)), [true, false]);
        store.before_each(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Err(StorageError::unavailable("it fails"))
        });
        std::thread::scope(|scope| {
            let checks = [(); 20].map(|()| scope.spawn(|| table.count_today("m", 1)));
            assert!(checks.into_iter().all(|check| check.join().unwrap()), "none is refused meanwhile");
        });
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
