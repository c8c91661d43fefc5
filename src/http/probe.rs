//! Knocking on the own door.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{panic, thread};

use parking_lot::Mutex;

use super::config::PROBE_TIMEOUT;
use super::sockets::peer_key;

/// The probes under way, by their own addresses.
#[derive(Default)]
pub(super) struct Probes {
    under_way: Mutex<HashSet<SocketAddr>>,
}

impl Probes {
    /// Whether a request from this peer is a probe.
    pub(super) fn is_ours(&self, peer: SocketAddr) -> bool {
        let under_way = self.under_way.lock();
        !under_way.is_empty() && under_way.contains(&peer_key(peer))
    }

    /// Answers a probe: a few bytes into an empty socket.
    pub(super) fn answer(request: tiny_http::Request) {
        let mut writer = request.into_writer();
        let _ = writer.write_all(ANSWER);
        let _ = writer.flush();
    }

    /// Sends a request to the own server and waits for the answer: only that proves that connections
    /// are accepted and read; one that is merely established sits in the backlog.
    pub(super) fn is_answered(&self, own: SocketAddr) -> io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&own, PROBE_TIMEOUT)?;
        let _under_way = UnderWay::enter(self, peer_key(stream.local_addr()?));
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        stream.set_write_timeout(Some(PROBE_TIMEOUT))?;
        let mut answer = [0; ANSWER.len()];
        Ok(stream.write_all(REQUEST).and_then(|()| stream.read_exact(&mut answer)).is_ok())
    }
}

/// HTTP/1.0: tiny_http closes the connection after it.
const REQUEST: &[u8] = b"GET / HTTP/1.0\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

struct UnderWay<'a> {
    probes: &'a Probes,
    address: SocketAddr,
}

impl<'a> UnderWay<'a> {
    fn enter(probes: &'a Probes, address: SocketAddr) -> Self {
        probes.under_way.lock().insert(address);
        Self { probes, address }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.probes.under_way.lock().remove(&self.address);
    }
}

/// Makes tiny_http take another look at its waiting connections: every new one does.
pub(super) fn poke(own: SocketAddr) -> io::Result<()> {
    TcpStream::connect_timeout(&own, PROBE_TIMEOUT).map(drop)
}

/// Set when a thread without a name panicked, which is what tiny_http's are: its accept loop may be gone.
static A_NAMELESS_THREAD_PANICKED: AtomicBool = AtomicBool::new(false);

/// Has panics of threads without a name noticed, besides what the program does about panics.
pub(super) fn notice_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name().is_none() {
                A_NAMELESS_THREAD_PANICKED.store(true, Ordering::Release);
            }
            before(info);
        }));
    });
}

/// Whether one panicked since the last time this was asked.
pub(super) fn take_panic_notice() -> bool {
    A_NAMELESS_THREAD_PANICKED.swap(false, Ordering::AcqRel)
}
