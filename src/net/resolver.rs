//! Resolves names to addresses. `getaddrinfo` blocks and has no deadline, so it runs on a bounded number of threads.
//! A caller waits for a lookup until its own deadline at most. Concurrent callers of one name share a lookup, and its
//! result is cached.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use threadpool::ThreadPool;

use super::failure::out_of_resources;
use crate::base::cache::{Bounds, Cache, Computed};
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;

/// The time for which addresses are cached.
const POSITIVE_TTL: Duration = Duration::from_secs(60);
/// The time for which a failed lookup is cached.
const NEGATIVE_TTL: Duration = Duration::from_secs(5);

/// The maximum number of cached names.
const CACHE_SIZE: usize = 4096;

/// The maximum number of addresses of a name. More would get too little time each.
const MAX_ADDRESSES: usize = 16;

/// The maximum number of concurrent lookups, each of two queries. A router at home loses many of a hundred. A stuck lookup
/// holds its thread until the system's resolver gives up, after about half a minute. Callers with further names wait, and
/// may time out.
const MAX_LOOKUPS: usize = 20;

/// A stack size that suffices for `getaddrinfo` and the name-service modules that it loads.
const STACK_BYTES: usize = 256 * 1024;

/// A function that looks a name up. It may block.
type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

type Answer = Result<Arc<[IpAddr]>, ProbeError>;

/// A resolver with a cache.
pub(super) struct Resolver {
    lookup: Box<Lookup>,
    threads: ThreadPool,
    answers: Cache<Arc<str>, Answer>,
    /// The time of the last answer of a name server, for any name.
    answered: Mutex<Option<Instant>>,
}

impl Resolver {
    /// Returns a resolver that asks the system's.
    pub(super) fn new() -> Arc<Self> {
        let lookup = |host: &str| Ok((host, 0u16).to_socket_addrs()?.map(|addr| addr.ip()).collect());
        Self::with_lookup(Box::new(lookup), MAX_LOOKUPS)
    }

    fn with_lookup(lookup: Box<Lookup>, max_lookups: usize) -> Arc<Self> {
        let answers = Cache::new(Bounds { entries: CACHE_SIZE, weight: 0 });
        let threads = threadpool::Builder::new().num_threads(max_lookups).thread_name("resolve".into());
        let threads = threads.thread_stack_size(STACK_BYTES).build();
        Arc::new(Self { lookup, threads, answers, answered: Mutex::default() })
    }

    /// Returns the addresses of `host`, at least one. Waits until `deadline` at most.
    pub(super) fn resolve(self: &Arc<Self>, host: &str, deadline: Instant) -> Answer {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        if is_never_public(&host) {
            return Err(Reason::Dns.because("special-use name, not in the public DNS"));
        }
        let host: Arc<str> = host.into();
        let late = || Err(ProbeError::late(Reason::TimeoutResolve));
        let look_up = || {
            let (name, own, began) = (Arc::clone(&host), Arc::clone(self), Instant::now());
            let (give, given) = mpsc::channel();
            self.threads.execute(move || {
                // Later, nobody waits for the answer.
                if Instant::now() < deadline
                    && let Err(unsent) = give.send(own.look_up(&name, began))
                {
                    own.answers.insert(&name, unsent.0);
                }
            });
            given.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap_or_else(|_| {
                let panicked = || Err(Reason::Dns.because("the lookup panicked"));
                let value = if Instant::now() >= deadline { late() } else { panicked() };
                Computed { value, ttl: Duration::ZERO, weight: 0 }
            })
        };
        self.answers.get_or_compute(&host, deadline, look_up).unwrap_or_else(late)
    }

    /// Removes expired names from the cache.
    pub(super) fn sweep(&self, now: Instant) {
        self.answers.sweep(now);
    }

    fn look_up(&self, host: &str, began: Instant) -> Computed<Answer> {
        let value =
            (self.lookup)(host).map_or_else(|error| Err(self.lookup_error(&error, began)), first_distinct);
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
        // If lookups of other names succeed, the name servers of this name have failed.
        let others_answer = self.answered.lock().is_some_and(|answered| answered >= began);
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
                        Err(Reason::Dns.because("no such name"))
                    );
                });
            }
        });
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_panic_or_an_empty_answer_is_an_error() {
        let lookup = |host: &str| if host == "panic.example" { panic!("boom") } else { Ok(Vec::new()) };
        let resolver = Resolver::with_lookup(Box::new(lookup), 1);
        for host in ["panic.example", "empty.example", "x.invalid", "x.onion", "alt"] {
            assert!(
                matches!(resolver.resolve(host, soon()), Err(ProbeError { reason: Reason::Dns, .. })),
                "{host}"
            );
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
            _ if away.load(Ordering::SeqCst) => Err(io::Error::other(again)),
            _ => Ok(vec![[1, 2, 3, 4].into()]),
        };
        let resolver = Resolver::with_lookup(Box::new(lookup), 4);
        let reason = |host: &str| resolver.resolve(host, soon()).map_err(|error| error.reason.as_str());
        assert_eq!(reason("a.example"), Err("no_resolver"));
        assert_eq!(reason("full.example"), Err("local_resources"));
        is_away.store(false, Ordering::SeqCst);
        assert!(reason("a.example").is_ok(), "a fault of this machine is not cached");
        std::thread::scope(|scope| {
            let broken = scope.spawn(|| reason("broken.example"));
            began.recv().unwrap();
            assert!(reason("b.example").is_ok());
            answered.send(()).unwrap();
            assert_eq!(broken.join().unwrap(), Err("dns"));
        });
    }
}
