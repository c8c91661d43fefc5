//! [`Pool`]: a limited number of connections, which callers get in the order in which they came.
//!
//! A caller that waits for a lock keeps its connection. Therefore each database has a pool for reading and one for
//! writing: callers that write may wait for each other, but nobody who only reads waits for them. While all connections
//! are blocked, only a part of the request workers waits for one, so that others can answer further requests.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::error::Result;
use super::limits::{BACKGROUND_WAIT, CROWDED_WAIT, WAITING_REQUESTS};
use super::tx::Tx;
use crate::base::storage::StorageError;

/// Connections for one purpose. They are made when they are needed, and kept.
pub(super) struct Pool {
    max: usize,
    state: Mutex<State>,
    freed: Condvar,
}

struct State {
    idle: Vec<Tx>,
    used: usize,
    waiting: usize,
    /// The time at which a connection was last given or returned.
    moved_at: Instant,
}

/// The right to use one of the connections.
pub(super) struct Place<'a>(&'a Pool);

impl Place<'_> {
    /// Keeps the connection for others, unless it is broken. One is closed if its user has panicked.
    pub(super) fn give_back(self, tx: Tx) {
        let mut state = self.0.state.lock();
        if !tx.is_broken() && state.idle.len() < self.0.max {
            state.idle.push(tx);
        }
    }
}

impl Pool {
    /// Creates a pool of at most `max` connections, at least one.
    pub(super) fn new(max: usize) -> Self {
        let state = State { idle: Vec::new(), used: 0, waiting: 0, moved_at: Instant::now() };
        Self { max: max.max(1), state: Mutex::new(state), freed: Condvar::new() }
    }

    /// Adds a connection that was made before, unless there are enough.
    pub(super) fn add(&self, connection: Tx) {
        let mut state = self.state.lock();
        if state.used + state.idle.len() < self.max {
            state.idle.push(connection);
        }
    }

    /// Takes an idle connection, or one from `make` if all are in use.
    ///
    /// # Errors
    /// Returns a [contended](StorageError::is_contended) error if no connection becomes free within `wait`. Returns the
    /// errors of `make`.
    pub(super) fn take(&self, wait: Duration, make: &dyn Fn() -> Result<Tx>) -> Result<(Tx, Place<'_>)> {
        let place = self.place(wait)?;
        let idle = self.state.lock().idle.pop();
        Ok((idle.map_or_else(make, Ok)?, place))
    }

    fn place(&self, wait: Duration) -> Result<Place<'_>> {
        let began = Instant::now();
        let mut state = self.state.lock();
        let is_in_crowd = wait < BACKGROUND_WAIT && state.waiting >= WAITING_REQUESTS;
        let mut has_waited = false;
        // Callers that wait already come first.
        while state.used >= self.max || (state.waiting > 0 && !has_waited) {
            let until = match is_in_crowd {
                true => (began + wait).min(state.moved_at + CROWDED_WAIT),
                false => began + wait,
            };
            if Instant::now() >= until {
                let millis = began.elapsed().as_millis();
                return Err(StorageError::contended(format!("no connection became free within {millis} ms")));
            }
            state.waiting += 1;
            self.freed.wait_until(&mut state, until);
            state.waiting -= 1;
            has_waited = true;
        }
        state.moved_at = Instant::now();
        state.used += 1;
        if state.used < self.max {
            self.freed.notify_one();
        }
        Ok(Place(self))
    }

    /// Returns the numbers of connections that are in use, idle, and allowed.
    pub(super) fn load(&self) -> [usize; 3] {
        let state = self.state.lock();
        [state.used, state.idle.len(), self.max]
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.used -= 1;
        state.moved_at = Instant::now();
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn connection() -> Result<Tx> {
        Ok(Tx::Sqlite(rusqlite::Connection::open_in_memory()?))
    }

    #[test]
    fn all_callers_get_their_turn_and_never_more_at_once_than_allowed() {
        let (pool, busy, made) = (Pool::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        let make = || {
            made.fetch_add(1, Ordering::SeqCst);
            connection()
        };
        let work = || {
            let (tx, place) = pool.take(PATIENCE, &make).unwrap();
            assert!(busy.fetch_add(1, Ordering::SeqCst) < 2);
            thread::yield_now();
            busy.fetch_sub(1, Ordering::SeqCst);
            place.give_back(tx);
        };
        thread::scope(|scope| {
            for _ in 0..32 {
                scope.spawn(|| (0..50).for_each(|_| work()));
            }
        });
        assert!(made.into_inner() <= 2);
        assert_eq!(pool.load()[0], 0);
    }

    #[test]
    fn broken_connections_are_replaced_and_failures_free_their_place() {
        let pool = Pool::new(1);
        for _ in 0..2 {
            let (mut tx, place) = pool.take(PATIENCE, &connection).unwrap();
            tx.batch("BEGIN", "").unwrap();
            place.give_back(tx);
        }
        assert_eq!(pool.load(), [0, 0, 1]);
        let refused = pool.take(PATIENCE, &|| Err(StorageError::unavailable("away")));
        assert!(!refused.err().unwrap().is_contended());
        let (tx, place) = pool.take(PATIENCE, &connection).unwrap();
        assert!(pool.take(Duration::ZERO, &connection).err().unwrap().is_contended());
        place.give_back(tx);
        assert_eq!(pool.load(), [0, 1, 1]);
    }
}
