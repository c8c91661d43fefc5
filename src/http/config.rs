//! The server's configuration, and its constants with their reasons.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::message::forwarded::Network;

/// The configuration of a server. The defaults suit production behind a reverse proxy. Numbers are at least 1. Timeouts
/// are at least 100 ms, because a pause of the machine itself must not disconnect a reader.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// The address to listen on. Port 0 takes a free port. Default 127.0.0.1:8080, because only a reverse proxy
    /// should be reachable from other machines; see [`super::Server::bind`].
    pub listen: SocketAddr,
    /// The number of threads that run the handler. Default 16, because a handler is quick and never waits for a
    /// search.
    pub request_workers: usize,
    /// The maximum number of requests that wait for a worker. Further ones are answered with 503. Default 1,024: at
    /// thousands of requests per second they wait for less than a second.
    pub request_queue: usize,
    /// The maximum number of threads for [`super::Reply::Later`], [`super::Reply::Stream`] and answers to slow
    /// readers together. Default 2,000. Each is an addition to the thread of its connection.
    pub max_streams: usize,
    /// The stack size of each such thread, in bytes. Default 256 KiB: handlers that use SQL and JSON run on it, and
    /// only used pages cost memory. A stream that only copies bytes works with 32 KiB.
    pub stream_stack_bytes: usize,
    /// The maximum size of a request's body, which is held in memory as a whole, in bytes. Default 64 KiB.
    pub max_body_bytes: usize,
    /// The paths with another maximum size of a request's body, in bytes. Default none.
    pub larger_bodies: &'static [(&'static str, usize)],
    /// The maximum number of bodies that are read at the same time, each on a separate thread. Further requests are
    /// answered with 503. Bodies of up to 1,024 bytes come with the head and do not count. Default 256: a body is at
    /// most `max_body_bytes` long and comes within `body_timeout`, so only many slow clients reach the limit.
    pub max_bodies: usize,
    /// The time limit for a whole body. Default 10 s.
    pub body_timeout: Duration,
    /// The time after which a connection that sends nothing is closed. Default 15 s. A proxy must close its idle
    /// upstream connections earlier.
    pub idle_timeout: Duration,
    /// The time limit for a whole head, from the start of the connection or its last answer. It ends connections that
    /// send single bytes. Default 30 s. It must be longer than `idle_timeout`.
    pub head_timeout: Duration,
    /// The time after which a reader that takes nothing of its answer is disconnected. Default 10 s.
    pub write_timeout: Duration,
    /// The time after which a reader that takes nothing of its stream is disconnected. Default 30 s.
    pub stream_write_timeout: Duration,
    /// The time after which a connection ends if the peer acknowledges neither data nor keepalive probes. Default 20
    /// s. At least 1 s, because Linux counts it in whole seconds.
    pub vanish_timeout: Duration,
    /// The time after which keepalive probes are sent on an idle connection, in whole seconds, at least 1 s. Default
    /// 30 s.
    pub keepalive_after: Duration,
    /// The interval of the probes whether connections are still accepted. Default 1 s. Each probe is an accepted
    /// connection: if `idle_timeout` is shorter than the interval, `accept()` times out and the accept loop is
    /// rebuilt.
    pub probe_every: Duration,
    /// The number of connections above which the longest idle ones are closed. Default `None`, which means as many as
    /// the limits on file descriptors and threads allow.
    pub max_connections: Option<usize>,
    /// The proxies whose `X-Forwarded-For` is trusted. Default none.
    pub trusted_proxies: Vec<Network>,
    /// Whether to set the soft limit on file descriptors to as many as the machine can serve. Default true.
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
            larger_bodies: &[],
            max_bodies: 256,
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
    /// Returns the maximum size of a request's body on that path.
    pub(super) fn max_body_bytes_on(&self, path: &str) -> usize {
        // The router ignores one slash at the end, too.
        let path = path.strip_suffix('/').unwrap_or(path);
        let larger = self.larger_bodies.iter().find(|(larger, _)| *larger == path);
        larger.map_or(self.max_body_bytes, |(_, bytes)| *bytes)
    }

    /// Returns the maximum size of a request's body on any path.
    pub(super) fn largest_body_bytes(&self) -> usize {
        let larger = self.larger_bodies.iter().map(|(_, bytes)| *bytes);
        larger.max().unwrap_or_default().max(self.max_body_bytes)
    }
}

/// The maximum number of connections that wait for `accept()`, for example while the accept loop is rebuilt. Linux
/// limits it to `somaxconn`.
pub(crate) const BACKLOG: i32 = 1024;
/// The size of the receive buffer of a connection. It bounds the pipelined requests that tiny_http can queue without
/// limit: 60 KiB, which Linux doubles, contain about 6,500 of the shortest ones. The default buffer begins with 128
/// KiB and grows.
pub(crate) const RECEIVE_BUFFER_BYTES: usize = 60 * 1024;
/// The size of the send buffer of a connection, which Linux doubles. An answer of up to about this size never waits
/// for its reader, and a stream that is not read uses no more memory than this.
pub(crate) const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// The time for which one write may wait. It is short, so that a worker soon notices a slow reader and leaves the
/// answer to another thread. The time for which the reader may stall is `write_timeout`.
pub(crate) const WRITE_WAIT: Duration = Duration::from_millis(250);
/// The number of keepalive probes that are sent within `vanish_timeout`.
pub(crate) const KEEPALIVE_PROBES: u32 = 4;
/// The time limit for a whole answer that is not a stream, even if its reader steadily takes single bytes.
pub(crate) const ANSWER_DEADLINE: Duration = Duration::from_secs(60);

/// The maximum size of a request target. A longer one is answered with 414. Common servers and proxies have the same
/// limit.
pub(crate) const MAX_TARGET_BYTES: usize = 8 * 1024;
/// The maximum size of the names and values of all headers. More is answered with 431. Proxies allow at most 32 KiB
/// by default.
pub(crate) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The number of bytes that a connection may send after its last request, besides a body. A connection that sends
/// more is closed, because tiny_http reads a line of any length into memory. It is twice the receive buffer, and more
/// than the largest head.
pub(crate) const MAX_UNPARSED_BYTES: u64 = 256 * 1024;
/// The maximum number of bytes on the wire for one byte of a body: six, in chunks of one byte each.
pub(crate) const BODY_WIRE_FACTOR: u64 = 6;
/// The maximum number of headers. More is answered with 431.
pub(crate) const MAX_HEADERS: usize = 100;
/// The maximum size of a body that tiny_http reads together with the head.
pub(crate) const INLINE_BODY_BYTES: u64 = 1024;
/// The maximum number of pipelined requests that wait behind the current one. A further one closes the connection.
pub(crate) const MAX_PIPELINED: usize = 16;

/// The maximum number of threads that send refusals. They do not use the request workers, which may all be busy.
/// Above this number a connection is closed without an answer.
pub(crate) const MAX_REFUSALS: usize = 64;
/// The stack size of the request workers, which run the handler.
pub(crate) const WORKER_STACK_BYTES: usize = 1024 * 1024;
/// The stack size of the server's own threads.
pub(crate) const OWN_STACK_BYTES: usize = 128 * 1024;

/// The value of `Retry-After` when the queue for workers is full, which clears quickly.
pub(crate) const RETRY_AFTER_QUEUE: Duration = Duration::from_secs(1);
/// The value of `Retry-After` when all stream threads are busy, which takes longer.
pub(crate) const RETRY_AFTER_STREAMS: Duration = Duration::from_secs(5);

/// The time that a peer gets to read the last answer of a closing connection. If the connection were closed earlier,
/// it would be reset, and the answer could be lost on its way.
pub(crate) const LINGER: Duration = Duration::from_secs(2);
/// The number of bytes that the peer of a closing connection may still send before it is reset.
pub(crate) const LINGER_BYTES: usize = 1024 * 1024;
/// The interval of the closing thread while it has work.
pub(crate) const CLOSING_TICK: Duration = Duration::from_millis(10);

/// The interval of the scans of all sockets while a request is arriving. A connection that tiny_http has left without a
/// thread is noticed in the second scan.
pub(crate) const SCAN_INTERVAL: Duration = Duration::from_millis(40);
/// The interval of the scans while no request is arriving. A scan asks for each descriptor of the process, of which a
/// search has hundreds.
pub(crate) const SCAN_INTERVAL_QUIET: Duration = Duration::from_millis(200);
/// The interval of the scans while there are new connections, because only those can be left without a thread.
/// tiny_http accepts a connection in microseconds, on a busy machine in a few of these intervals.
pub(crate) const SCAN_INTERVAL_NEW: Duration = Duration::from_millis(5);
/// The age up to which a connection is new, unless it has sent its first request.
pub(crate) const NEW_CONNECTION_AGE: Duration = Duration::from_millis(250);
/// The inverse of the maximum share of time that scans take. With very many sockets, scans become rarer.
pub(crate) const SCAN_SHARE: u32 = 50;
/// The longest pause between scans. On a busy machine a scan takes long because it is interrupted, not because of its
/// work.
pub(crate) const MAX_SCAN_PAUSE: Duration = Duration::from_millis(400);
/// The number of connections that the supervisor opens after one scan to wake tiny_http. Further ones follow after
/// the next scan.
pub(crate) const MAX_WAKE_CONNECTIONS: usize = 64;
/// The time limit for the answer to a probe, which takes microseconds except on a busy machine.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// The first and the longest pause between attempts to rebuild the accept loop.
pub(crate) const REBUILD_BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// The number of descriptors that must be free before the accept loop is rebuilt. With fewer, the next connection
/// would end it again.
pub(crate) const REBUILD_DESCRIPTORS: usize = 8;
/// The time between the last request of an ended accept loop and its removal. Its idle connections have ended by then
/// (`idle_timeout`), and it is not dropped while there are streams.
pub(crate) const RETIRE_AFTER: Duration = Duration::from_secs(120);
