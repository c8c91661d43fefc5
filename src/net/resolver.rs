//! Names to addresses. `getaddrinfo` blocks and knows no deadline, so it runs on a bounded number of
//! threads of its own; who asks waits for the answer no longer than his deadline. One lookup serves all who
//! ask for the same name, and its answer is kept for a while.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::modules::probe::{Phase, ProbeError};

/// How long an answer is kept; how long its absence.
const POSITIVE_TTL: Duration = Duration::from_secs(60);
const NEGATIVE_TTL: Duration = Duration::from_secs(5);

/// The most names that are kept.
const CACHE_SIZE: usize = 4096;

/// The most addresses of a name that are kept: ureq tries no more.
const MAX_ADDRESSES: usize = 16;

/// The most lookups at once. One that gets stuck costs a thread until the system's resolver gives up (half
/// a minute or so); those behind it wait in the queue and time out, and no further thread is made.
const MAX_THREADS: usize = 64;

/// A thread without work ends after this.
const IDLE: Duration = Duration::from_secs(30);

/// Room for `getaddrinfo` and the name-service modules it loads.
const STACK_BYTES: usize = 256 * 1024;

/// Asks for a name; blocks.
pub(super) type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

type Answer = Result<Arc<[IpAddr]>, Arc<str>>;

/// See the file's head.
pub(super) struct Resolver {
    shared: Arc<Shared>,
}

struct Shared {
    lookup: Box<Lookup>,
    max_threads: usize,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    slots: HashMap<Arc<str>, Slot>,
    queue: VecDeque<(Arc<str>, Arc<Flight>)>,
    threads: usize,
    idle: usize,
    closed: bool,
}

enum Slot {
    Pending(Arc<Flight>),
    Known { answer: Answer, until: Instant },
}

/// A lookup that is queued or under way.
#[derive(Default)]
struct Flight {
    answer: Mutex<Option<Answer>>,
    landed: Condvar,
}

/// The system's resolver.
fn system_lookup(host: &str) -> io::Result<Vec<IpAddr>> {
    Ok((host, 0u16).to_socket_addrs()?.map(|addr| addr.ip()).collect())
}

impl Resolver {
    pub(super) fn new() -> Self {
        Self::with_lookup(Box::new(system_lookup), MAX_THREADS)
    }

    fn with_lookup(lookup: Box<Lookup>, max_threads: usize) -> Self {
        let shared = Shared { lookup, max_threads, state: Mutex::default(), work: Condvar::new() };
        Self { shared: Arc::new(shared) }
    }

    /// The addresses of `host` (at least one), at the latest at `deadline`.
    pub(super) fn resolve(&self, host: &str, deadline: Instant) -> Result<Arc<[IpAddr]>, ProbeError> {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if is_never_public(&host) {
            return Err(ProbeError::Dns("a special-use name, not in the public DNS".into()));
        }
        let answer = match self.look_up_or_join(&host)? {
            Slot::Known { answer, .. } => answer,
            Slot::Pending(flight) => flight.wait(deadline)?,
        };
        answer.map_err(|why| ProbeError::Dns(why.to_string()))
    }

    /// Drops the names whose answers are over.
    pub(super) fn sweep(&self, now: Instant) {
        self.shared.state.lock().sweep(now);
    }

    /// What is known of `host`, or the lookup that will tell: one under way, or a new one.
    fn look_up_or_join(&self, host: &str) -> Result<Slot, ProbeError> {
        let mut state = self.shared.state.lock();
        match state.slots.get(host) {
            Some(Slot::Pending(flight)) => return Ok(Slot::Pending(Arc::clone(flight))),
            Some(Slot::Known { answer, until }) if *until > Instant::now() => {
                return Ok(Slot::Known { answer: answer.clone(), until: *until });
            }
            _ => {}
        }
        let (host, flight): (Arc<str>, _) = (host.into(), Arc::new(Flight::default()));
        state.make_room(Instant::now());
        state.slots.insert(Arc::clone(&host), Slot::Pending(Arc::clone(&flight)));
        state.queue.push_back((Arc::clone(&host), Arc::clone(&flight)));
        if state.queue.len() > state.idle && state.threads < self.shared.max_threads {
            self.start_thread(&mut state);
        }
        if state.threads == 0 {
            state.queue.retain(|(queued, _)| *queued != host);
            state.slots.remove(&host);
            return Err(ProbeError::Dns("no thread could be started for the lookup".into()));
        }
        self.shared.work.notify_one();
        Ok(Slot::Pending(flight))
    }

    fn start_thread(&self, state: &mut State) {
        let shared = Arc::clone(&self.shared);
        let started = std::thread::Builder::new()
            .name("resolve".into())
            .stack_size(STACK_BYTES)
            .spawn(move || shared.work_until_idle());
        match started {
            Ok(_) => state.threads += 1,
            Err(e) => log::warn!("no thread for name resolution: {e}"),
        }
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.shared.state.lock().closed = true;
        self.shared.work.notify_all();
    }
}

impl Flight {
    fn wait(&self, deadline: Instant) -> Result<Answer, ProbeError> {
        let mut answer = self.answer.lock();
        loop {
            if let Some(answer) = answer.as_ref() {
                return Ok(answer.clone());
            }
            if self.landed.wait_until(&mut answer, deadline).timed_out() && answer.is_none() {
                return Err(ProbeError::Timeout(Phase::Resolve));
            }
        }
    }

    fn land(&self, answer: Answer) {
        *self.answer.lock() = Some(answer);
        self.landed.notify_all();
    }
}

impl Shared {
    fn work_until_idle(&self) {
        while let Some((host, flight)) = self.next_job() {
            // The lookup is foreign code: whatever it does, those who wait get an answer.
            let found = catch_unwind(AssertUnwindSafe(|| (self.lookup)(&host)));
            let answer = match found {
                Ok(Ok(addresses)) => first_distinct(addresses),
                Ok(Err(e)) => Err(e.to_string().into()),
                Err(_) => Err("the lookup broke down".into()),
            };
            let ttl = if answer.is_ok() { POSITIVE_TTL } else { NEGATIVE_TTL };
            let slot = Slot::Known { answer: answer.clone(), until: Instant::now() + ttl };
            self.state.lock().slots.insert(host, slot);
            flight.land(answer);
        }
    }

    /// The next lookup that someone still waits for. `None`: this thread ends.
    fn next_job(&self) -> Option<(Arc<str>, Arc<Flight>)> {
        let mut state = self.state.lock();
        loop {
            while let Some((host, flight)) = state.queue.pop_front() {
                // Held here and in its slot: nobody waits any more. All who join do so under the lock.
                if Arc::strong_count(&flight) > 2 {
                    return Some((host, flight));
                }
                state.slots.remove(&host);
            }
            if state.closed {
                break;
            }
            state.idle += 1;
            let waited = self.work.wait_for(&mut state, IDLE);
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }
}

impl State {
    fn sweep(&mut self, now: Instant) {
        self.slots.retain(|_, slot| !matches!(slot, Slot::Known { until, .. } if *until <= now));
    }

    /// Keeps the cache bounded: what is over goes first, then what would be over soonest.
    fn make_room(&mut self, now: Instant) {
        if self.slots.len() < CACHE_SIZE {
            return;
        }
        self.sweep(now);
        while self.slots.len() >= CACHE_SIZE {
            let oldest = self
                .slots
                .iter()
                .filter_map(|(host, slot)| match slot {
                    Slot::Known { until, .. } => Some((*until, Arc::clone(host))),
                    Slot::Pending(_) => None,
                })
                .min();
            let Some((_, host)) = oldest else { break };
            self.slots.remove(&host);
        }
    }
}

fn first_distinct(addresses: Vec<IpAddr>) -> Answer {
    let mut distinct: Vec<IpAddr> = Vec::new();
    for address in addresses {
        if distinct.len() < MAX_ADDRESSES && !distinct.contains(&address) {
            distinct.push(address);
        }
    }
    if distinct.is_empty() { Err("the name has no address".into()) } else { Ok(distinct.into()) }
}

/// Names that a resolver must not ask the public DNS for (RFC 6761, 7686, 9476).
fn is_never_public(host: &str) -> bool {
    ["invalid", "onion", "alt"].contains(&host.rsplit('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn one_lookup_serves_all_who_ask_and_its_answer_is_kept() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let lookup = move |host: &str| {
            counter.fetch_add(1, Ordering::SeqCst);
            if host == "none.example" {
                Err(io::Error::other("no such name"))
            } else {
                Ok(vec![[1, 2, 3, 4].into(); 3])
            }
        };
        let resolver = Resolver::with_lookup(Box::new(lookup), 4);
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    assert_eq!(
                        *resolver.resolve("WWW.example.", soon()).unwrap(),
                        [IpAddr::from([1, 2, 3, 4])]
                    );
                    assert_eq!(
                        resolver.resolve("none.example", soon()),
                        Err(ProbeError::Dns("no such name".into()))
                    );
                });
            }
        });
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_stuck_lookup_costs_its_thread_and_nothing_more() {
        let (release, gate) = std::sync::mpsc::channel::<()>();
        let gate = Mutex::new(gate);
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let lookup = move |host: &str| {
            counter.fetch_add(1, Ordering::SeqCst);
            if host.starts_with("stuck") {
                // Until the test lets go.
                let _ = gate.lock().recv();
            }
            Ok(vec![[1, 2, 3, 4].into()])
        };
        let resolver = Resolver::with_lookup(Box::new(lookup), 2);
        let past = Instant::now();
        let timeout = Err(ProbeError::Timeout(Phase::Resolve));
        assert_eq!(resolver.resolve("stuck.example", past + Duration::from_millis(20)), timeout);
        assert!(resolver.resolve("free.example", soon()).is_ok(), "the other thread answers");
        for n in 0..50 {
            assert_eq!(resolver.resolve(&format!("stuck{n}.example"), past), timeout);
        }
        assert!(resolver.shared.state.lock().threads <= 2);
        drop(release);
        assert!(resolver.resolve("stuck.example", soon()).is_ok(), "joined, or asked again");
        assert!(resolver.resolve("after.example", soon()).is_ok());
        // `stuck` at most twice, `free`, `after`, and the one that may have got hold of the second thread.
        let asked = asked.load(Ordering::SeqCst);
        assert!(asked <= 5, "names that nobody waits for are not asked: {asked}");
    }

    #[test]
    fn a_panic_or_an_empty_answer_is_an_error() {
        let lookup = |host: &str| if host == "panic.example" { panic!("boom") } else { Ok(Vec::new()) };
        let resolver = Resolver::with_lookup(Box::new(lookup), 1);
        for host in ["panic.example", "empty.example", "x.invalid", "x.onion", "alt"] {
            assert!(matches!(resolver.resolve(host, soon()), Err(ProbeError::Dns(_))), "{host}");
        }
    }

    #[test]
    fn names_leave_memory_with_their_answers() {
        let resolver = Resolver::with_lookup(Box::new(|_: &str| Ok(vec![[1, 2, 3, 4].into()])), 2);
        resolver.resolve("a.example", soon()).unwrap();
        let kept = || resolver.shared.state.lock().slots.len();
        resolver.sweep(Instant::now());
        assert_eq!(kept(), 1);
        resolver.sweep(Instant::now() + POSITIVE_TTL);
        assert_eq!(kept(), 0);
    }

    #[test]
    fn the_cache_is_bounded() {
        let resolver = Resolver::with_lookup(Box::new(|_: &str| Ok(vec![[1, 2, 3, 4].into()])), 2);
        let mut state = resolver.shared.state.lock();
        let now = Instant::now();
        for n in 0..CACHE_SIZE as u64 {
            let until = now + Duration::from_secs(n + 1);
            state.slots.insert(format!("{n}").into(), Slot::Known { answer: Err("".into()), until });
        }
        state.make_room(now);
        assert_eq!((state.slots.len(), state.slots.contains_key("0")), (CACHE_SIZE - 1, false));
        state.slots.insert("x".into(), Slot::Pending(Arc::default()));
        state.make_room(now + Duration::from_secs(CACHE_SIZE as u64 * 2));
        assert_eq!(state.slots.len(), 1, "a pending one stays");
    }
}
