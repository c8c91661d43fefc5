//! A cache for the state of the database, which load balancers ask for many times a second.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time for which the answer to a ping is valid. Health may be requested thousands of times a second.
const PING_TTL: Duration = Duration::from_millis(500);
/// The last answer of the database to a ping.
#[derive(Default)]
pub struct PingCache {
    last: Mutex<Option<(Instant, bool)>>,
    pinging: Mutex<()>,
}

impl PingCache {
    /// Returns whether the database answers. It is asked at most every [`PING_TTL`], by one caller at a time.
    /// Meanwhile the other callers get the last answer, so that none waits for a database that hangs.
    pub(super) fn is_ok(&self, ping: impl FnOnce() -> bool) -> bool {
        let last = *self.last.lock();
        if let Some((_, ok)) = last.filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let _turn = match (self.pinging.try_lock(), last) {
            (Some(turn), _) => turn,
            (None, Some((_, ok))) => return ok,
            (None, None) => self.pinging.lock(),
        };
        // A caller that waited for its turn takes the answer of the caller before it.
        if let Some((_, ok)) = self.last.lock().filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let ok = ping();
        *self.last.lock() = Some((Instant::now(), ok));
        ok
    }
}
