//! One connection's way to its end; see [`super::closing`].

use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr};
use std::time::{Duration, Instant};

use super::config::{LINGER, LINGER_BYTES};
use super::disposal::dispose;
use super::generation::{Intakes, Mark};
use super::sockets::Pinned;
use super::writing::Writer;

/// How a connection is to be closed.
pub(super) struct Farewell {
    pub(super) peer: SocketAddr,
    /// Last bytes for it; a few KiB.
    answer: Vec<u8>,
    /// Requests that get no answer of their own, in their order.
    requests: Vec<tiny_http::Request>,
    /// Keeps the socket open until it is found.
    writer: Option<Writer>,
    /// Whether the peer gets time to read.
    is_gentle: bool,
}

impl Farewell {
    /// Without a word.
    pub(super) fn cut_off(peer: SocketAddr, requests: Vec<tiny_http::Request>) -> Self {
        Self { peer, answer: Vec::new(), requests, writer: None, is_gentle: false }
    }

    /// After an answer that is out.
    pub(super) fn after(peer: SocketAddr, requests: Vec<tiny_http::Request>, writer: Writer) -> Self {
        Self { peer, answer: Vec::new(), requests, writer: Some(writer), is_gentle: true }
    }

    /// With a last answer, to the first of the requests.
    pub(super) fn with_answer(peer: SocketAddr, requests: Vec<tiny_http::Request>, answer: Vec<u8>) -> Self {
        Self { peer, answer, requests, writer: None, is_gentle: true }
    }
}

/// A connection in closing.
pub(super) struct Case {
    farewell: Farewell,
    stage: Stage,
}

enum Stage {
    /// The socket is not found yet.
    Begun,
    /// The answer is being sent.
    Speaking { socket: Pinned, said: usize, until: Instant },
    /// Our direction has ended; the peer's words are read off.
    Listening { socket: Pinned, drained: usize, until: Instant },
    /// Both have ended; the socket goes when tiny_http has read the last of it.
    Ended { inode: u64, next_look: Instant, pause: Duration },
    /// The socket was not found: it is closed, or the peer has reset it and tiny_http is about to find out.
    Unfound { until: Instant },
    /// The socket is gone. What tiny_http made of the last it read is on its way to us, at most up to the mark.
    Marked { mark: Mark, inode: Option<u64> },
    /// Nothing is left.
    Gone,
}

/// First and longest pause between looks for a socket that should go. A stream holds it until its next write.
const VANISH_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// tiny_http reads the rest of a connection that its peer has reset in a small fraction of this.
const RESET_PAUSE: Duration = Duration::from_secs(2);

impl Case {
    pub(super) fn new(farewell: Farewell) -> Self {
        Self { farewell, stage: Stage::Begun }
    }

    /// More to be closed in the same way, or faster.
    pub(super) fn merge(&mut self, mut other: Farewell) {
        self.farewell.requests.append(&mut other.requests);
        // A request that comes meanwhile is no reason to cut the answer short; its own answer would be lost.
        self.farewell.writer = self.farewell.writer.take().or(other.writer);
        if matches!(
            self.stage,
            Stage::Ended { .. } | Stage::Unfound { .. } | Stage::Marked { .. } | Stage::Gone
        ) {
            self.bin();
        }
    }

    /// Whether this connected socket with the same address is another, newer one.
    pub(super) fn is_followed_by(&self, newer: &Pinned) -> bool {
        let own = match &self.stage {
            Stage::Begun => return false,
            Stage::Speaking { socket, .. } | Stage::Listening { socket, .. } => socket.inode(),
            Stage::Ended { inode, .. } => Some(*inode),
            Stage::Marked { inode, .. } => *inode,
            // A connection that was reset has no address any more.
            Stage::Unfound { .. } | Stage::Gone => None,
        };
        own.is_none() || newer.inode() != own
    }

    /// Whether its socket must be found by its peer.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.stage, Stage::Begun)
    }

    /// The socket that should go, when it is time to look whether it has.
    pub(super) fn ended_socket(&self, now: Instant) -> Option<u64> {
        match self.stage {
            Stage::Ended { inode, next_look, .. } if next_look <= now => Some(inode),
            _ => None,
        }
    }

    /// Takes the outcome of the search for a new case's socket.
    pub(super) fn found(&mut self, socket: Option<Pinned>, now: Instant) {
        self.farewell.writer = None;
        self.stage = match socket {
            Some(socket) => Stage::Speaking { socket, said: 0, until: now + LINGER },
            None => {
                self.bin();
                Stage::Unfound { until: now + RESET_PAUSE }
            }
        };
    }

    /// Takes the outcome of a look for an ended socket.
    pub(super) fn looked(&mut self, is_open: bool, now: Instant, intakes: &Intakes) {
        if let Stage::Ended { inode, next_look, pause } = &mut self.stage {
            *pause = (*pause * 2).min(VANISH_PAUSE.1);
            *next_look = now + *pause;
            if !is_open {
                self.stage = Stage::Marked { mark: intakes.mark(), inode: Some(*inode) };
            }
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        matches!(self.stage, Stage::Gone)
    }

    /// Goes as far as possible without waiting.
    pub(super) fn step(&mut self, now: Instant, intakes: &Intakes) {
        match &self.stage {
            Stage::Unfound { until } if *until <= now => {
                self.stage = Stage::Marked { mark: intakes.mark(), inode: None };
            }
            Stage::Marked { mark, .. } if mark.is_passed() => self.stage = Stage::Gone,
            _ => {}
        }
        if let Stage::Speaking { socket, said, until } = &mut self.stage {
            match self.farewell.is_gentle && now < *until {
                true => match say(socket, &self.farewell.answer, said) {
                    Progress::Waits => return,
                    Progress::Failed => return self.end(),
                    Progress::Done => self.begin_to_listen(),
                },
                false => return self.end(),
            }
        }
        if let Stage::Listening { socket, drained, until } = &mut self.stage
            && (now >= *until || !matches!(drain(socket, drained), Progress::Waits))
        {
            self.end();
        }
    }

    fn begin_to_listen(&mut self) {
        if let Stage::Speaking { socket, until, .. } = std::mem::replace(&mut self.stage, Stage::Gone) {
            socket.shutdown(Shutdown::Write);
            self.stage = Stage::Listening { socket, drained: 0, until };
        }
    }

    /// Ends both directions.
    pub(super) fn end(&mut self) {
        match std::mem::replace(&mut self.stage, Stage::Gone) {
            Stage::Speaking { socket, .. } | Stage::Listening { socket, .. } => {
                socket.shutdown(Shutdown::Both);
                let (now, pause) = (Instant::now(), VANISH_PAUSE.0);
                self.stage = match socket.inode() {
                    Some(inode) => Stage::Ended { inode, next_look: now + pause, pause },
                    None => Stage::Unfound { until: now + RESET_PAUSE },
                };
                drop(socket);
                self.bin();
            }
            // Unfound: to drop its requests could wait for the client, and the process is about to end.
            Stage::Begun => std::mem::forget(std::mem::take(&mut self.farewell.requests)),
            stage => self.stage = stage,
        }
    }

    fn bin(&mut self) {
        self.farewell.requests.drain(..).for_each(dispose);
    }
}

enum Progress {
    Done,
    Waits,
    Failed,
}

fn say(socket: &Pinned, answer: &[u8], said: &mut usize) -> Progress {
    while *said < answer.len() {
        match socket.send_now(&answer[*said..]) {
            Ok(bytes) => *said += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Waits,
            Err(_) => return Progress::Failed,
        }
    }
    Progress::Done
}

/// Done when the peer has ended, too.
fn drain(socket: &Pinned, drained: &mut usize) -> Progress {
    let mut buffer = [0; 16 * 1024];
    loop {
        match socket.receive_now(&mut buffer) {
            Ok(0) => return Progress::Done,
            Ok(bytes) => {
                *drained += bytes;
                if *drained > LINGER_BYTES {
                    return Progress::Failed;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Progress::Waits,
            Err(_) => return Progress::Failed,
        }
    }
}
