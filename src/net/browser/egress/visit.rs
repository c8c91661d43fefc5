//! What belongs to one page that is looked at.

use std::collections::HashMap;
use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Host;

use crate::modules::probe::{ProbeError, Response, Trace};

/// The most bytes that a page with all its parts may load.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Hosts whose refusal is remembered: that of the page itself is among the first.
const MAX_REFUSALS: usize = 64;
/// How soon a blocked thread notices that the visit is over.
pub(super) const LOOK: Duration = Duration::from_millis(250);
/// The longest that whoever is written to may be deaf.
const LONGEST_DEAF: Duration = Duration::from_secs(10);

/// One page, from its opening to its closing.
pub(in crate::net) struct Visit {
    /// Who asks, for the simulated web.
    pub(super) trace: Trace,
    pub(super) deadline: Instant,
    over: AtomicBool,
    bytes: AtomicU64,
    refusals: Mutex<Vec<(String, ProbeError)>>,
    /// Of a simulated web: answers that a redirect leads to, by address.
    pub(super) ahead: Mutex<HashMap<String, Response>>,
}

impl Visit {
    pub(in crate::net) fn new(trace: Trace, deadline: Instant) -> Self {
        Self {
            trace,
            deadline,
            over: AtomicBool::new(false),
            bytes: AtomicU64::new(0),
            refusals: Mutex::default(),
            ahead: Mutex::default(),
        }
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }

    /// Counts what was read from a server.
    pub(super) fn count(&self, bytes: usize) -> io::Result<()> {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if before + bytes as u64 > MAX_BYTES {
            return Err(io::Error::other("the page loads too much"));
        }
        Ok(())
    }

    /// Keeps why a host could not be asked.
    pub(super) fn refuse(&self, host: &Host, why: ProbeError) {
        let mut refusals = self.refusals.lock();
        let host = host.to_string();
        if refusals.len() < MAX_REFUSALS && !refusals.iter().any(|(known, _)| *known == host) {
            refusals.push((host, why));
        }
    }

    /// Why a host could not be asked, if that is so.
    pub(in crate::net) fn refusal(&self, host: &str) -> Option<ProbeError> {
        self.refusals.lock().iter().find(|(known, _)| known == host).map(|(_, why)| why.clone())
    }

    /// That the page and its parts have loaded too much.
    pub(in crate::net) fn is_too_large(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MAX_BYTES
    }
}

/// Reads and writes until the visit is over, and not a byte longer: who sends one now and then, or takes one, must not
/// outlast it.
pub(super) struct Timed<'a> {
    stream: &'a TcpStream,
    visit: &'a Visit,
}

impl<'a> Timed<'a> {
    pub(super) fn new(stream: &'a TcpStream, visit: &'a Visit) -> io::Result<Self> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self { stream, visit })
    }

    fn go_on(&self) -> io::Result<()> {
        if self.visit.is_over() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.go_on()?;
            match self.stream.read(buffer) {
                Err(error) if is_not_yet(&error) => {}
                done => return done,
            }
        }
    }
}

impl io::Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            self.go_on()?;
            match self.stream.write(bytes) {
                Err(error) if is_not_yet(&error) && began.elapsed() < LONGEST_DEAF => {}
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Nothing has come so far, or nothing can be taken.
pub(super) fn is_not_yet(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
