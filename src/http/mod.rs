//! Sockets in. Knows no product: a [`Handler`] turns a [`Request`] into a [`Reply`], the server does the
//! rest. No tiny_http type leaves this room.
//!
//! # A request's way
//! The kernel's backlog → tiny_http's accept loop and connection threads → a request worker that has the lead
//! takes it (`crew`, `generation`) and gives a connection's requests their turn (`connections`, `core`) → a body
//! that did not come with the head is read on threads of its own (`body`, `workers`) → the same worker checks the
//! head (`head`, `target`, `forwarded`) and asks the handler (`exchange`) → the answer is rendered (`answer`,
//! `encoding`, `static_file`) and written (`writing`); waits and streams go on threads of their own (`streams`, `sink`).
//!
//! # What stands beside it
//! tiny_http has faults; `supervisor` (`bell`, `watchlist`, `probe`) cures from outside what makes it stall or die,
//! `closing` (`farewell`, `sockets`, `disposal`) does what it can't: close a connection, bound a read. The
//! listening socket's options (`listener`) and the process's limits (`limits`) do the rest; `config` has
//! every figure with its reason. `traffic` counts requests and answers for whoever has a route table; `pattern` is what
//! such a table is made of.
//!
//! # What only a reverse proxy stops
//! tiny_http reads a head of any size before anyone else sees it, leaves a connection hanging on `HTTP/2.0` in the
//! request line, takes a folded header for a header of its own, forgives blanks around the request line and
//! what follows the version in it, and answers a broken request line with a bare 400 of its own. A body
//! announced with more bytes than the allocator can reserve leaks its connection (`disposal`).
//!
//! # What is stricter than it had to be
//! A chunked body whose sender has ended its direction by the time it is read is refused: tiny_http does not
//! tell the body's end from the connection's. Nothing after a chunked body is believed.
//!
//! # Why there is no unix socket
//! A request's connection is known by its peer's address (`connections`, `sockets`); the peers of a unix socket
//! have none, and tiny_http lends neither the socket nor anything else to tell them apart by.

mod answer;
mod bell;
mod body;
mod closing;
mod config;
mod connections;
mod core;
mod crew;
mod disposal;
mod encoding;
mod exchange;
mod farewell;
mod forwarded;
mod generation;
mod handler;
mod head;
mod limits;
mod listener;
mod load;
mod pattern;
mod probe;
mod request;
mod response;
mod server;
mod sink;
mod sockets;
mod static_file;
mod streams;
mod supervisor;
mod target;
mod traffic;
mod watchlist;
mod workers;
mod writing;

pub use answer::reason;
pub use config::ServerConfig;
pub use encoding::Compressed;
pub use forwarded::Network;
pub use handler::{Handler, Refusal, Reply, StreamBody, StreamEnd, StreamSink};
pub use listener::activated_listener;
pub use load::{Gauge, Load};
pub use pattern::fit;
pub use request::Request;
pub use response::Response;
pub use server::{Drained, RunningServer, Server};
pub use static_file::{StaticFile, etag_of};
pub use traffic::{Answers, Traffic, Visit};
