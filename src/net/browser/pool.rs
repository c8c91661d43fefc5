//! The sessions, used again and again; one check has one at a time.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::egress::Gate;
use super::endpoint::{Opener, Opening, retire};
use super::session::Session;

/// See the file's head.
pub(super) struct Pool {
    free: Mutex<Vec<Slot>>,
    freed: Condvar,
    size: usize,
    opener: Arc<Opener>,
}

/// A place for a session, with its gate through the egress guard.
pub(super) struct Slot {
    pub(super) gate: Gate,
    /// The gate's address, as the browser reaches it.
    pub(super) proxy: String,
    session: State,
}

enum State {
    Empty,
    Opening(Opening),
    Open(Box<Session>),
}

impl Slot {
    pub(super) fn new(gate: Gate, proxy: String) -> Self {
        Self { gate, proxy, session: State::Empty }
    }
}

/// Why there is no session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoSession {
    /// It takes longer than the deadline.
    Late,
    /// It cannot be had; says why.
    Failed(String),
}

impl Pool {
    pub(super) fn new(slots: Vec<Slot>, opener: Arc<Opener>) -> Self {
        Self { size: slots.len(), free: Mutex::new(slots), freed: Condvar::new(), opener }
    }

    /// A place that nobody uses, at the latest at `deadline`.
    pub(super) fn take(&self, deadline: Instant) -> Option<Lease<'_>> {
        let mut free = self.free.lock();
        while free.is_empty() {
            if self.freed.wait_until(&mut free, deadline).timed_out() && free.is_empty() {
                return None;
            }
        }
        // One with a browser, if there is any.
        let at = free.iter().rposition(|slot| matches!(slot.session, State::Open(_)));
        let at = at.or_else(|| free.iter().rposition(|slot| matches!(slot.session, State::Opening(_))));
        let slot = free.remove(at.unwrap_or_default());
        Some(Lease { pool: self, slot: Some(slot) })
    }

    /// A place without a browser, or whose browser is still being started; where all have one, any.
    pub(super) fn take_unopened(&self) -> Option<Lease<'_>> {
        let mut free = self.free.lock();
        let at = free.iter().position(|slot| !matches!(slot.session, State::Open(_)));
        if free.is_empty() {
            return None;
        }
        let slot = free.remove(at.unwrap_or_default());
        Some(Lease { pool: self, slot: Some(slot) })
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Places that checks have now.
    pub(super) fn busy(&self) -> usize {
        self.size - self.free.lock().len().min(self.size)
    }

    /// Ends the sessions of all places that nobody uses; those in use are ended when they come back.
    pub(super) fn close(&self) {
        let mut free = std::mem::take(&mut *self.free.lock());
        for slot in &mut free {
            if let State::Open(session) = std::mem::replace(&mut slot.session, State::Empty) {
                session.close();
            }
        }
        self.free.lock().append(&mut free);
    }
}

/// A place for as long as a check needs it.
pub(super) struct Lease<'p> {
    pool: &'p Pool,
    slot: Option<Slot>,
}

impl Lease<'_> {
    fn slot(&mut self) -> &mut Slot {
        // Taken out by `drop` alone.
        #[expect(clippy::expect_used, reason = "a lease holds its place until it is dropped")]
        self.slot.as_mut().expect("a lease has a place")
    }

    /// The gate of this place.
    pub(super) fn gate(&mut self) -> &Gate {
        &self.slot().gate
    }

    /// Sees to it that this place has a session for one more page: the one that is there, or a new one.
    pub(super) fn fill(&mut self, deadline: Instant) -> Result<(), NoSession> {
        if matches!(&self.slot().session, State::Open(session) if session.is_spent()) {
            self.retire();
        }
        if matches!(self.slot().session, State::Empty) {
            let opener = Arc::clone(&self.pool.opener);
            let slot = self.slot();
            slot.session = State::Opening(opener.begin(&slot.proxy));
        }
        if let State::Opening(opening) = &self.slot().session {
            match opening.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Ok(session)) => self.slot().session = State::Open(Box::new(session)),
                Err(RecvTimeoutError::Timeout) => return Err(NoSession::Late),
                failed => {
                    self.slot().session = State::Empty;
                    let why = failed.ok().and_then(Result::err);
                    return Err(NoSession::Failed(why.unwrap_or_else(|| "it broke down".into())));
                }
            }
        }
        Ok(())
    }

    /// The session of this place, once it is filled.
    pub(super) fn session(&mut self) -> Option<&mut Session> {
        match &mut self.slot().session {
            State::Open(session) => Some(session),
            _ => None,
        }
    }

    /// Ends the session of this place, without waiting.
    pub(super) fn retire(&mut self) {
        if let State::Open(session) = std::mem::replace(&mut self.slot().session, State::Empty) {
            retire(*session);
        }
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if self.pool.opener.is_closed() {
            self.retire();
        }
        let Some(mut slot) = self.slot.take() else { return };
        slot.gate.end();
        // What has come meanwhile is no longer under way.
        if let State::Opening(opening) = &slot.session {
            match opening.try_recv() {
                Ok(Ok(session)) => slot.session = State::Open(Box::new(session)),
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => slot.session = State::Empty,
                Err(TryRecvError::Empty) => {}
            }
        }
        self.pool.free.lock().push(slot);
        self.pool.freed.notify_one();
    }
}
