//! The HTTP server: accepts connections, parses requests, writes responses.
//!
//! It is independent of the service that it serves: a [`Handler`] turns a [`Request`] into a [`Reply`]. No other
//! layer uses a type of tiny_http.
//!
//! | part | holds |
//! |---|---|
//! | `server` | the threads: accept loop, supervisor, worker pool, and how they process a request |
//! | `connection` | the accepted connections: table, sockets, bodies, writers, closing |
//! | `message` | requests and responses as data: parsing, checks, rendering |
//! | `handler` | the interface to the service |
//! | `router` | routing and middleware for services with a route table |
//! | `traffic`, `load` | figures for metrics |
//! | `config` | the configuration and all constants |
//!
//! # The processing of a request
//! 1. tiny_http accepts the connection and reads the head on a thread of its own.
//! 2. A request worker takes the request from the queue (`connection::request_queue`, `server::worker_pool`).
//! 3. The dispatcher orders the requests of one connection (`connection::table`, `server::dispatcher`).
//! 4. A body that did not come with the head is read on another thread (`connection::body`).
//! 5. The worker checks the head (`message::head`) and calls the handler (`server::exchange`).
//! 6. The answer is rendered (`message::render`) and written (`connection::writer`). Waits and streams run on separate
//!    threads (`connection::chunked`).
//!
//! # Faults of tiny_http
//! Each file that works around a fault of tiny_http 0.12 names the fault, the workaround and the test in its
//! documentation. To find them: search for "Fault of tiny_http".
//!
//! # Attacks that only a reverse proxy stops
//! - tiny_http reads a head of any size into memory. `connection::monitor` closes such a connection, but some megabytes
//!   later.
//! - `HTTP/2.0` and `HTTP/3.0` in the request line cost a thread and a connection until the process ends:
//!   `ClientConnection::next` holds the request, and with it the turn to write, while it waits for its own turn to
//!   write 505. It waits on a channel whose other end is on its own stack, so closing the socket does not end it.
//! - The second line of a folded header counts as a header: `ClientConnection::read` trims each line before it parses
//!   it, so the two cannot be distinguished.
//! - The size of a chunk may have a sign or spaces: the decoder (`chunked_transfer`) trims it and parses it with
//!   `from_str_radix`. Requests cannot be smuggled this way, because the connection is closed after a chunked body.
//! - Spaces around the request line, and text after its version, are ignored. A malformed request line is answered
//!   with a bare 400.
//! - A body announced with more bytes than the machine has memory leaks its connection (`connection::discard`).
//!
//! # Stricter than HTTP
//! A chunked body is refused if its sender has ended its direction before the body is read, because tiny_http does
//! not distinguish the end of the body from the end of the connection.
//!
//! # No Unix sockets
//! The connection of a request is identified by its peer's address. The peers of a Unix socket have none, and
//! tiny_http has no other way to distinguish connections.

mod config;
mod connection;
mod handler;
mod load;
mod message;
mod router;
mod server;
mod traffic;

pub use config::ServerConfig;
pub use handler::{Handler, Refusal, Reply, StreamBody};
pub use load::{Load, LoadReader};
pub use message::compressed::Compressed;
pub use message::forwarded::Network;
pub use message::render::reason;
pub use message::request::Request;
pub use message::response::Response;
pub use message::static_file::{Asset, Assets, StaticFile, etag_of};
pub use router::{ResponseContext, Route, RouteError, Router, Segments, Service, allow};
pub use server::lifecycle::{Drained, RunningServer, Server};
pub use server::listener::activated_listener;
pub use traffic::{Answers, Traffic};
