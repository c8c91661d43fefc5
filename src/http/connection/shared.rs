//! The accepted connections of a server, in a form that its threads share.

use std::net::SocketAddr;
use std::time::Instant;

use super::closer::{CloseRequest, Closer, Command};
use super::sockets::Sockets;
use super::table::ConnectionTable;

/// All accepted connections.
pub(crate) struct Connections {
    pub(crate) sockets: Sockets,
    pub(crate) table: ConnectionTable<tiny_http::Request>,
    pub(crate) closer: Closer,
}

impl Connections {
    /// Closes a connection in the way of `how`, which gets its waiting requests.
    pub(crate) fn close(
        &self,
        peer: SocketAddr,
        how: impl FnOnce(SocketAddr, Vec<tiny_http::Request>) -> CloseRequest,
    ) {
        let waiting = self.table.close(peer);
        self.closer.send(Command::Close(how(peer, waiting)));
    }

    /// Closes a connection unless one of its requests is being served.
    pub(crate) fn close_if_idle(&self, peer: SocketAddr) {
        if self.table.close_if_idle(peer, Instant::now()) {
            self.closer.send(Command::Close(CloseRequest::abort(peer, Vec::new())));
        }
    }
}
