//! What an operator can set, and every constant with its reason.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::forwarded::Network;

/// How the server listens, and where its limits are. `Default` is fit for production behind a reverse proxy.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen. Port 0 takes a free one. Default 127.0.0.1:8080: the open network is a reverse
    /// proxy's place; see [`super::Server::bind`].
    pub listen: SocketAddr,
    /// Threads that run the handler. Default 16: a handler is short and never waits for a run.
    pub request_workers: usize,
    /// Requests that may wait for a worker; one more is answered 503 at once. Default 1,024: at
    /// thousands of requests a second that is well under a second of waiting.
    pub request_queue: usize,
    /// Threads for [`super::Reply::Later`], [`super::Reply::Stream`] and answers to slow readers together.
    /// Default 2,000; each costs a thread on top of its connection's.
    pub max_streams: usize,
    /// Stack of each such thread. Default 256 KiB: only touched pages cost memory, and the product's code
    /// (SQL, JSON) runs on it. A stream that only copies bytes still works with 32 KiB.
    pub stream_stack_bytes: usize,
    /// The largest body a request may have. Default 64 KiB.
    pub max_body_bytes: usize,
    /// Threads that read bodies that did not come with the head. Default 8: a body is at most
    /// `max_body_bytes`, so a reader is busy for long only with a slow client, at most `body_timeout`.
    pub body_workers: usize,
    /// Time for a whole body to come. Default 10 s.
    pub body_timeout: Duration,
    /// A connection that sends nothing for this long is closed. Default 15 s; a proxy's idle upstream
    /// connections must end before.
    pub idle_timeout: Duration,
    /// Time for a whole head to come, counted from the connection's start or its last answer; what sends a
    /// byte now and then is cut off by it. Default 30 s; must exceed `idle_timeout`.
    pub head_timeout: Duration,
    /// A reader of a plain answer that takes nothing for this long is cut off. Default 10 s.
    pub write_timeout: Duration,
    /// A stream's reader that takes nothing for this long is cut off. Default 30 s.
    pub stream_write_timeout: Duration,
    /// A peer that acknowledges nothing for this long, neither data nor a request for a sign of life, has
    /// vanished: its connection ends. Default 20 s.
    pub vanish_timeout: Duration,
    /// An idle peer is asked for a sign of life after this time. Default 30 s; whole seconds.
    pub keepalive_after: Duration,
    /// Pace of the probes that tell whether connections are still accepted. Default 1 s. Each is an accepted
    /// connection: with `idle_timeout` shorter than this, `accept()` times out and has to be begun again.
    pub probe_every: Duration,
    /// Connections at once; over it the longest idle ones are closed. Default `None`: what the limit on
    /// file descriptors leaves room for.
    pub max_connections: Option<usize>,
    /// Peers whose `X-Forwarded-For` is believed. Default none.
    pub trusted_proxies: Vec<Network>,
    /// Set the soft limit on file descriptors to what the machine can serve. Default true.
    pub adjust_descriptor_limit: bool,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            request_workers: 16,
            request_queue: 1024,
            max_streams: 2000,
            stream_stack_bytes: 256 * 1024,
            max_body_bytes: 64 * 1024,
            body_workers: 8,
            body_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(15),
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(10),
            stream_write_timeout: Duration::from_secs(30),
            vanish_timeout: Duration::from_secs(20),
            keepalive_after: Duration::from_secs(30),
            probe_every: Duration::from_secs(1),
            max_connections: None,
            trusted_proxies: Vec::new(),
            adjust_descriptor_limit: true,
        }
    }
}

impl ServerConfig {
    /// Says what is out of range.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`], naming the field and what is allowed.
    pub fn validate(&self) -> io::Result<()> {
        let at_least_one = [
            ("request_workers", self.request_workers),
            ("request_queue", self.request_queue),
            ("max_streams", self.max_streams),
            ("body_workers", self.body_workers),
            ("max_body_bytes", self.max_body_bytes),
            ("max_connections", self.max_connections.unwrap_or(1)),
        ];
        for (name, value) in at_least_one {
            if value == 0 {
                return Err(invalid(&format!("{name} is 0; at least 1 is allowed")));
            }
        }
        if self.max_body_bytes > MAX_BODY_CEILING {
            let text = format!("max_body_bytes is {}; at most {MAX_BODY_CEILING}", self.max_body_bytes);
            return Err(invalid(&text));
        }
        let times = [
            ("body_timeout", self.body_timeout),
            ("idle_timeout", self.idle_timeout),
            ("write_timeout", self.write_timeout),
            ("stream_write_timeout", self.stream_write_timeout),
            ("probe_every", self.probe_every),
        ];
        for (name, value) in times {
            if value < SHORTEST_TIMEOUT {
                return Err(invalid(&format!(
                    "{name} is {value:?}; at least {SHORTEST_TIMEOUT:?} is allowed"
                )));
            }
        }
        for (name, value) in
            [("vanish_timeout", self.vanish_timeout), ("keepalive_after", self.keepalive_after)]
        {
            if value < SHORTEST_KEEPALIVE {
                return Err(invalid(&format!(
                    "{name} is {value:?}; at least {SHORTEST_KEEPALIVE:?} is allowed"
                )));
            }
        }
        if self.head_timeout <= self.idle_timeout {
            return Err(invalid("head_timeout must be longer than idle_timeout"));
        }
        Ok(())
    }
}

fn invalid(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("server configuration: {text}"))
}

/// A body is held in memory as a whole.
const MAX_BODY_CEILING: usize = 64 * 1024 * 1024;
/// Shorter ones would cut off readers for the machine's own pauses.
const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
/// The kernel counts signs of life in whole seconds.
const SHORTEST_KEEPALIVE: Duration = Duration::from_secs(1);

/// Connections that wait for `accept()`: they sit through a restart of the accept loop. The kernel
/// cuts it to `somaxconn`.
pub(super) const BACKLOG: i32 = 1024;
/// Bounds how many pipelined requests can lie in the kernel for tiny_http to queue (it has no bound of its
/// own): 60 KiB (120 KiB, as the kernel doubles it) are about 6,500 of the shortest. A socket that is left alone
/// begins with 128 KiB and grows.
pub(super) const RECEIVE_BUFFER_BYTES: usize = 60 * 1024;
/// An answer of up to about this size leaves a worker at once, whatever the reader does; and a stream that is
/// not read holds no more than this (doubled by the kernel).
pub(super) const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// How long one write may wait. Short, so that a worker finds out soon that a reader is slow and hands the
/// answer over to a thread of its own; how long the reader may stall is `write_timeout`.
pub(super) const SEND_PATIENCE: Duration = Duration::from_millis(250);
/// A peer that gave no sign of life is asked so many times within `vanish_timeout`.
pub(super) const SIGNS_OF_LIFE: u32 = 4;
/// A whole plain answer must be out by then, however steadily a reader takes a byte.
pub(super) const ANSWER_DEADLINE: Duration = Duration::from_secs(60);

/// Longest request target; longer is 414. What common servers and proxies take.
pub(super) const MAX_TARGET_BYTES: usize = 8 * 1024;
/// Names and values of all headers together; more is 431. Proxies allow 32 KiB at most by default.
pub(super) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// Number of headers; more is 431.
pub(super) const MAX_HEADERS: usize = 100;
/// tiny_http has read a body of up to this size before we see the request.
pub(super) const INLINE_BODY_BYTES: u64 = 1024;
/// Pipelined requests that may wait behind the one in hand; one more ends the connection.
pub(super) const MAX_PIPELINED: usize = 16;

/// Threads that word refusals: quick work, away from the request workers, which may be what is used up.
pub(super) const REFUSAL_WORKERS: usize = 2;
/// Refusals that may wait; beyond it a connection is closed without a word.
pub(super) const REFUSAL_QUEUE: usize = 512;
/// Stack of the pools' threads: they run the product's code.
pub(super) const WORKER_STACK_BYTES: usize = 1024 * 1024;
/// Stack of the server's own threads: shallow code.
pub(super) const OWN_STACK_BYTES: usize = 128 * 1024;

/// What a refused client is told to wait when workers are used up: a queue clears quickly.
pub(super) const RETRY_AFTER_QUEUE: Duration = Duration::from_secs(1);
/// The same when streams are used up: they last.
pub(super) const RETRY_AFTER_STREAMS: Duration = Duration::from_secs(5);

/// How long a closing connection may take to read the last answer: closing earlier would reset it and
/// could destroy the answer on its way.
pub(super) const LINGER: Duration = Duration::from_secs(2);
/// What a closing connection may still send before it is cut off.
pub(super) const LINGER_BYTES: usize = 1024 * 1024;
/// Pace of the closing thread while it has work.
pub(super) const CLOSING_TICK: Duration = Duration::from_millis(10);

/// Pace of the look at all sockets: a connection that tiny_http forgot is poked on the second look.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(40);
/// The same when someone has just connected, which is when tiny_http forgets: it accepts in microseconds, on a
/// crowded machine in a few of these.
pub(super) const LOOK_AT_NEW: Duration = Duration::from_millis(5);
/// A connection is new for so long, or until its first request.
pub(super) const NEW_FOR: Duration = Duration::from_millis(250);
/// A look may take at most this part of the time: with very many sockets looks get rarer.
pub(super) const LOOK_SHARE: u32 = 50;
/// But no rarer: on a crowded machine a look takes long because it is interrupted.
pub(super) const LONGEST_LOOK_PAUSE: Duration = Duration::from_millis(400);
/// Pokes a look: more are done at the next.
pub(super) const MAX_POKES: usize = 64;
/// An answer to a probe takes microseconds; only a crowded machine needs a good part of this.
pub(super) const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// First and longest pause between attempts to rebuild the accept loop.
pub(super) const REBUILD_BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// Descriptors that must be free before the accept loop is rebuilt: it would die of the next connection.
pub(super) const REBUILD_DESCRIPTORS: usize = 8;
/// A dead accept loop's receiver stays until its connections must have ended: idle ones end by
/// `idle_timeout`, busy ones are counted.
pub(super) const RETIRE_AFTER: Duration = Duration::from_secs(120);
