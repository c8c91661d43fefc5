//! The steps of closing one connection.

use std::io::ErrorKind;
use std::time::{Duration, Instant};

use super::closer::CloseRequest;
use super::discard::discard;
use super::request_queue::{Fence, RequestQueues};
use super::sockets::PinnedSocket;
use crate::http::config::{LINGER, LINGER_BYTES};

/// A connection that is being closed.
pub(super) struct ClosingConnection {
    request: CloseRequest,
    step: Step,
}

enum Step {
    /// The socket of the connection is not found yet.
    New,
    /// The last answer is being sent.
    Answering { socket: PinnedSocket, sent: usize, until: Instant },
    /// The connection is half-closed: nothing more is sent, and received data is dropped.
    Lingering { socket: PinnedSocket, received: usize, until: Instant },
    /// Both directions are shut down. The socket is closed when tiny_http has read the last bytes from it.
    ShutDown { inode: u64, next_check: Instant, pause: Duration },
    /// The socket was not found: it is closed, or the peer has reset it and tiny_http will notice that soon.
    NotFound { until: Instant },
    /// The socket is closed. Requests that tiny_http has read from it are still in the queues, before the fence.
    Closed { fence: Fence, inode: Option<u64> },
    /// Nothing is left of the connection.
    Done,
}

/// The first and the longest pause between checks whether a socket is closed. A stream holds it until its next write.
const CHECK_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// The time in which tiny_http reads the rest of a connection that its peer has reset. It needs only a small fraction
/// of it.
const RESET_PAUSE: Duration = Duration::from_secs(2);

impl ClosingConnection {
    pub(super) fn new(request: CloseRequest) -> Self {
        Self { request, step: Step::New }
    }

    /// Adds another request to close the same connection.
    pub(super) fn merge(&mut self, mut other: CloseRequest) {
        self.request.requests.append(&mut other.requests);
        // A request that comes meanwhile does not interrupt the last answer.
        self.request.writer = self.request.writer.take().or(other.writer);
        if matches!(
            self.step,
            Step::ShutDown { .. } | Step::NotFound { .. } | Step::Closed { .. } | Step::Done
        ) {
            self.discard_requests();
        }
    }

    /// Returns whether `newer`, a connected socket with the same peer address, is another socket.
    pub(super) fn is_followed_by(&self, newer: &PinnedSocket) -> bool {
        let own = match &self.step {
            Step::New => return false,
            Step::Answering { socket, .. } | Step::Lingering { socket, .. } => socket.inode(),
            Step::ShutDown { inode, .. } => Some(*inode),
            Step::Closed { inode, .. } => *inode,
            // A connection that was reset has no peer address any more.
            Step::NotFound { .. } | Step::Done => None,
        };
        own.is_none() || newer.inode() != own
    }

    /// Returns whether the socket of the connection must be found.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.step, Step::New)
    }

    /// Returns the inode of the socket if it is time to check whether the socket is closed.
    pub(super) fn socket_to_check(&self, now: Instant) -> Option<u64> {
        match self.step {
            Step::ShutDown { inode, next_check, .. } if next_check <= now => Some(inode),
            _ => None,
        }
    }

    /// Processes the result of the search for the socket.
    pub(super) fn set_socket(&mut self, socket: Option<PinnedSocket>, now: Instant) {
        self.request.writer = None;
        self.step = match socket {
            Some(socket) => Step::Answering { socket, sent: 0, until: now + LINGER },
            None => {
                self.discard_requests();
                Step::NotFound { until: now + RESET_PAUSE }
            }
        };
    }

    /// Processes the result of the check whether the socket is closed.
    pub(super) fn set_checked(&mut self, is_open: bool, now: Instant, queues: &RequestQueues) {
        if let Step::ShutDown { inode, next_check, pause } = &mut self.step {
            *pause = (*pause * 2).min(CHECK_PAUSE.1);
            *next_check = now + *pause;
            if !is_open {
                self.step = Step::Closed { fence: queues.fence(), inode: Some(*inode) };
            }
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self.step, Step::Done)
    }

    /// Executes all steps that are possible without waiting.
    pub(super) fn advance(&mut self, now: Instant, queues: &RequestQueues) {
        match &self.step {
            Step::NotFound { until } if *until <= now => {
                self.step = Step::Closed { fence: queues.fence(), inode: None };
            }
            Step::Closed { fence, .. } if fence.is_passed() => self.step = Step::Done,
            _ => {}
        }
        if let Step::Answering { socket, sent, until } = &mut self.step {
            match self.request.lingers && now < *until {
                true => match send(socket, &self.request.answer, sent) {
                    Progress::WouldBlock => return,
                    Progress::Failed => return self.shut_down(),
                    Progress::Done => self.half_close(),
                },
                false => return self.shut_down(),
            }
        }
        if let Step::Lingering { socket, received, until } = &mut self.step
            && (now >= *until || !matches!(drain(socket, received), Progress::WouldBlock))
        {
            self.shut_down();
        }
    }

    fn half_close(&mut self) {
        if let Step::Answering { socket, until, .. } = std::mem::replace(&mut self.step, Step::Done) {
            socket.shut_down_sending();
            self.step = Step::Lingering { socket, received: 0, until };
        }
    }

    /// Shuts down both directions.
    pub(super) fn shut_down(&mut self) {
        match std::mem::replace(&mut self.step, Step::Done) {
            Step::Answering { socket, .. } | Step::Lingering { socket, .. } => {
                socket.shut_down_sending();
                socket.shut_down_receiving();
                let (now, pause) = (Instant::now(), CHECK_PAUSE.0);
                self.step = match socket.inode() {
                    Some(inode) => Step::ShutDown { inode, next_check: now + pause, pause },
                    None => Step::NotFound { until: now + RESET_PAUSE },
                };
                drop(socket);
                self.discard_requests();
            }
            // The process ends soon. Dropping the requests could wait for the client.
            Step::New => std::mem::forget(std::mem::take(&mut self.request.requests)),
            step => self.step = step,
        }
    }

    fn discard_requests(&mut self) {
        self.request.requests.drain(..).for_each(discard);
    }
}

enum Progress {
    Done,
    WouldBlock,
    Failed,
}

fn send(socket: &PinnedSocket, answer: &[u8], sent: &mut usize) -> Progress {
    while *sent < answer.len() {
        match socket.send_now(&answer[*sent..]) {
            Ok(bytes) => *sent += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::WouldBlock,
            Err(_) => return Progress::Failed,
        }
    }
    Progress::Done
}

/// Reads and drops the received data until the peer has ended its direction, too.
fn drain(socket: &PinnedSocket, received: &mut usize) -> Progress {
    let mut buffer = [0; 16 * 1024];
    loop {
        match socket.receive_now(&mut buffer) {
            Ok(0) => return Progress::Done,
            Ok(bytes) => {
                *received += bytes;
                if *received > LINGER_BYTES {
                    return Progress::Failed;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::WouldBlock,
            Err(_) => return Progress::Failed,
        }
    }
}
