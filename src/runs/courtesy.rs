//! How often a host and a module may be asked: a few checks at once to one host, over all runs; a
//! module's own pace (`every_ms`, `per_day`).
//!
//! A check that has no place yet holds no worker: its driver asks for a [`Permit`] before it hands the
//! check to the pool, and is woken when one may be free.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::modules::check::Checker;
use crate::modules::module::Module;
use crate::modules::outcome::Pause;
use crate::modules::query::Query;
use crate::modules::terms::PausedHosts;

/// Checks at once to one host, over all runs.
pub const CHECKS_PER_HOST: usize = 2;
/// The longest that a site's `Retry-After` is followed: a wrong one must not switch a module off for good.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Wakes a driver that waits for a host.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// What a module's pace is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// At least this long between two checks.
    pub every: Option<Duration>,
    /// At most this many checks in 24 hours from the first.
    pub per_day: Option<u32>,
}

/// Whether a check may start.
pub enum Admission {
    /// Yes; the place is given back when the permit is dropped.
    Granted(Permit),
    /// A host has no place now; the waker is called when one is free.
    HostBusy,
    /// The module's pace allows it at this moment at the earliest.
    NotBefore(Instant),
    /// The module's checks of the day are used up.
    DailyLimit,
    /// Each source of the module has a host that asked to be left alone for a while (`Retry-After`).
    Paused,
}

/// Counts who asks whom. One for a process.
#[derive(Default)]
pub struct Courtesy {
    hosts: Arc<Mutex<HashMap<String, Host>>>,
    paces: Mutex<HashMap<String, Paced>>,
}

#[derive(Default)]
struct Host {
    busy: usize,
    waiting: Vec<Waker>,
    paused_until: Option<Instant>,
}

struct Paced {
    next: Instant,
    day_began: Instant,
    today: u32,
}

/// A place at each of some hosts.
#[derive(Default)]
pub struct Permit {
    hosts: Vec<String>,
    table: Arc<Mutex<HashMap<String, Host>>>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut woken: Vec<Waker> = Vec::new();
        {
            let mut table = self.table.lock();
            for name in &self.hosts {
                let Some(host) = table.get_mut(name) else { continue };
                host.busy = host.busy.saturating_sub(1);
                woken.append(&mut host.waiting);
                if host.busy == 0 && host.paused_until.is_none() {
                    table.remove(name);
                }
            }
        }
        for wake in woken {
            wake();
        }
    }
}

impl Courtesy {
    /// Asks for what a check needs: a place at the hosts that it will ask first, in the module's pace.
    pub fn admit_check(&self, checker: &Checker, module: &Module, query: &Query, waker: &Waker) -> Admission {
        let entry = module.entry();
        // A list that is at hand is read again at no one's cost.
        let pace = match checker.asks_nobody(module, query) {
            true => Pace::default(),
            false => Pace { every: entry.every_ms.map(Duration::from_millis), per_day: entry.per_day },
        };
        self.admit(module.id(), pace, checker.hosts(module, query), waker, Instant::now())
    }

    /// Asks for a place at all hosts (no name twice) of the first source without a paused one, and in the
    /// module's pace.
    pub fn admit(
        &self,
        module: &str,
        pace: Pace,
        sources: Vec<Vec<String>>,
        waker: &Waker,
        now: Instant,
    ) -> Admission {
        let mut table = self.hosts.lock();
        let is_paused =
            |name: &String| table.get(name).and_then(|host| host.paused_until).is_some_and(|end| now < end);
        let is_refused = !sources.is_empty();
        let hosts = match sources.into_iter().find(|hosts| !hosts.iter().any(is_paused)) {
            Some(hosts) => hosts,
            None if is_refused => return Admission::Paused,
            None => Vec::new(),
        };
        for name in &hosts {
            if let Some(host) = table.get_mut(name).filter(|host| host.busy >= CHECKS_PER_HOST) {
                if !host.waiting.iter().any(|known| Arc::ptr_eq(known, waker)) {
                    host.waiting.push(Arc::clone(waker));
                }
                return Admission::HostBusy;
            }
        }
        if let Some(refusal) = self.keep_pace(module, pace, now) {
            return refusal;
        }
        for name in &hosts {
            table.entry(name.clone()).or_default().busy += 1;
        }
        Admission::Granted(Permit { hosts, table: Arc::clone(&self.hosts) })
    }

    /// Leaves hosts alone for as long as they asked, at most ten minutes: for every run.
    pub fn pause(&self, pauses: &[Pause], now: Instant) {
        let mut table = self.hosts.lock();
        for Pause { host, secs } in pauses {
            let end = now + Duration::from_secs(*secs).min(LONGEST_PAUSE);
            let host = table.entry(host.clone()).or_default();
            host.paused_until = host.paused_until.max(Some(end));
        }
    }

    /// Forgets pauses that are over.
    pub fn sweep(&self, now: Instant) {
        self.hosts.lock().retain(|_, host| {
            host.paused_until = host.paused_until.filter(|end| now < *end);
            host.busy > 0 || host.paused_until.is_some()
        });
    }

    fn keep_pace(&self, module: &str, pace: Pace, now: Instant) -> Option<Admission> {
        if pace.every.is_none() && pace.per_day.is_none() {
            return None;
        }
        let mut paces = self.paces.lock();
        let paced = paces.entry(module.to_owned()).or_insert(Paced { next: now, day_began: now, today: 0 });
        if now.duration_since(paced.day_began) >= DAY {
            (paced.day_began, paced.today) = (now, 0);
        }
        if pace.per_day.is_some_and(|limit| paced.today >= limit) {
            return Some(Admission::DailyLimit);
        }
        if paced.next > now {
            return Some(Admission::NotBefore(paced.next));
        }
        paced.next = now + pace.every.unwrap_or_default();
        paced.today += 1;
        None
    }
}

impl PausedHosts for Courtesy {
    fn is_paused(&self, host: &str) -> bool {
        let end = self.hosts.lock().get(host).and_then(|host| host.paused_until);
        end.is_some_and(|end| Instant::now() < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn counting() -> (Waker, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let waker = move || {
            counted.fetch_add(1, Ordering::SeqCst);
        };
        (Arc::new(waker), count)
    }

    fn ask(courtesy: &Courtesy, hosts: &[&str], waker: &Waker) -> Option<Permit> {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        match courtesy.admit("m", Pace::default(), vec![hosts], waker, Instant::now()) {
            Admission::Granted(permit) => Some(permit),
            _ => None,
        }
    }

    #[test]
    fn two_at_once_and_the_third_is_woken_once() {
        let (courtesy, (waker, woken)) = (Courtesy::default(), counting());
        let first = ask(&courtesy, &["a"], &waker).unwrap();
        let second = ask(&courtesy, &["a", "b"], &waker).unwrap();
        assert!(ask(&courtesy, &["a"], &waker).is_none());
        assert!(ask(&courtesy, &["b", "a"], &waker).is_none(), "all hosts or none");
        drop(second);
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        let third = ask(&courtesy, &["a"], &waker).unwrap();
        drop((first, third));
        assert!(courtesy.hosts.lock().is_empty(), "nothing is kept of hosts that nobody asks");
    }

    #[test]
    fn a_refused_check_takes_no_place_at_its_other_hosts() {
        let (courtesy, (waker, _)) = (Courtesy::default(), counting());
        let _both = (ask(&courtesy, &["a"], &waker), ask(&courtesy, &["a"], &waker));
        for _ in 0..5 {
            assert!(ask(&courtesy, &["b", "a"], &waker).is_none());
        }
        assert!(ask(&courtesy, &["b"], &waker).is_some());
    }

    #[test]
    fn a_host_that_asked_for_it_is_left_alone_for_a_while() {
        let (courtesy, (waker, _)) = (Courtesy::default(), counting());
        let start = Instant::now();
        let running = ask(&courtesy, &["a"], &waker).unwrap();
        let pause = |host: &str, secs| Pause { host: host.to_owned(), secs };
        courtesy.pause(&[pause("a", 60), pause("b", 60)], start);
        courtesy.pause(&[pause("b", 1_000_000)], start);
        assert!(courtesy.is_paused("a") && !courtesy.is_paused("c"));
        drop(running);
        let admit = |host: &str, secs| {
            let at = start + Duration::from_secs(secs);
            courtesy.admit("m", Pace::default(), vec![vec![host.to_owned()]], &waker, at)
        };
        assert!(matches!(admit("a", 59), Admission::Paused));
        assert!(matches!(admit("a", 60), Admission::Granted(_)));
        assert!(matches!(admit("b", 599), Admission::Paused));
        assert!(matches!(admit("b", 600), Admission::Granted(_)), "the wish is followed for ten minutes");
        assert!(matches!(admit("c", 0), Admission::Granted(_)));
        courtesy.sweep(start + Duration::from_secs(600));
        assert!(courtesy.hosts.lock().is_empty());
    }

    #[test]
    fn a_place_is_taken_at_the_first_source_that_may_be_asked() {
        let (courtesy, (waker, _)) = (Courtesy::default(), counting());
        let now = Instant::now();
        courtesy.pause(&[Pause { host: "a".to_owned(), secs: 60 }], now);
        let admit = |sources: &[&[&str]]| {
            let owned = |hosts: &&[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
            courtesy.admit("m", Pace::default(), sources.iter().map(owned).collect(), &waker, now)
        };
        let Admission::Granted(permit) = admit(&[&["b", "a"], &["c"], &["d"]]) else { panic!("refused") };
        assert_eq!(permit.hosts, ["c"]);
        assert!(matches!(admit(&[&["a"], &["c", "a"]]), Admission::Paused));
        let Admission::Granted(permit) = admit(&[&["a"], &[]]) else { panic!("refused") };
        assert_eq!(permit.hosts, [""; 0], "its host is known later");
        assert!(matches!(admit(&[]), Admission::Granted(_)));
    }

    #[test]
    fn a_pace_spaces_checks_and_counts_the_day() {
        let (courtesy, (waker, _)) = (Courtesy::default(), counting());
        let pace = Pace { every: Some(Duration::from_secs(2)), per_day: Some(2) };
        let start = Instant::now();
        let admit = |at: Duration| courtesy.admit("m", pace, vec![], &waker, start + at);
        assert!(matches!(admit(Duration::ZERO), Admission::Granted(_)));
        assert!(
            matches!(admit(Duration::from_secs(1)), Admission::NotBefore(at) if at == start + Duration::from_secs(2))
        );
        assert!(matches!(admit(Duration::from_secs(2)), Admission::Granted(_)));
        assert!(matches!(admit(Duration::from_secs(9)), Admission::DailyLimit));
        assert!(matches!(admit(DAY), Admission::Granted(_)));
    }
}
