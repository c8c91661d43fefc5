//! Bytes both ways, by one thread.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::visit::{LOOK, Visit, is_not_yet};

const BUFFER_BYTES: usize = 16 * 1024;

/// Relays until the server has said all, or the visit is over. `begun`: what the client sent ahead.
pub(super) fn relay(client: &TcpStream, server: &TcpStream, begun: &[u8], visit: &Visit) -> io::Result<()> {
    client.set_nonblocking(true)?;
    server.set_nonblocking(true)?;
    server.set_nodelay(true)?;
    let (mut up, mut down) = (Pipe::holding(begun), Pipe::holding(&[]));
    let look = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::ZERO);
    while !visit.is_over() {
        up.pump(client, server)?;
        visit.count(down.pump(server, client)?)?;
        if down.is_done {
            return Ok(());
        }
        let mut fds = Vec::with_capacity(2);
        // Who is asked for nothing is left out: that he has hung up would wake us again and again.
        for (stream, flags) in [(client, flags(&up, &down)), (server, flags(&down, &up))] {
            if !flags.is_empty() {
                fds.push(PollFd::new(stream.as_fd(), flags));
            }
        }
        match poll(&mut fds, look) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What is waited for on the socket that `from` reads and `to` writes.
fn flags(from: &Pipe, to: &Pipe) -> PollFlags {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::POLLIN, from.wants_to_read());
    flags.set(PollFlags::POLLOUT, to.wants_to_write());
    flags
}

/// One direction.
struct Pipe {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    is_ended: bool,
    is_done: bool,
}

impl Pipe {
    fn holding(begun: &[u8]) -> Self {
        let mut buffer = begun.to_vec();
        buffer.resize(begun.len().max(BUFFER_BYTES), 0);
        Self { buffer, start: 0, end: begun.len(), is_ended: false, is_done: false }
    }

    fn wants_to_read(&self) -> bool {
        self.start == self.end && !self.is_ended
    }

    fn wants_to_write(&self) -> bool {
        self.start < self.end
    }

    /// Moves what can be moved now; gives how much was read.
    fn pump(&mut self, mut from: &TcpStream, mut to: &TcpStream) -> io::Result<usize> {
        let mut moved = 0;
        if self.wants_to_read() {
            match from.read(&mut self.buffer) {
                Ok(0) => self.is_ended = true,
                Ok(count) => (self.start, self.end, moved) = (0, count, count),
                Err(error) if is_not_yet(&error) => {}
                Err(error) => return Err(error),
            }
        }
        while self.wants_to_write() {
            match to.write(&self.buffer[self.start..self.end]) {
                Ok(count) => self.start += count,
                Err(error) if is_not_yet(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.is_ended && !self.wants_to_write() && !self.is_done {
            self.is_done = true;
            to.shutdown(Shutdown::Write)?;
        }
        Ok(moved)
    }
}
