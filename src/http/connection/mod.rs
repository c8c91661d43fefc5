//! The accepted connections: their table and their sockets, reading bodies, writing answers, and closing connections.

pub(super) mod body;
pub(super) mod chunked;
pub(super) mod closer;
pub(super) mod closing;
pub(super) mod closing_thread;
pub(super) mod discard;
pub(super) mod monitor;
pub(super) mod request_queue;
pub(super) mod shared;
pub(super) mod sockets;
pub(super) mod table;
pub(super) mod writer;
