//! Feeds: lists that are the same for every query, kept for all checks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::probe::{Phase, ProbeError, Request, Response};
use crate::base::cache::{Bounds, Cache, Computed};

/// The most bytes of a feed's body that are read, after decompression.
pub const MAX_FEED_BYTES: usize = 8 * 1024 * 1024;
/// The bounds of the feeds in memory: their number, and the bytes of their bodies.
const BOUNDS: Bounds = Bounds { entries: 64, weight: 32 * 1024 * 1024 };

/// A feed, or the error of its fetch.
pub(crate) type Fetched = Result<Arc<Response>, ProbeError>;

/// All feeds of the process, by the addresses and headers of their requests. These may contain an operator's key and are
/// never shown.
pub(crate) struct Feeds(Cache<Key, Fetched>);

type Key = (String, Vec<(String, String)>);

fn key(request: &Request) -> Key {
    (request.url.as_str().to_owned(), request.headers.clone())
}

impl Feeds {
    pub(crate) fn new() -> Self {
        Self(Cache::new(BOUNDS))
    }

    /// Removes the feeds that have expired at `now`.
    pub(crate) fn sweep(&self, now: Instant) {
        self.0.sweep(now);
    }

    /// Forgets a feed that turned out to be none.
    pub(crate) fn forget(&self, request: &Request) {
        self.0.remove(&key(request));
    }

    /// Returns whether the feed is in memory, so that a check needs no request for it.
    pub(crate) fn has(&self, request: &Request) -> bool {
        self.0.contains_key(&key(request))
    }

    /// Returns the feed: the one in memory, the one that another check is fetching, or the result of `fetch`, which is
    /// kept for `ttl` if it is whole. Waits until `deadline` at most.
    pub(crate) fn get(
        &self,
        request: &Request,
        ttl: Duration,
        deadline: Instant,
        fetch: impl FnOnce() -> Result<Response, ProbeError>,
    ) -> Fetched {
        let fetched = self.0.get_or_compute(&key(request), deadline, || {
            let value = fetch().map(Arc::new);
            let kept = value.as_ref().ok().filter(|feed| is_whole(feed));
            Computed {
                ttl: if kept.is_some() { ttl } else { Duration::ZERO },
                weight: kept.map_or(0, |feed| feed.body.len()),
                value,
            }
        });
        fetched.unwrap_or(Err(ProbeError::Timeout(Phase::FirstByte)))
    }
}

/// Returns whether an answer is a list for all checks, and not an error page or a part of the list.
fn is_whole(feed: &Response) -> bool {
    // It is an answer to this request alone (RFC 9110, section 12.5.5).
    let is_of_query = feed.header("vary").is_some_and(|value| value.trim() == "*");
    (200..300).contains(&feed.status) && !feed.truncated && !feed.body.trim_ascii().is_empty() && !is_of_query
}
