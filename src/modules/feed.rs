//! Feeds: lists that are the same for every query, fetched once and shared by all checks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::answer::Parsed;
use super::memo::{Bounds, FAIR_TRY, Made, Memo};
use super::probe::{Phase, ProbeError, Request, Response};

/// The most bytes of a feed's (decoded) body that are read.
pub const MAX_FEED_BYTES: usize = 8 * 1024 * 1024;
/// How soon a fetch that failed is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// What is kept in memory: so many feeds, so many bytes with all that is made of them.
const BOUNDS: Bounds = Bounds { entries: 64, weight: 128 * 1024 * 1024 };

/// A fetched feed.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) response: Response,
    /// Its text and its JSON, made once.
    pub(crate) parsed: Parsed,
}

/// What a feed is known by: all of its request but who asks. It may hold an operator's key: never shown.
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

/// A feed, or why there is none.
pub(crate) type Fetched = Result<Arc<Feed>, ProbeError>;

/// All feeds. One for a process.
pub(crate) struct Feeds {
    memo: Memo<Key, Fetched>,
}

impl Feeds {
    pub(crate) fn new() -> Self {
        Self { memo: Memo::new(BOUNDS) }
    }

    /// Whether a check that wants it needs no request.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.memo.knows(key)
    }

    /// Drops what is over.
    pub(crate) fn sweep(&self, now: Instant) {
        self.memo.sweep(now);
    }

    /// The feed: a kept one (for `keep`), the one that another check is fetching, or what `fetch` brings;
    /// at the latest at `deadline`. `is_sound` says whether an answer is the list, and no error page.
    pub(crate) fn get(
        &self,
        key: &Key,
        keep: Duration,
        deadline: Instant,
        fetch: impl FnOnce() -> Result<Response, ProbeError>,
        is_sound: impl FnOnce(&Feed) -> bool,
    ) -> Fetched {
        let fetched = self.memo.get(key, deadline, || {
            let began = Instant::now();
            let value = fetch().map(|response| Arc::new(Feed { response, parsed: Parsed::default() }));
            let keep = match &value {
                Ok(feed) if is_sound(feed) => keep,
                Err(ProbeError::Timeout(_)) if began.elapsed() < FAIR_TRY => Duration::ZERO,
                _ => RETRY_AFTER,
            };
            let weight = value.as_ref().map_or(0, |feed| weight(&feed.response));
            Made { value, keep, weight }
        });
        fetched.unwrap_or(Err(ProbeError::Timeout(Phase::FirstByte)))
    }
}

/// About what a feed takes up once it was read: the bytes, their text, its lower-case form, or, many
/// times as large, the values of a JSON document.
fn weight(response: &Response) -> usize {
    let is_json = response
        .body
        .iter()
        .find(|byte| !byte.is_ascii_whitespace())
        .is_some_and(|byte| b"[{".contains(byte));
    response.body.len() * if is_json { 12 } else { 3 }
}
