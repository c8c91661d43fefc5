//! The server's configuration, and its constants with their reasons.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::forwarded::Network;

/// The configuration of a server. The defaults suit production behind a reverse proxy.
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
    /// The maximum number of threads for [`super::Reply::Later`], [`super::Reply::Stream`] and large answers together.
    /// Default 2,000. Each is an addition to the thread of its connection.
    pub max_streams: usize,
    /// The maximum size of a request's body, which is held in memory as a whole, in bytes. Default 64 KiB.
    pub max_body_bytes: usize,
    /// The paths with another maximum size of a request's body, in bytes. Default none.
    pub larger_bodies: &'static [(&'static str, usize)],
    /// The time limit for a whole body. Default 10 s. A body that pauses is given `idle_timeout` instead.
    pub body_timeout: Duration,
    /// The time after which a connection that sends nothing is closed. Default 15 s. A proxy must close its idle
    /// upstream connections after two thirds of it.
    pub idle_timeout: Duration,
    /// The time after which a connection ends if its peer takes nothing of an answer or a stream, or acknowledges no
    /// keepalive probes, in whole seconds. Default 30 s.
    pub peer_timeout: Duration,
    /// The proxies whose `X-Forwarded-For` is trusted. Default none.
    pub trusted_proxies: Vec<Network>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            request_workers: 16,
            request_queue: 1024,
            max_streams: 2000,
            max_body_bytes: 64 * 1024,
            larger_bodies: &[],
            body_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(15),
            peer_timeout: Duration::from_secs(30),
            trusted_proxies: Vec::new(),
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
}

/// The maximum number of connections that wait for `accept()`. Linux limits it to `somaxconn`.
pub(super) const BACKLOG: i32 = 1024;
/// The size of the send buffer of a connection, which Linux doubles. An answer of up to this size does not wait for
/// its reader, unless the reader has left earlier ones unread, and a stream that is not read uses no more memory than this.
pub(super) const SEND_BUFFER_BYTES: usize = 128 * 1024;
/// The maximum size of a request target. A longer one is answered with 414. Common servers and proxies have the same
/// limit.
pub(super) const MAX_TARGET_BYTES: usize = 8 * 1024;
/// The maximum size of the names and values of all headers. More is answered with 431. Proxies allow at most 32 KiB
/// by default.
pub(super) const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The maximum number of headers. More is answered with 431.
pub(super) const MAX_HEADERS: usize = 100;
/// The maximum number of threads that read bodies and write large answers while all threads for streams are busy.
pub(super) const BODY_THREADS: usize = 256;
/// The stack size of the request workers, which run the handler.
pub(super) const WORKER_STACK_BYTES: usize = 1024 * 1024;
/// The stack size of a thread for a stream, a wait or a body. Handlers that use SQL and JSON run on it, and only used
/// pages cost memory.
pub(super) const STREAM_STACK_BYTES: usize = 256 * 1024;
/// The value of `Retry-After` when the queue for workers is full, which clears quickly.
pub(super) const RETRY_AFTER_QUEUE: Duration = Duration::from_secs(1);
/// The value of `Retry-After` when all threads for streams are busy, which takes longer.
pub(super) const RETRY_AFTER_STREAMS: Duration = Duration::from_secs(5);
