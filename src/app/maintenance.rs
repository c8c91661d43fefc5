//! Periodic work: interrupted runs, batches, watches, expiry, retention, deletions, cache sizes, the times of last use of keys, expired
//! sessions, the file of suppressed identifiers.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log::{error, log};

use super::error::Failure;
use super::services::Services;
use super::suppression::Watch;
use crate::admin::TaskTimes;
use crate::base::storage::StorageError;
use crate::base::threads;
use crate::runs::retention::RetentionTask;
use crate::service;
use crate::watches::keeper::WatchKeeper;

/// The longest pause between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// The interval of tasks that exchange with the store what other instances have learned or left behind.
const SHARED: Duration = Duration::from_secs(5);
/// The interval of tasks that are not urgent.
const SLOW: Duration = Duration::from_secs(15);

/// The time after which what is still unconfirmed is undone. A database server that was suspended may commit an earlier
/// transaction after it answers again; by then idle transactions (30 s), locks and statements have timed out.
const CONFIRMED_WITHIN: Duration = Duration::from_secs(60);

/// A task: its name in metrics, its interval, and its work, which takes a moment only.
type Task<T> = (&'static str, Duration, fn(&mut T));

/// All tasks. Those without an interval are also done when the runs wake the thread.
const TASKS: &[Task<Maintenance>] = &[
    ("runs", Duration::ZERO, |own| own.services.runs().sweep()),
    ("queue", Duration::ZERO, |own| own.services.runs().dispatch()),
    ("batches", Duration::ZERO, |own| own.services.runs().feed_batches()),
    ("families", SHARED, |own| own.services.runs().advance_idle()),
    ("health", SHARED, |own| own.services.runs().health.share()),
    ("unconfirmed", SHARED, |own| {
        let undone = own.services.shared.store.undo_unconfirmed(CONFIRMED_WITHIN);
        log_failure("cannot undo what was not confirmed", undone);
    }),
    ("watches", PAUSE, |own| own.watches.run_due_tasks()),
    ("watch_credits", Duration::from_secs(60), |own| own.watches.resume_paid()),
    ("deletions", Duration::ZERO, |own| own.services.shared.accounts.finish_deletions()),
    ("retention", PAUSE, |own| own.retention.sweep()),
    ("wipe", PAUSE, |own| {
        log_failure("cannot wipe deleted data from the database's log", own.services.shared.store.wipe());
    }),
    ("suppression", PAUSE, Maintenance::read_suppression),
    ("rate_limits", PAUSE, |own| own.services.shared.limiter.sweep()),
    ("run_caches", SLOW, |own| {
        own.services.runs().sweep_caches();
        own.services.api.sweep();
    }),
    ("key_usage", SLOW, Maintenance::flush_key_usage),
    ("sign_ins", SLOW, |own| {
        let removed = own.services.shared.sign_ins.remove_expired();
        log_failure("cannot remove expired sessions and links", removed);
    }),
];

/// Does the tasks whose time has come. One that panics does not stop the others, and is tried again.
fn do_due<T>(tasks: &[Task<T>], due: &mut [Instant], done: &TaskTimes, own: &mut T, now: Instant) {
    for ((name, every, work), due) in tasks.iter().zip(due) {
        if *due > now {
            continue;
        }
        *due = now + *every;
        if threads::guard(format_args!("the maintenance task {name}"), || work(own)) {
            done.lock().insert(name, Instant::now());
        }
    }
}

/// Does the periodic work of a process on its own thread.
pub(super) struct Maintenance {
    services: Arc<Services>,
    watches: WatchKeeper,
    retention: RetentionTask,
    suppression: Option<Watch>,
}

impl Maintenance {
    /// Starts the thread, which ends when the runs are shut down, and does not panic. Runs are kept for `retain_days` days,
    /// or without limit if it is 0. `suppression` is the watched file of suppressed identifiers.
    pub(super) fn start(
        services: &Arc<Services>,
        retain_days: u32,
        suppression: Option<Watch>,
    ) -> Result<JoinHandle<()>, Failure> {
        let services = Arc::clone(services);
        let service::Services { store, clock, runs, accounts, sandbox, .. } = services.shared.clone();
        let retention = RetentionTask::new(Arc::clone(&store), clock, retain_days);
        let watches = WatchKeeper::new(store, runs, accounts, sandbox);
        let mut own = Self { services, watches, retention, suppression };
        let thread = thread::Builder::new().name("maintenance".to_owned()).spawn(move || own.work());
        thread.map_err(|error| Failure::failed(error).at("cannot start the maintenance thread"))
    }

    fn work(&mut self) {
        let (done, now) = (Arc::clone(&self.services.maintained), Instant::now());
        done.lock().extend(TASKS.iter().map(|(name, ..)| (*name, now)));
        let mut due = [now; TASKS.len()];
        while !self.services.runs().wait(Instant::now() + PAUSE) {
            do_due(TASKS, &mut due, &done, self, Instant::now());
        }
        self.flush_key_usage();
    }

    fn read_suppression(&mut self) {
        match self.suppression.as_mut().and_then(Watch::changed_list) {
            None => {}
            Some(Ok(list)) => self.services.runs().suppress(list),
            Some(Err(error)) => error!("{error}; the list that was read before stays in force"),
        }
    }

    fn flush_key_usage(&mut self) {
        let flushed = self.services.shared.accounts.flush_key_usage();
        log_failure("cannot store when keys were last used", flushed);
    }
}

fn log_failure<T>(what: &str, done: Result<T, StorageError>) {
    if let Err(error) = done {
        log!(error.log_level(), "{what}: {error}");
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;
    use crate::config::ServeConfig;

    #[test]
    fn a_task_that_panics_is_tried_again_and_stops_no_other() {
        const NAMES: [&str; 3] = ["often", "broken", "slow"];
        let tasks: [Task<Vec<&str>>; 3] = [
            (NAMES[0], Duration::ZERO, |log| log.push(NAMES[0])),
            (NAMES[1], Duration::ZERO, |log| {
                log.push(NAMES[1]);
                panic!("on purpose");
            }),
            (NAMES[2], SLOW, |log| log.push(NAMES[2])),
        ];
        let (start, done, mut log) = (Instant::now(), TaskTimes::default(), Vec::new());
        let mut due = [start; 3];
        for (after, want) in [(Duration::ZERO, &NAMES[..]), (PAUSE, &NAMES[..2]), (SLOW, &NAMES[..])] {
            log.clear();
            do_due(&tasks, &mut due, &done, &mut log, start + after);
            assert_eq!(log, want, "{after:?}");
        }
        assert_eq!(done.lock().keys().copied().collect::<Vec<_>>(), ["often", "slow"]);
    }

    #[test]
    fn a_family_that_panics_keeps_no_run_from_its_driver_and_is_noticed() {
        let config = ServeConfig::from_flags(["--sandbox"]).unwrap();
        let (services, ..) = Services::local(&config.engine, &config.suppression, 1, true).unwrap();
        let service::Services { store, clock, runs, accounts, sandbox, .. } = services.shared.clone();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        store.before_each(move |operation| {
            assert_ne!(operation, "idle_families", "on purpose");
            seen.lock().push(operation);
            Ok(())
        });
        let retention = RetentionTask::new(Arc::clone(&store), clock, 0);
        let watches = WatchKeeper::new(store, runs, accounts, sandbox);
        let mut own = Maintenance { services, watches, retention, suppression: None };
        let (now, done) = (Instant::now(), TaskTimes::default());
        do_due(TASKS, &mut [now; TASKS.len()], &done, &mut own, now);
        for operation in ["queue_length", "end_batches", "share_learned", "undo_unconfirmed"] {
            assert!(asked.lock().contains(&operation), "{operation}");
        }
        let is_done = |name: &&str| done.lock().contains_key(name);
        let missing = TASKS.iter().map(|(name, ..)| *name).filter(|name| !is_done(name));
        assert_eq!(missing.collect::<Vec<_>>(), ["families"]);
    }
}
