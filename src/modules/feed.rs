//! Feeds: lists that are the same for every query, kept for all checks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::probe::{Phase, ProbeError, Request, Response};
use super::terms::FAIR_TRY;
use crate::base::cache::{Bounds, Cache, Computed};

/// The most bytes of a feed's body that are read, after decompression.
pub const MAX_FEED_BYTES: usize = 8 * 1024 * 1024;
/// The bounds of the feeds in memory: their number, and the bytes of their bodies.
const BOUNDS: Bounds = Bounds { entries: 64, weight: 32 * 1024 * 1024 };
/// The time for which a failed fetch, or an answer that is no list, is kept, so that not every check asks again.
const RETRY_AFTER: Duration = Duration::from_secs(60);

/// A feed, or the error of its fetch.
pub(crate) type Fetched = Result<Arc<Response>, ProbeError>;

/// All feeds of the process, by the addresses and headers of their requests. These may contain an operator's key and are
/// never shown.
pub(crate) struct Feeds(pub(super) Cache<Key, (Instant, Fetched)>);

type Key = (String, Vec<(String, String)>);

fn key(request: &Request) -> Key {
    (request.url.as_str().to_owned(), request.headers.clone())
}

impl Feeds {
    pub(crate) fn new() -> Self {
        Self(Cache::new(BOUNDS))
    }

    /// Forgets a feed that turned out to be none, unless it was fetched just now.
    pub(crate) fn forget(&self, request: &Request) {
        self.0.remove_if(&key(request), |(fetched_at, _)| fetched_at.elapsed() >= RETRY_AFTER);
    }

    /// Returns whether the feed is in memory, so that a check needs no request for it.
    pub(crate) fn has(&self, request: &Request) -> bool {
        self.0.contains_key(&key(request))
    }

    /// Returns the feed: the one in memory, the one that another check is fetching, or the result of `fetch`, which is
    /// kept for `ttl` if it is a whole list. Waits until `deadline` at most.
    pub(crate) fn get(
        &self,
        request: &Request,
        ttl: Duration,
        deadline: Instant,
        fetch: impl FnOnce() -> Result<Response, ProbeError>,
    ) -> Fetched {
        let fetched = self.0.get_or_compute(&key(request), deadline, || {
            let began = Instant::now();
            let feed = fetch().map(Arc::new);
            let ttl = match &feed {
                Ok(feed) if is_of_request(feed) => Duration::ZERO,
                Ok(feed) if is_whole(feed) => ttl,
                // These may be different for another check.
                Err(ProbeError::Timeout(_)) if began.elapsed() < FAIR_TRY => Duration::ZERO,
                Err(ProbeError::Local(..)) => Duration::ZERO,
                Ok(_) | Err(_) => ttl.min(RETRY_AFTER),
            };
            let weight = feed.as_ref().map_or(0, |feed| feed.body.len());
            Computed { value: (began, feed), ttl, weight }
        });
        fetched.map_or(Err(ProbeError::Timeout(Phase::FirstByte)), |(_, feed)| feed)
    }
}

/// Returns whether an answer is to this request alone (RFC 9110, section 12.5.5).
fn is_of_request(feed: &Response) -> bool {
    feed.header("vary").is_some_and(|value| value.trim() == "*")
}

/// Returns whether an answer is a list for all checks, and not an error page or a part of the list.
fn is_whole(feed: &Response) -> bool {
    (200..300).contains(&feed.status) && !feed.truncated && !feed.body.trim_ascii().is_empty()
}
