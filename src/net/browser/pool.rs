//! The sessions, used again and again; one check has one at a time.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::egress::Gate;
use super::endpoint::{Opener, Opening};
use super::session::Session;

/// How soon whoever waits for a session looks whether there is another, or none to come.
const LOOK: Duration = Duration::from_millis(100);

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

/// A session that is dropped ends; one that is being opened, once it is there.
enum State {
    Empty,
    Opening(Opening),
    Open(Box<Session>),
}

impl Slot {
    pub(super) fn new(gate: Gate, proxy: String) -> Self {
        Self { gate, proxy, session: State::Empty }
    }

    fn is_open(&self) -> bool {
        matches!(self.session, State::Open(_))
    }

    /// What has come meanwhile is no longer under way; what is of no more use ends: an endpoint may have no other.
    fn tidy(&mut self) {
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
        let at = free.iter().rposition(Slot::is_open);
        let at = at.or_else(|| free.iter().rposition(|slot| matches!(slot.session, State::Opening(_))));
        let slot = free.remove(at.unwrap_or_default());
        Some(Lease { pool: self, slot: Some(slot) })
    }

    /// A place without a browser, or whose browser is still being started; where all have one, any.
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

    /// Places that checks have now.
    pub(super) fn busy(&self) -> usize {
        self.size - self.free.lock().len().min(self.size)
    }

    /// Ends all sessions; those in use when they come back. Waits for that, at the latest until then.
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

    /// Sees to it that there is a session for one more page: that of this place, or of another that comes free
    /// meanwhile, for an endpoint may have fewer sessions than there are places.
    pub(super) fn fill(&mut self, deadline: Instant) -> Result<(), NoSession> {
        while !self.is_filled(deadline.min(Instant::now() + LOOK))? {
            if Instant::now() >= deadline {
                return Err(NoSession::Late);
            }
            self.change_places();
        }
        Ok(())
    }

    /// Sees how a start in this very place ends.
    pub(super) fn try_start(&mut self, deadline: Instant) -> Result<(), NoSession> {
        while !self.is_filled(deadline.min(Instant::now() + LOOK))? {
            if Instant::now() >= deadline {
                return Err(NoSession::Late);
            }
        }
        Ok(())
    }

    /// Whether this place has a session by then; one is begun to be opened where there is none.
    fn is_filled(&mut self, until: Instant) -> Result<bool, NoSession> {
        let opener = Arc::clone(&self.pool.opener);
        if opener.is_closed() {
            return Err(NoSession::Failed("the service is ending".into()));
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
                return Err(NoSession::Failed(why.unwrap_or_else(|| "it broke down".into())));
            }
        }
        Ok(true)
    }

    /// Leaves this place for one that has a browser, if there is any.
    fn change_places(&mut self) {
        let mut free = self.pool.free.lock();
        let Some(at) = free.iter().rposition(Slot::is_open) else { return };
        let other = free.remove(at);
        free.extend(self.slot.replace(other));
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
        self.slot().session = State::Empty;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let Some(mut slot) = self.slot.take() else { return };
        slot.gate.end();
        slot.tidy();
        let mut free = self.pool.free.lock();
        // Under the lock: a pool that closes from here on finds it.
        if self.pool.opener.is_closed() {
            slot.session = State::Empty;
        }
        free.push(slot);
        self.pool.freed.notify_all();
    }
}

#[cfg(test)]
mod tests;
