//! Probes whether connections are still accepted and read.
//!
//! Fault of tiny_http: its accept loop can end by a panic that no return value reports. Workaround: the server sends
//! requests to itself, and notices panics of threads without a name, as tiny_http's threads are. Tests:
//! `running_out_of_threads`, `running_out_of_threads_without_a_panic_hook`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{panic, thread};

use uuid::Uuid;

use crate::http::config::PROBE_TIMEOUT;

/// A sender of probes, which recognises them when they arrive.
pub(super) struct Probe {
    /// A random path that no client can request. The sender's address would not do: it may belong to another client
    /// when a late probe arrives.
    path: String,
}

impl Probe {
    pub(super) fn new() -> Self {
        Self { path: format!("/{}", Uuid::new_v4().simple()) }
    }

    /// Returns whether a request is a probe.
    pub(super) fn is_probe(&self, request: &tiny_http::Request) -> bool {
        request.url() == self.path
    }

    /// Answers a probe. It never blocks: the few bytes fit into the socket's buffer.
    pub(super) fn answer(request: tiny_http::Request) {
        let mut writer = request.into_writer();
        let _ = writer.write_all(ANSWER);
        let _ = writer.flush();
    }

    /// Sends a request to the server itself and waits for the answer. Only an answer proves that connections are
    /// accepted and read: an established connection may still wait in the backlog.
    pub(super) fn is_answered(&self, own: SocketAddr) -> io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&own, PROBE_TIMEOUT)?;
        stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
        stream.set_write_timeout(Some(PROBE_TIMEOUT))?;
        // tiny_http closes the connection after a request of HTTP/1.0.
        let request = format!("GET {} HTTP/1.0\r\n\r\n", self.path);
        let mut answer = [0; ANSWER.len()];
        Ok(stream.write_all(request.as_bytes()).and_then(|()| stream.read_exact(&mut answer)).is_ok())
    }
}

const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

/// Opens and closes a connection to the server itself. tiny_http looks for connections without a thread whenever it
/// accepts one.
pub(super) fn connect_to_self(own: SocketAddr) -> io::Result<()> {
    TcpStream::connect_timeout(&own, PROBE_TIMEOUT).map(drop)
}

/// Whether a thread without a name has panicked.
static UNNAMED_THREAD_PANICKED: AtomicBool = AtomicBool::new(false);

/// Installs a panic hook that records panics of threads without a name, and then calls the previous hook.
pub(super) fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if thread::current().name().is_none() {
                UNNAMED_THREAD_PANICKED.store(true, Ordering::Release);
            }
            previous(info);
        }));
    });
}

/// Returns whether a thread without a name has panicked since the last call.
pub(super) fn take_panic() -> bool {
    UNNAMED_THREAD_PANICKED.swap(false, Ordering::AcqRel)
}
