//! Feeds: lists that are the same for every query, fetched once and shared by all checks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::probe::{Phase, ProbeError, Request, Response};
use super::terms::FAIR_TRY;
use crate::base::cache::{Bounds, Cache, Computed};

/// The most bytes of a feed's body that are read, after decompression.
pub const MAX_FEED_BYTES: usize = 8 * 1024 * 1024;
/// The pause after which a failed fetch is repeated.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// The bounds of the feeds in memory: their number, and the bytes of their bodies.
const BOUNDS: Bounds = Bounds { entries: 64, weight: 32 * 1024 * 1024 };

/// The key of a feed: its whole request without the module. It may contain an operator's key and is never shown.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    url: String,
    headers: Vec<(String, String)>,
    max_redirects: u8,
}

impl From<&Request> for Key {
    fn from(request: &Request) -> Self {
        Self {
            url: request.url.as_str().to_owned(),
            headers: request.headers.clone(),
            max_redirects: request.max_redirects,
        }
    }
}

/// A feed, or the error of its fetch.
pub(crate) type Fetched = Result<Arc<Response>, ProbeError>;

/// All feeds of the process.
pub(crate) struct Feeds {
    cache: Cache<Key, Fetched>,
}

impl Feeds {
    pub(crate) fn new() -> Self {
        Self { cache: Cache::new(BOUNDS) }
    }

    /// Returns whether the feed is in memory, so that a check needs no request for it.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.cache.contains_key(key)
    }

    /// Removes the feeds that have expired at `now`.
    pub(crate) fn sweep(&self, now: Instant) {
        self.cache.sweep(now);
    }

    /// Returns the feed: one in memory (for `ttl`), the one that another check is fetching, or the result
    /// of `fetch`. Waits until `deadline` at most. `is_sound` tells a valid list from an error page.
    pub(crate) fn get(
        &self,
        key: &Key,
        ttl: Duration,
        deadline: Instant,
        fetch: impl FnOnce() -> Result<Response, ProbeError>,
        is_sound: impl FnOnce(&Response) -> bool,
    ) -> Fetched {
        let fetched = self.cache.get_or_compute(key, deadline, || {
            let began = Instant::now();
            let value = fetch().map(Arc::new);
            let ttl = match value.as_ref().map_err(ProbeError::of_last_hop) {
                Ok(feed) if is_sound(feed) => ttl,
                Err(ProbeError::Timeout(_)) if began.elapsed() < FAIR_TRY => Duration::ZERO,
                Err(ProbeError::Local(..)) => Duration::ZERO,
                _ => RETRY_AFTER,
            };
            let weight = value.as_ref().map_or(0, |feed| feed.body.len());
            Computed { value, ttl, weight }
        });
        fetched.unwrap_or(Err(ProbeError::Timeout(Phase::FirstByte)))
    }
}
