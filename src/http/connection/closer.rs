//! Commands to the closing thread ([`super::closing_thread`]).

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use super::writer::Writer;

/// A command to the closing thread.
pub(crate) enum Command {
    /// Closes a connection.
    Close(CloseRequest),
    /// Handles a request that came from the address of a closing connection.
    Late(SocketAddr, tiny_http::Request),
    /// Ends reading from this peer at that time, unless the deadline with this number is lifted before.
    SetDeadline(u64, SocketAddr, Instant),
    /// Lifts a deadline.
    LiftDeadline(u64),
    /// Ends the thread.
    Stop,
}

/// A connection to be closed, and the way to close it.
pub(crate) struct CloseRequest {
    pub(super) peer: SocketAddr,
    /// The last answer, of a few KiB, to the first of the requests. It may be empty.
    pub(super) answer: Vec<u8>,
    /// The requests that get no answer of their own, in their order.
    pub(super) requests: Vec<tiny_http::Request>,
    /// The writer of the last answer. It keeps the socket open until the closing thread has found it.
    pub(super) writer: Option<Writer>,
    /// Whether the peer gets time to read the last answer.
    pub(super) lingers: bool,
}

impl CloseRequest {
    /// Returns the command to close a connection at once.
    pub(crate) fn abort(peer: SocketAddr, requests: Vec<tiny_http::Request>) -> Self {
        Self { peer, answer: Vec::new(), requests, writer: None, lingers: false }
    }

    /// Returns the command to close a connection after an answer that is already written.
    pub(crate) fn after_answer(peer: SocketAddr, requests: Vec<tiny_http::Request>, writer: Writer) -> Self {
        Self { peer, answer: Vec::new(), requests, writer: Some(writer), lingers: true }
    }

    /// Returns the command to send a last answer to the first of the requests and then close the connection.
    pub(crate) fn with_answer(peer: SocketAddr, requests: Vec<tiny_http::Request>, answer: Vec<u8>) -> Self {
        Self { peer, answer, requests, writer: None, lingers: true }
    }
}

/// A sender of commands to the closing thread.
pub(crate) struct Closer {
    commands: Sender<Command>,
    next_deadline: AtomicU64,
}

/// A deadline for the data that a peer sends. Dropping it lifts the deadline.
pub(crate) struct ReadDeadline {
    commands: Sender<Command>,
    number: u64,
}

impl Closer {
    pub(crate) fn new(commands: Sender<Command>) -> Self {
        Self { commands, next_deadline: AtomicU64::new(0) }
    }

    pub(crate) fn send(&self, command: Command) {
        // The closing thread is the last to end. A command that comes later is leaked, because dropping its requests
        // could wait for a client.
        if let Err(unsent) = self.commands.send(command) {
            std::mem::forget(unsent);
        }
    }

    /// Makes every read from this peer after `until` return the end of the stream.
    pub(crate) fn set_deadline(&self, peer: SocketAddr, until: Instant) -> ReadDeadline {
        let number = self.next_deadline.fetch_add(1, Ordering::Relaxed);
        self.send(Command::SetDeadline(number, peer, until));
        ReadDeadline { commands: self.commands.clone(), number }
    }
}

impl Drop for ReadDeadline {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::LiftDeadline(self.number));
    }
}
