//! Sockets in. Knows no product: a [`Handler`] turns a [`Request`] into a [`Reply`], the server does the
//! rest. No tiny_http type leaves this room.

mod handler;
mod request;
mod response;

pub use handler::{Handler, Refusal, Reply, StreamBody, StreamEnd, StreamSink};
pub use request::Request;
pub use response::Response;
