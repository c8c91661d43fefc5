//! The HTTP server: accepts connections, parses requests, writes responses.
//!
//! It is independent of the service that it serves: a [`Handler`] turns a [`Request`] into a [`Reply`]. No other
//! layer uses a type of tiny_http. It is used plainly, and behind a reverse proxy.
//!
//! # The way of a request
//! 1. tiny_http accepts the connection and reads the head on its own thread.
//! 2. The receiving thread takes the request from tiny_http's queue, checks its head and hands it on (`accept`).
//! 3. A body that did not come with the head is read on its own thread. A request worker calls the handler and
//!    writes the answer. Waits, streams and large answers get separate threads (`exchange`).
//!
//! # Faults of tiny_http
//! A file that cures a fault of tiny_http 0.12 names the fault, the cure and the test in its documentation. To find
//! them: search for "Fault of tiny_http". These only a reverse proxy stops:
//! - A head of any size is read into memory.
//! - `HTTP/2.0` and `HTTP/3.0` in the request line cost a thread and a connection until the process ends:
//!   `ClientConnection::next` holds the request, and with it the turn to write, while it waits for its own turn to
//!   write 505.
//! - The second line of a folded header counts as a header: each line is trimmed before it is parsed.
//! - Spaces around the request line, and text after its version, are ignored. A malformed request line is answered
//!   with a bare 400.
//! - The number of connections and of pipelined requests is not limited, and a request waits on its worker until the
//!   earlier ones of its connection are answered.
//! - A connection cannot be closed. It ends when its client closes it, which `Connection: close` asks for, or when the
//!   client sends nothing for the idle timeout.
//! - The peers of a Unix socket have no address, so such a socket is not served: the connections whose further requests
//!   must not be served could not be distinguished.

mod accept;
mod config;
mod encoding;
mod exchange;
mod files;
mod forwarded;
mod handler;
mod head;
mod listener;
mod render;
mod request;
mod response;
mod router;
mod server;
mod target;
mod threads;
mod traffic;

pub use config::ServerConfig;
pub use files::{Asset, Assets, StaticFile, etag_of};
pub use forwarded::Network;
pub use handler::{Handler, Refusal, Reply, StreamBody};
pub use render::reason;
pub use request::Request;
pub use response::Response;
pub use router::{ResponseContext, Route, Router, Segments, Service, allow};
pub use server::{RunningServer, Server};
pub use threads::{Load, Threads};
pub use traffic::Traffic;
