//! Resolves names to addresses. `getaddrinfo` blocks and has no deadline, so it runs on a bounded number of threads.
//! A caller waits for a lookup until its own deadline at most. Concurrent callers of one name share a lookup, and its
//! result is cached.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use threadpool::ThreadPool;

use super::failure::out_of_resources;
use crate::base::cache::{Bounds, Cache, Computed};
use crate::base::threads;
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;
use crate::modules::terms::FAIR_TRY;

/// The time for which addresses are cached.
const POSITIVE_TTL: Duration = Duration::from_secs(60);
/// The time for which a failed lookup is cached.
const NEGATIVE_TTL: Duration = Duration::from_secs(5);

/// The maximum number of cached names.
const CACHE_SIZE: usize = 4096;

/// The maximum number of addresses of a name. More would get too little time each.
const MAX_ADDRESSES: usize = 16;

/// The maximum number of concurrent lookups, each of two queries, besides those that hang. A router at home loses many of a
/// hundred. Callers with further names wait, and may time out.
const MAX_LOOKUPS: usize = 20;
/// The time after which a lookup hangs. It holds its thread until the system's resolver gives up, after about half a minute,
/// but others get one more.
const HANGS_AFTER: Duration = Duration::from_secs(1);
/// The maximum number of lookups that hang for which others get more threads.
const MAX_HANGING: usize = 100;

/// A stack size that suffices for `getaddrinfo` and the name-service modules that it loads.
const STACK_BYTES: usize = 256 * 1024;

/// A function that looks a name up. It may block.
type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

type Answer = Result<Arc<[IpAddr]>, ProbeError>;

/// A resolver with a cache.
pub(super) struct Resolver {
    lookup: Box<Lookup>,
    threads: ThreadPool,
    pub(super) answers: Cache<Arc<str>, Answer>,
    /// The names that are looked up, and since when.
    ongoing: Mutex<HashMap<Arc<str>, Instant>>,
    /// The time of the last answer of a name server, for any name.
    answered: Mutex<Option<Instant>>,
}

impl Resolver {
    /// Returns a resolver that asks the system's.
    pub(super) fn new() -> Arc<Self> {
        let lookup = |host: &str| Ok((host, 0u16).to_socket_addrs()?.map(|addr| addr.ip()).collect());
        Self::with_lookup(Box::new(lookup))
    }

    fn with_lookup(lookup: Box<Lookup>) -> Arc<Self> {
        let answers = Cache::new(Bounds { entries: CACHE_SIZE, weight: 0 });
        let threads = threadpool::Builder::new().num_threads(MAX_LOOKUPS).thread_name("resolve".into());
        let threads = threads.thread_stack_size(STACK_BYTES).build();
        let (ongoing, answered) = Default::default();
        Arc::new(Self { lookup, threads, answers, ongoing, answered })
    }

    /// Returns the addresses of `host`, at least one. Waits until `deadline` at most.
    pub(super) fn resolve(self: &Arc<Self>, host: &str, deadline: Instant) -> Answer {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if is_never_public(&host) {
            return Err(Reason::Dns.because("special-use name, not in the public DNS"));
        }
        let host: Arc<str> = host.into();
        let late = Err(ProbeError::late(Reason::TimeoutResolve));
        let late = || Computed { value: late.clone(), ttl: Duration::ZERO, weight: 0 };
        let look_up = || {
            // Earlier callers have waited in vain. Its answer will be cached.
            if self.ongoing.lock().get(&host).is_some_and(|began| began.elapsed() >= FAIR_TRY) {
                return late();
            }
            let (name, own) = (Arc::clone(&host), Arc::clone(self));
            let (give, given) = mpsc::channel();
            self.threads.execute(move || {
                // Later, nobody waits for the answer.
                if Instant::now() < deadline
                    && let Err(unsent) = give.send(own.look_up(&name))
                {
                    own.answers.insert(&name, unsent.0);
                }
            });
            let given = loop {
                let left = deadline.saturating_duration_since(Instant::now());
                match given.recv_timeout(left.min(HANGS_AFTER)) {
                    Err(RecvTimeoutError::Timeout) if !left.is_zero() => self.fit_threads(),
                    given => break given,
                }
            };
            given.unwrap_or_else(|_| late())
        };
        self.answers.get_or_compute(&host, deadline, look_up).unwrap_or_else(|| late().value)
    }

    /// Allows one thread more for each that is held by a lookup that hangs, and no longer when that has ended.
    fn fit_threads(&self) {
        let hanging = self.ongoing.lock().values().filter(|began| began.elapsed() >= HANGS_AFTER).count();
        self.threads.clone().set_num_threads(MAX_LOOKUPS + hanging.min(MAX_HANGING));
    }

    fn look_up(&self, host: &Arc<str>) -> Computed<Answer> {
        let began = Instant::now();
        self.ongoing.lock().insert(Arc::clone(host), began);
        let mut found = Err(io::Error::other("the lookup panicked"));
        threads::guard("a lookup", || found = (self.lookup)(host));
        self.ongoing.lock().remove(host);
        self.fit_threads();
        let value = found.map_or_else(|error| Err(self.lookup_error(&error, began)), first_distinct);
        let ttl = match &value {
            Ok(_) => POSITIVE_TTL,
            // A fault of this machine is not cached: it may be gone at the next lookup.
            Err(error) if error.reason.is_local_fault() => Duration::ZERO,
            Err(_) => NEGATIVE_TTL,
        };
        if !ttl.is_zero() {
            *self.answered.lock() = Some(Instant::now());
        }
        Computed { value, ttl, weight: 0 }
    }

    /// Returns whether a failed lookup that began at `began` is a fault of the name or of this machine.
    fn lookup_error(&self, error: &io::Error, began: Instant) -> ProbeError {
        if let Some(want) = out_of_resources(error) {
            return want;
        }
        let why = error.to_string();
        // If lookups of other names succeed, the name servers of this name have failed. Those of a name that fails late are
        // slow, and the answers for others may be in the cache. Without a name server, a lookup mostly fails at once.
        let lately = if began.elapsed() < HANGS_AFTER { Duration::ZERO } else { POSITIVE_TTL };
        let others_answer = self.answered.lock().is_some_and(|answered| answered + lately >= began);
        if is_temporary(&why) && !others_answer {
            return Reason::NoResolver.because(why);
        }
        Reason::Dns.because(why)
    }
}

fn first_distinct(mut addresses: Vec<IpAddr>) -> Answer {
    addresses.dedup();
    addresses.truncate(MAX_ADDRESSES);
    match addresses.is_empty() {
        true => Err(Reason::Dns.because("the name has no address")),
        false => Ok(addresses.into()),
    }
}

/// Returns whether an error of `getaddrinfo` is EAI_AGAIN, which means that no name server has answered, or that
/// those of the name have failed. The standard library reports only the text, of glibc or musl.
fn is_temporary(why: &str) -> bool {
    ["Temporary failure in name resolution", "Try again"].iter().any(|sign| why.contains(sign))
}

/// Returns whether a name must not be looked up in the public DNS (RFC 6761, RFC 7686, RFC 9476).
fn is_never_public(host: &str) -> bool {
    ["invalid", "onion", "alt"].contains(&host.rsplit('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn concurrent_callers_share_one_lookup_and_its_result_is_cached() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let lookup = move |host: &str| {
            counter.fetch_add(1, Ordering::SeqCst);
            match host {
                "none.example" => Err(io::Error::other("no such name")),
                "panic.example" => panic!("boom"),
                "empty.example" => Ok(Vec::new()),
                _ => Ok(vec![[1, 2, 3, 4].into(); 3]),
            }
        };
        let resolver = Resolver::with_lookup(Box::new(lookup));
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    let found = resolver.resolve("WWW.example.", soon()).unwrap();
                    assert_eq!(*found, [IpAddr::from([1, 2, 3, 4])]);
                    let none = Err(Reason::Dns.because("no such name"));
                    assert_eq!(resolver.resolve("none.example", soon()), none);
                });
            }
        });
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        for host in ["panic.example", "panic.example", "empty.example", "x.invalid", "x.onion", "alt"] {
            let error = resolver.resolve(host, soon()).unwrap_err();
            assert_eq!(error.reason, Reason::Dns, "{host}");
        }
    }

    #[test]
    fn names_whose_lookup_hangs_hold_up_no_others_and_are_looked_up_once() {
        let (release, released) = mpsc::channel::<()>();
        let released = Mutex::new(released);
        let lookup = move |host: &str| {
            if host.starts_with("hangs") {
                let _ = released.lock().recv();
            }
            Ok(vec![[1, 2, 3, 4].into()])
        };
        let resolver = Resolver::with_lookup(Box::new(lookup));
        for number in 0..=MAX_LOOKUPS {
            let host = format!("hangs{}.example", number % MAX_LOOKUPS);
            let wait = if number < MAX_LOOKUPS { FAIR_TRY / 20 } else { 2 * HANGS_AFTER };
            assert!(resolver.resolve(&host, Instant::now() + wait).is_err());
        }
        assert_eq!(resolver.threads.active_count(), MAX_LOOKUPS, "one is not looked up twice");
        assert!(resolver.resolve("other.example", soon()).is_ok());
        assert!(resolver.threads.max_count() > MAX_LOOKUPS);
        drop(release);
        let until = soon();
        while resolver.resolve("hangs0.example", soon()).is_err()
            || resolver.threads.max_count() > MAX_LOOKUPS
        {
            assert!(Instant::now() < until, "the threads stay");
        }
    }

    #[test]
    fn an_unreachable_name_server_is_not_a_fault_of_the_names() {
        let again = "failed to lookup address information: Temporary failure in name resolution";
        let is_away = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let away = Arc::clone(&is_away);
        let ((begin, began), (answered, wait)) = (mpsc::channel(), mpsc::channel::<()>());
        let wait = Mutex::new(wait);
        let lookup = move |host: &str| match host {
            "full.example" => Err(io::Error::from_raw_os_error(24)),
            "broken.example" => {
                // Blocks until another name is answered.
                begin.send(()).unwrap();
                let _ = wait.lock().recv();
                Err(io::Error::other(again))
            }
            "slow.example" => Err(io::Error::other(again)).inspect_err(|_| std::thread::sleep(HANGS_AFTER)),
            _ if away.load(Ordering::SeqCst) => Err(io::Error::other(again)),
            _ => Ok(vec![[1, 2, 3, 4].into()]),
        };
        let resolver = Resolver::with_lookup(Box::new(lookup));
        let reason = |host: &str| resolver.resolve(host, soon()).map_err(|error| error.reason.as_str());
        assert_eq!(reason("a.example"), Err("no_resolver"));
        assert_eq!(reason("full.example"), Err("local_resources"));
        is_away.store(false, Ordering::SeqCst);
        assert!(reason("a.example").is_ok(), "a fault of this machine is not cached");
        assert_eq!(reason("slow.example"), Err("dns"), "others have been answered lately");
        std::thread::scope(|scope| {
            let broken = scope.spawn(|| reason("broken.example"));
            began.recv().unwrap();
            assert!(reason("b.example").is_ok());
            answered.send(()).unwrap();
            assert_eq!(broken.join().unwrap(), Err("dns"));
        });
    }
}
