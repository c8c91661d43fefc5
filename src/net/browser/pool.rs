//! The pool of sessions, which are used again. A check leases one at a time.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::egress::EgressProxy;
use super::endpoint::{Opener, Opening};
use super::session::Session;

/// The interval at which a waiting check looks for another session.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The slots for sessions.
pub(super) struct Pool {
    free: Mutex<Vec<Slot>>,
    freed: Condvar,
    size: usize,
    opener: Arc<Opener>,
}

/// A slot for a session, with its egress proxy.
pub(super) struct Slot {
    pub(super) egress: EgressProxy,
    /// The address of the egress proxy, as the browser reaches it.
    pub(super) proxy: String,
    session: State,
}

/// The session of a slot. Dropping it ends the session, or ends it as soon as it is open.
enum State {
    Empty,
    Opening(Opening),
    Open(Box<Session>),
}

impl Slot {
    pub(super) fn new(egress: EgressProxy, proxy: String) -> Self {
        Self { egress, proxy, session: State::Empty }
    }

    fn is_open(&self) -> bool {
        matches!(self.session, State::Open(_))
    }

    /// Takes a session that has been opened meanwhile, and ends a session that cannot be used again, because its
    /// endpoint may allow no other.
    fn update(&mut self) {
        if let State::Opening(opening) = &self.session {
            match opening.try_recv() {
                Ok(Ok(session)) => self.session = State::Open(Box::new(session)),
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => self.session = State::Empty,
                Err(TryRecvError::Empty) => {}
            }
        }
        if matches!(&self.session, State::Open(session) if session.is_spent()) {
            self.session = State::Empty;
        }
    }
}

/// The reason why there is no session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoSession {
    /// Opening a session takes longer than the deadline.
    Late,
    /// A session cannot be opened, for the contained reason.
    Failed(String),
}

impl Pool {
    pub(super) fn new(slots: Vec<Slot>, opener: Arc<Opener>) -> Self {
        Self { size: slots.len(), free: Mutex::new(slots), freed: Condvar::new(), opener }
    }

    /// Leases a free slot. Waits until `deadline` at most.
    pub(super) fn take(&self, deadline: Instant) -> Option<Lease<'_>> {
        let mut free = self.free.lock();
        while free.is_empty() {
            if self.freed.wait_until(&mut free, deadline).timed_out() && free.is_empty() {
                return None;
            }
        }
        // A slot with an open session comes first.
        let at = free.iter().rposition(Slot::is_open);
        let at = at.or_else(|| free.iter().rposition(|slot| matches!(slot.session, State::Opening(_))));
        let slot = free.remove(at.unwrap_or_default());
        Some(Lease { pool: self, slot: Some(slot) })
    }

    /// Leases a free slot without an open session, or any free slot if all have one.
    pub(super) fn take_unopened(&self) -> Option<Lease<'_>> {
        let mut free = self.free.lock();
        let at = free.iter().position(|slot| !slot.is_open());
        if free.is_empty() {
            return None;
        }
        let slot = free.remove(at.unwrap_or_default());
        Some(Lease { pool: self, slot: Some(slot) })
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of leased slots.
    pub(super) fn busy(&self) -> usize {
        self.size - self.free.lock().len().min(self.size)
    }

    /// Ends all sessions. Sessions in use end when their lease does. Waits for that until `until` at most.
    pub(super) fn close(&self, until: Instant) {
        let mut free = self.free.lock();
        loop {
            for slot in free.iter_mut() {
                slot.session = State::Empty;
            }
            if free.len() >= self.size || self.freed.wait_until(&mut free, until).timed_out() {
                return;
            }
        }
    }
}

/// A leased slot. Dropping it returns the slot.
pub(super) struct Lease<'p> {
    pool: &'p Pool,
    slot: Option<Slot>,
}

impl Lease<'_> {
    fn slot(&mut self) -> &mut Slot {
        // Only `drop` takes the slot out.
        #[expect(clippy::expect_used, reason = "a lease holds its slot until it is dropped")]
        self.slot.as_mut().expect("a lease has a slot")
    }

    /// Returns the egress proxy of this slot.
    pub(super) fn egress(&mut self) -> &EgressProxy {
        &self.slot().egress
    }

    /// Waits for a session: that of this slot, or of another slot that becomes free. An endpoint may allow fewer
    /// sessions than there are slots.
    pub(super) fn fill(&mut self, deadline: Instant) -> Result<(), NoSession> {
        while !self.is_filled(deadline.min(Instant::now() + CHECK_INTERVAL))? {
            if Instant::now() >= deadline {
                return Err(NoSession::Late);
            }
            self.exchange_slot();
        }
        Ok(())
    }

    /// Waits for a session of this slot.
    pub(super) fn try_start(&mut self, deadline: Instant) -> Result<(), NoSession> {
        while !self.is_filled(deadline.min(Instant::now() + CHECK_INTERVAL))? {
            if Instant::now() >= deadline {
                return Err(NoSession::Late);
            }
        }
        Ok(())
    }

    /// Returns whether this slot gets a session before `until`. Starts opening one if there is none.
    fn is_filled(&mut self, until: Instant) -> Result<bool, NoSession> {
        let opener = Arc::clone(&self.pool.opener);
        if opener.is_closed() {
            return Err(NoSession::Failed("the service is shutting down".into()));
        }
        let slot = self.slot();
        if matches!(slot.session, State::Empty) {
            slot.session = State::Opening(opener.begin(&slot.proxy));
        }
        let State::Opening(opening) = &slot.session else { return Ok(true) };
        match opening.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ok(session)) => slot.session = State::Open(Box::new(session)),
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            failed => {
                slot.session = State::Empty;
                let why = failed.ok().and_then(Result::err);
                return Err(NoSession::Failed(why.unwrap_or_else(|| "opening the session panicked".into())));
            }
        }
        Ok(true)
    }

    /// Exchanges this slot for a free one with an open session, if there is one.
    fn exchange_slot(&mut self) {
        let mut free = self.pool.free.lock();
        let Some(at) = free.iter().rposition(Slot::is_open) else { return };
        let other = free.remove(at);
        free.extend(self.slot.replace(other));
    }

    /// Returns the session of this slot, if it is open.
    pub(super) fn session(&mut self) -> Option<&mut Session> {
        match &mut self.slot().session {
            State::Open(session) => Some(session),
            _ => None,
        }
    }

    /// Ends the session of this slot without waiting.
    pub(super) fn retire(&mut self) {
        self.slot().session = State::Empty;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let Some(mut slot) = self.slot.take() else { return };
        slot.egress.end();
        slot.update();
        let mut free = self.pool.free.lock();
        // Checked under the lock: a pool that is closed later finds the slot.
        if self.pool.opener.is_closed() {
            slot.session = State::Empty;
        }
        free.push(slot);
        self.pool.freed.notify_all();
    }
}

#[cfg(test)]
mod tests;
