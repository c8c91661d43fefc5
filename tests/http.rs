//! The server room, over raw sockets.

mod framing;
mod healing;
mod kit;
mod load;
mod plain;
mod shutdown;
mod slow;
mod streams;
