//! The parts that all checks share: the prober, the operator's keys, and the caches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::{Condvar, Mutex};

use super::answer::Answer;
use super::control::Controls;
use super::keys::OperatorKeys;
use super::probe::{ProbeError, Prober, Request, Response};
use super::reason::Reason;
use super::terms::FAIR_TRY;
use crate::base::cache::{Bounds, Cache, Computed};

/// The default limit on the memory for the parsed forms of all answers, in bytes.
const DEFAULT_ANSWER_MEMORY: usize = 256 * 1024 * 1024;
/// The most bytes that the parsed forms of the answers of one check take: their texts, their pages, and the values of
/// their JSON, which have separate limits.
const PARSED_BYTES: usize = 64 * 1024 * 1024;

/// Permits to parse answers. A parsed answer takes many times as much memory as its bytes, so a check parses answers
/// only while it has a permit, and never waits for anything meanwhile.
pub(super) struct Permits {
    free: Mutex<usize>,
    returned: Condvar,
}

/// A permit, which is returned on drop.
pub(super) struct Permit<'p>(&'p Permits);

impl Permits {
    /// Creates as many permits as this memory is enough for, but at least one.
    fn new(bytes: usize) -> Self {
        Self { free: Mutex::new((bytes / PARSED_BYTES).max(1)), returned: Condvar::new() }
    }

    /// Waits for a permit.
    pub(super) fn acquire(&self) -> Permit<'_> {
        let mut free = self.free.lock();
        self.returned.wait_while(&mut free, |free| *free == 0);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
        self.0.returned.notify_one();
    }
}

/// The time after which a fault of this machine is logged again.
const LOGGED_AGAIN: Duration = Duration::from_secs(60);

/// Runs checks. All check workers share it.
pub struct Checker {
    /// The prober that sends the requests.
    pub prober: Arc<dyn Prober>,
    /// The operator's keys.
    pub keys: OperatorKeys,
    pub(crate) user_agent: String,
    pub(super) controls: Controls,
    pub(super) feeds: Cache<FeedKey, Fetched>,
    pub(super) permits: Permits,
    /// The faults of this machine that were logged lately.
    logged: Cache<Reason, ()>,
}

impl Checker {
    /// Creates a checker that sends its probes through `prober`, with the operator's `keys`.
    ///
    /// Requests have the user agent `user_agent`, unless the module sets another one. The verdicts of
    /// control checks are cached for `control_ttl`; zero disables the cache.
    pub fn new(
        prober: Arc<dyn Prober>,
        keys: OperatorKeys,
        user_agent: impl Into<String>,
        control_ttl: Duration,
    ) -> Self {
        Self {
            prober,
            keys,
            user_agent: user_agent.into(),
            controls: Controls::new(control_ttl),
            feeds: Cache::new(FEED_BOUNDS),
            permits: Permits::new(DEFAULT_ANSWER_MEMORY),
            logged: Cache::new(Bounds { entries: 8, weight: 0 }),
        }
    }

    /// Limits the memory for the parsed forms of all answers that are read at once, in bytes.
    #[must_use]
    pub fn with_answer_memory(self, bytes: usize) -> Self {
        Self { permits: Permits::new(bytes), ..self }
    }

    /// Logs the error of a request if it is a fault of this machine, which prevents checks. Most errors are not.
    pub(super) fn note_local_fault(&self, error: &ProbeError) {
        let ProbeError { reason, why, .. } = error;
        if !reason.is_local_fault() {
            return;
        }
        self.logged.get_or_compute(reason, Instant::now(), || {
            warn!("this machine cannot make all checks ({why}): their modules end as skipped, {reason}");
            Computed { value: (), ttl: LOGGED_AGAIN, weight: 0 }
        });
    }

    /// Removes the verdicts of all control checks, so that the next checks make new ones.
    pub fn forget_verdicts(&self) {
        self.controls.cache.retain(|_, _| false);
    }

    /// Removes the expired values of all caches, which contain names of
    /// queried domains. It must be called periodically.
    pub fn evict_expired(&self) {
        let now = Instant::now();
        self.controls.cache.sweep(now);
        self.feeds.sweep(now);
        self.prober.evict_expired(now);
    }
}

/// The most bytes of a feed's body that are read, after decompression.
pub const MAX_FEED_BYTES: usize = 8 * 1024 * 1024;
/// The bounds of the feeds in memory: their number, and the bytes of their bodies.
const FEED_BOUNDS: Bounds = Bounds { entries: 64, weight: 32 * 1024 * 1024 };
/// The time for which a failed fetch, or an answer that is no list, is kept, so that not every check asks again.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// A feed, or the error of its fetch.
pub(crate) type Fetched = Result<Arc<Response>, ProbeError>;

/// What a feed is cached by: the address and the headers of its request. These may contain an operator's key and are never
/// shown.
pub(super) type FeedKey = (String, Vec<(String, String)>);

/// Returns the key of the feed that this request asks for.
pub(super) fn feed_key(request: &Request) -> FeedKey {
    (request.url.as_str().to_owned(), request.headers.clone())
}

impl Checker {
    /// Returns a feed: the one in memory, the one that another check is fetching, or the result of `fetch`, which is kept
    /// for `ttl` if it is a whole list. Waits until `deadline` at most.
    pub(super) fn feed(
        &self,
        key: &FeedKey,
        ttl: Duration,
        deadline: Instant,
        fetch: impl FnOnce() -> Result<Response, ProbeError>,
    ) -> Fetched {
        let fetched = self.feeds.get_or_compute(key, deadline, || {
            let began = Instant::now();
            let value = fetch().map(Arc::new);
            let ttl = match &value {
                Ok(feed) if is_whole_list(feed) => ttl,
                // These may be different for another check.
                Err(error) if error.reason.is_timeout() && began.elapsed() < FAIR_TRY => Duration::ZERO,
                Err(error) if error.reason.is_local_fault() => Duration::ZERO,
                Ok(_) | Err(_) => ttl.min(RETRY_AFTER),
            };
            let weight = value.as_ref().map_or(0, |feed| feed.body.len());
            Computed { value, ttl, weight }
        });
        fetched.unwrap_or_else(|| Err(ProbeError::late(Reason::TimeoutFirstByte)))
    }
}

/// Returns whether an answer is a list for all checks, and not an error page or a part of the list.
fn is_whole_list(feed: &Response) -> bool {
    (200..300).contains(&feed.status)
        && !feed.truncated
        && !feed.body.trim_ascii().is_empty()
        && !Answer::new(feed).is_page()
}
