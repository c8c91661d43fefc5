//! Knocking on the own door.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{panic, thread};

use uuid::Uuid;

use super::config::PROBE_TIMEOUT;

/// Sends probes and knows them again.
pub(super) struct Probes {
    /// A path that nobody else can ask for. A probe's address would not do: a late one is nobody's.
    path: String,
}

impl Probes {
    pub(super) fn new() -> Self {
        Self { path: format!("/{}", Uuid::new_v4().simple()) }
    }

    /// Whether a request is a probe.
    pub(super) fn is_ours(&self, request: &tiny_http::Request) -> bool {
        request.url() == self.path
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
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        stream.set_write_timeout(Some(PROBE_TIMEOUT))?;
        // HTTP/1.0: tiny_http closes the connection after it.
        let request = format!("GET {} HTTP/1.0\r\n\r\n", self.path);
        let mut answer = [0; ANSWER.len()];
        Ok(stream.write_all(request.as_bytes()).and_then(|()| stream.read_exact(&mut answer)).is_ok())
    }
}

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

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
