//! [`HostLimiter`]: limits the checks of each host and each module. Each host has a few concurrent checks, over all
//! runs, whose number follows its answers. A module can have a rate of its own (`every_ms`, `per_day`), which applies
//! in any case. A host that asked for a pause, or whose circuit is open, is not contacted.
//!
//! A check that is not admitted yet uses no worker: its driver requests a [`Permit`] before it submits the check to
//! the pool, and is woken when a host may be free.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::adaptive_limit::{AdaptiveLimit, Feedback};
use super::health::circuits::{Circuits, OnOpenCircuit};
use super::pace::{Pace, Paces, Refusal};
use crate::modules::checker::Checker;
use crate::modules::module::Module;
use crate::modules::outcome::Pause;
use crate::modules::probe::Contact;
use crate::modules::query::Query;
use crate::modules::terms::{Access, Denial, HostAccess};

/// The time without a check after which the limit of a host is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(10 * 60);
/// The longest time for which a site's `Retry-After` is followed, so that a wrong one does not disable a module
/// permanently.
const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);

/// A function that wakes a driver that waits for a host.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// The decision whether a check may start.
pub enum Admission {
    /// The check may start. Dropping the permit frees the hosts.
    Granted(Permit),
    /// A host has as many checks as it may have now. The waker is called when one of them has ended.
    HostBusy,
    /// The module's rate allows the check only from this moment on.
    NotBefore(Instant),
    /// The module has used all its checks of the day.
    DailyLimit,
    /// Each source of the module has a host that must not be contacted now. Contains the reason of the first source.
    Denied(Denial),
}

/// A limiter that counts the checks of each host. There is one value for each process.
pub struct HostLimiter {
    /// The configured maximum number of concurrent checks of one host, over all runs.
    most: usize,
    hosts: Arc<Mutex<HashMap<String, Host>>>,
    paces: Arc<Paces>,
    circuits: Arc<Circuits>,
}

struct Host {
    limit: AdaptiveLimit,
    busy: usize,
    waiting: Vec<Waker>,
    paused_until: Option<Instant>,
    /// The time at which a check last ended.
    used: Instant,
}

impl Host {
    fn new(most: usize, now: Instant) -> Self {
        let limit = AdaptiveLimit::new(most);
        Self { limit, busy: 0, waiting: Vec::new(), paused_until: None, used: now }
    }

    fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|end| now < end)
    }

    /// Returns whether nothing is known about the host that later checks need.
    fn is_forgettable(&self, now: Instant) -> bool {
        let is_unlimited = self.limit.is_initial() || now.duration_since(self.used) >= FORGET_AFTER;
        self.busy == 0 && self.paused_until.is_none() && is_unlimited
    }
}

/// A reservation at some hosts. Dropping it releases them.
#[derive(Default)]
pub struct Permit {
    hosts: Vec<String>,
    on_open_circuit: OnOpenCircuit,
    /// The hosts whose circuit is open and that this check tries, each with whether it was contacted.
    trials: Mutex<HashMap<String, bool>>,
    table: Arc<Mutex<HashMap<String, Host>>>,
    circuits: Arc<Circuits>,
    /// The module and its rate.
    paced: Option<(Arc<Paces>, String, Pace)>,
    feedback: Option<Feedback>,
}

impl Permit {
    /// Releases the hosts and adapts their limits to the end of the check.
    pub fn end(mut self, feedback: Feedback) {
        self.feedback = Some(feedback);
    }

    /// Records the hosts that the check has contacted. Answers close their circuits.
    pub fn note_contacts(&self, contacts: &[Contact]) {
        self.circuits.note_answers(contacts);
        let mut trials = self.trials.lock();
        for contact in contacts {
            if let Some(was_contacted) = trials.get_mut(&contact.host) {
                *was_contacted = true;
            }
        }
    }
}

impl HostAccess for Permit {
    fn access(&self, host: &str) -> Access {
        if self.table.lock().get(host).is_some_and(|host| host.is_paused(Instant::now())) {
            return Access::Denied(Denial::Pause);
        }
        let mut trials = self.trials.lock();
        if trials.contains_key(host) {
            return Access::Trial(self.circuits.trial_time(host));
        }
        // A circuit that opens after the admission does not stop the check.
        if self.on_open_circuit == OnOpenCircuit::Ask || self.hosts.iter().any(|known| known == host) {
            return Access::Granted;
        }
        let access = self.circuits.access(host);
        if let Access::Trial(_) = access {
            trials.insert(host.to_owned(), false);
        }
        access
    }

    fn reserve(&self, now: Instant, until: Instant) -> Option<Instant> {
        let Some((paces, module, pace)) = &self.paced else { return Some(now) };
        paces.reserve(module, *pace, now, until).ok()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        for (host, was_contacted) in self.trials.get_mut().drain() {
            self.circuits.end_trial(&host, was_contacted);
        }
        let now = Instant::now();
        let mut woken: Vec<Waker> = Vec::new();
        {
            let mut table = self.table.lock();
            for name in &self.hosts {
                let Some(host) = table.get_mut(name) else { continue };
                host.limit.note(self.feedback.unwrap_or(Feedback::Neutral), host.busy);
                host.busy = host.busy.saturating_sub(1);
                host.used = now;
                woken.append(&mut host.waiting);
                if host.is_forgettable(now) {
                    table.remove(name);
                }
            }
        }
        for wake in woken {
            wake();
        }
    }
}

impl HostLimiter {
    /// Creates a limiter that never allows more than `most` concurrent checks of one host, but at least one, and that
    /// does not contact hosts whose circuit is open.
    pub fn new(most: usize, circuits: Arc<Circuits>) -> Self {
        Self { most, hosts: Arc::default(), paces: Arc::default(), circuits }
    }

    /// Requests permission to start a check, within the limits of the hosts that it queries first and the rate of the
    /// module.
    pub fn admit_check(
        &self,
        checker: &Checker,
        module: &Module,
        query: &Query,
        on_open_circuit: OnOpenCircuit,
        waker: &Waker,
    ) -> Admission {
        let entry = module.entry();
        // Reading a local list again costs nothing, so no rate applies.
        let pace = match checker.sends_no_request(module, query) {
            true => Pace::default(),
            false => Pace { every: entry.every_ms.map(Duration::from_millis), per_day: entry.per_day },
        };
        self.admit(module.id(), pace, checker.hosts(module, query), on_open_circuit, waker, Instant::now())
    }

    /// Requests a reservation at all hosts of the first source without a host that must not be contacted, within the
    /// rate of the module. No host occurs twice in a source.
    pub fn admit(
        &self,
        module: &str,
        pace: Pace,
        sources: Vec<Vec<String>>,
        on_open_circuit: OnOpenCircuit,
        waker: &Waker,
        now: Instant,
    ) -> Admission {
        let mut table = self.hosts.lock();
        let denial = |name: &String| match table.get(name) {
            Some(host) if host.is_paused(now) => Some(Denial::Pause),
            _ if on_open_circuit == OnOpenCircuit::Ask => None,
            _ => self.circuits.denial(name),
        };
        let denials: Vec<_> = sources.iter().map(|hosts| hosts.iter().find_map(denial)).collect();
        let hosts = match denials.iter().position(Option::is_none) {
            Some(place) => sources.into_iter().nth(place).unwrap_or_default(),
            None => match denials.into_iter().flatten().next() {
                Some(denial) => return Admission::Denied(denial),
                None => Vec::new(),
            },
        };
        for name in &hosts {
            if let Some(host) = table.get_mut(name).filter(|host| host.busy >= host.limit.get()) {
                if !host.waiting.iter().any(|known| Arc::ptr_eq(known, waker)) {
                    host.waiting.push(Arc::clone(waker));
                }
                return Admission::HostBusy;
            }
        }
        match self.paces.reserve(module, pace, now, now) {
            Ok(_) => {}
            Err(Refusal::NotBefore(at)) => return Admission::NotBefore(at),
            Err(Refusal::DailyLimit) => return Admission::DailyLimit,
        }
        for name in &hosts {
            table.entry(name.clone()).or_insert_with(|| Host::new(self.most, now)).busy += 1;
        }
        let trials = match on_open_circuit {
            OnOpenCircuit::Skip => self.begin_trials(&hosts),
            OnOpenCircuit::Ask => HashMap::new(),
        };
        let (table, circuits) = (Arc::clone(&self.hosts), Arc::clone(&self.circuits));
        let trials = Mutex::new(trials);
        let paced = Some((Arc::clone(&self.paces), module.to_owned(), pace));
        Admission::Granted(Permit { hosts, on_open_circuit, trials, table, circuits, paced, feedback: None })
    }

    /// Begins the trials that the circuits of these hosts allow.
    fn begin_trials(&self, hosts: &[String]) -> HashMap<String, bool> {
        let is_trial = |host: &&String| matches!(self.circuits.access(host), Access::Trial(_));
        hosts.iter().filter(is_trial).map(|host| (host.clone(), false)).collect()
    }

    /// Pauses hosts for all runs, for the requested time but at most ten minutes.
    pub fn pause(&self, pauses: &[Pause], now: Instant) {
        let mut table = self.hosts.lock();
        for Pause { host, secs } in pauses {
            let end = now + Duration::from_secs(*secs).min(LONGEST_PAUSE);
            let host = table.entry(host.clone()).or_insert_with(|| Host::new(self.most, now));
            host.paused_until = host.paused_until.max(Some(end));
        }
    }

    /// Removes pauses that have ended, and the limits of hosts that were not queried for ten minutes.
    pub fn sweep(&self, now: Instant) {
        self.hosts.lock().retain(|_, host| {
            host.paused_until = host.paused_until.filter(|end| now < *end);
            !host.is_forgettable(now)
        });
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

    fn ask(host_limiter: &HostLimiter, hosts: &[&str], waker: &Waker) -> Option<Permit> {
        let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        match host_limiter.admit(
            "m",
            Pace::default(),
            vec![hosts],
            OnOpenCircuit::Skip,
            waker,
            Instant::now(),
        ) {
            Admission::Granted(permit) => Some(permit),
            _ => None,
        }
    }

    #[test]
    fn two_checks_of_a_host_run_at_once_and_the_third_is_woken_once() {
        let (host_limiter, (waker, woken)) = (HostLimiter::new(6, Arc::default()), counting());
        let first = ask(&host_limiter, &["a"], &waker).unwrap();
        let second = ask(&host_limiter, &["a", "b"], &waker).unwrap();
        assert!(ask(&host_limiter, &["a"], &waker).is_none());
        assert!(ask(&host_limiter, &["b", "a"], &waker).is_none(), "all hosts or none");
        drop(second);
        assert_eq!(woken.load(Ordering::SeqCst), 1);
        let third = ask(&host_limiter, &["a"], &waker).unwrap();
        drop((first, third));
        assert!(host_limiter.hosts.lock().is_empty(), "nothing is kept of hosts that nobody asks");
    }

    #[test]
    fn the_limit_of_a_host_follows_its_answers_and_is_forgotten_after_ten_minutes() {
        let (host_limiter, (waker, _)) = (HostLimiter::new(3, Arc::default()), counting());
        let most = || {
            let permits: Vec<Permit> = std::iter::from_fn(|| ask(&host_limiter, &["a"], &waker)).collect();
            let count = permits.len();
            (count, permits)
        };
        let end_all = |permits: Vec<Permit>, feedback| permits.into_iter().for_each(|one| one.end(feedback));
        let (two, permits) = most();
        end_all(permits, Feedback::Conclusive);
        let (three, permits) = most();
        end_all(permits, Feedback::Overloaded);
        let (one, permits) = most();
        assert_eq!((two, three, one), (2, 3, 1));
        assert!(ask(&host_limiter, &["b"], &waker).is_some(), "each host has its own limit");
        drop(permits);
        let used = Instant::now();
        host_limiter.sweep(used + FORGET_AFTER - Duration::from_secs(60));
        assert_eq!(most().0, 1);
        host_limiter.sweep(used + FORGET_AFTER + Duration::from_secs(60));
        assert!(host_limiter.hosts.lock().is_empty());
        assert_eq!(most().0, 2);
    }

    #[test]
    fn the_pace_of_a_module_holds_whatever_its_host_may_take() {
        let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default()), counting());
        let start = Instant::now();
        for _ in 0..6 {
            let permits: Vec<Permit> = std::iter::from_fn(|| ask(&host_limiter, &["a"], &waker)).collect();
            permits.into_iter().for_each(|permit| permit.end(Feedback::Conclusive));
        }
        let pace = Pace { every: Some(Duration::from_secs(2)), per_day: Some(2) };
        let admit = |secs| {
            let at = start + Duration::from_secs(secs);
            host_limiter.admit("paced", pace, vec![vec!["a".to_owned()]], OnOpenCircuit::Skip, &waker, at)
        };
        let Admission::Granted(_first) = admit(0) else { panic!("refused") };
        assert!(matches!(admit(1), Admission::NotBefore(_)));
        let Admission::Granted(_second) = admit(2) else { panic!("refused") };
        assert!(matches!(admit(60), Admission::DailyLimit));
        assert!(ask(&host_limiter, &["a"], &waker).is_some(), "the host may have more");
    }

    #[test]
    fn a_refused_check_reserves_none_of_its_hosts() {
        let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default()), counting());
        let _both = (ask(&host_limiter, &["a"], &waker), ask(&host_limiter, &["a"], &waker));
        for _ in 0..5 {
            assert!(ask(&host_limiter, &["b", "a"], &waker).is_none());
        }
        assert!(ask(&host_limiter, &["b"], &waker).is_some());
    }

    #[test]
    fn a_host_that_asked_for_a_pause_gets_one() {
        let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default()), counting());
        let start = Instant::now();
        let running = ask(&host_limiter, &["a"], &waker).unwrap();
        let pause = |host: &str, secs| Pause { host: host.to_owned(), secs };
        host_limiter.pause(&[pause("a", 60), pause("b", 60)], start);
        host_limiter.pause(&[pause("b", 1_000_000)], start);
        assert_eq!(running.access("a"), Access::Denied(Denial::Pause), "of another check");
        assert_eq!(running.access("c"), Access::Granted);
        drop(running);
        let admit = |host: &str, secs| {
            let at = start + Duration::from_secs(secs);
            host_limiter.admit(
                "m",
                Pace::default(),
                vec![vec![host.to_owned()]],
                OnOpenCircuit::Skip,
                &waker,
                at,
            )
        };
        assert!(matches!(admit("a", 59), Admission::Denied(Denial::Pause)));
        assert!(matches!(admit("a", 60), Admission::Granted(_)));
        assert!(matches!(admit("b", 599), Admission::Denied(Denial::Pause)));
        assert!(matches!(admit("b", 600), Admission::Granted(_)), "the wish is followed for ten minutes");
        assert!(matches!(admit("c", 0), Admission::Granted(_)));
        host_limiter.sweep(start + Duration::from_secs(600));
        assert!(host_limiter.hosts.lock().is_empty());
    }

    #[test]
    fn a_check_uses_the_first_source_without_a_paused_host() {
        let (host_limiter, (waker, _)) = (HostLimiter::new(6, Arc::default()), counting());
        let now = Instant::now();
        host_limiter.pause(&[Pause { host: "a".to_owned(), secs: 60 }], now);
        let admit = |sources: &[&[&str]]| {
            let owned = |hosts: &&[&str]| hosts.iter().map(|host| (*host).to_owned()).collect();
            let sources = sources.iter().map(owned).collect();
            host_limiter.admit("m", Pace::default(), sources, OnOpenCircuit::Skip, &waker, now)
        };
        let Admission::Granted(permit) = admit(&[&["b", "a"], &["c"], &["d"]]) else { panic!("refused") };
        assert_eq!(permit.hosts, ["c"]);
        assert!(matches!(admit(&[&["a"], &["c", "a"]]), Admission::Denied(Denial::Pause)));
        let Admission::Granted(permit) = admit(&[&["a"], &[]]) else { panic!("refused") };
        assert_eq!(permit.hosts, [""; 0], "its host is known later");
        assert!(matches!(admit(&[]), Admission::Granted(_)));
    }
}
