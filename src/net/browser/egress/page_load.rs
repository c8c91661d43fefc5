//! The load of one page: its deadline, its bytes and its refused hosts.

use std::io::{self, Read};
use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Host;

use crate::modules::probe::ProbeError;

/// The maximum number of bytes that a page may load, including its sub-resources.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum number of remembered refusals. A refusal of the page itself is among the first.
const MAX_REFUSALS: usize = 64;
/// The time within which a blocked thread notices that the load of a page is over.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// The time after which a write fails if the reader takes nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// The load of one page, from its opening to its closing.
pub(in crate::net) struct PageLoad {
    pub(super) deadline: Instant,
    /// The addresses of the browser, if it is on another machine.
    clients: Vec<IpAddr>,
    over: AtomicBool,
    bytes: AtomicU64,
    refusals: Mutex<Vec<(String, ProbeError)>>,
}

impl PageLoad {
    pub(in crate::net) fn new(deadline: Instant, clients: Vec<IpAddr>) -> Self {
        let (over, bytes) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { deadline, clients, over, bytes, refusals: Mutex::default() }
    }

    /// Returns whether a client at that address may use the egress proxy.
    pub(super) fn serves(&self, client: IpAddr) -> bool {
        client.is_loopback() || self.clients.contains(&client)
    }

    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }

    /// Counts bytes that were read from a server.
    ///
    /// # Errors
    /// Returns an error if the page has loaded too many bytes.
    pub(super) fn count(&self, bytes: usize) -> io::Result<()> {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if before + bytes as u64 > MAX_BYTES {
            return Err(io::Error::other("the page loads too much"));
        }
        Ok(())
    }

    /// Stores the reason why a request to a host was refused.
    pub(super) fn refuse(&self, host: &Host, why: ProbeError) {
        let mut refusals = self.refusals.lock();
        let host = host.to_string();
        if refusals.len() < MAX_REFUSALS && !refusals.iter().any(|(known, _)| *known == host) {
            refusals.push((host, why));
        }
    }

    /// Returns the reason why a request to a host was refused, if one was.
    pub(in crate::net) fn refusal(&self, host: &str) -> Option<ProbeError> {
        self.refusals.lock().iter().find(|(known, _)| known == host).map(|(_, why)| why.clone())
    }

    /// Returns whether the page has loaded too many bytes.
    pub(in crate::net) fn is_too_large(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MAX_BYTES
    }
}

/// A stream whose reads and writes fail when the load of a page is over, even if the peer sends or takes single bytes.
pub(super) struct DeadlineStream<'a> {
    stream: &'a TcpStream,
    page_load: &'a PageLoad,
}

impl<'a> DeadlineStream<'a> {
    pub(super) fn new(stream: &'a TcpStream, page_load: &'a PageLoad) -> io::Result<Self> {
        stream.set_read_timeout(Some(CHECK_INTERVAL))?;
        stream.set_write_timeout(Some(CHECK_INTERVAL))?;
        Ok(Self { stream, page_load })
    }

    fn check(&self) -> io::Result<()> {
        if self.page_load.is_over() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            self.check()?;
            match self.stream.read(buffer) {
                Err(error) if is_not_yet(&error) => {}
                done => return done,
            }
        }
    }
}

impl io::Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let began = Instant::now();
        loop {
            self.check()?;
            match self.stream.write(bytes) {
                Err(error) if is_not_yet(&error) && began.elapsed() < WRITE_TIMEOUT => {}
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns whether a read or write has timed out or would block.
pub(super) fn is_not_yet(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}
