//! Relays bytes in both directions on one thread.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::page_load::{CHECK_INTERVAL, PageLoad, is_not_yet};

const BUFFER_BYTES: usize = 16 * 1024;

/// Relays until the server has closed its direction or the load of a page is over. `begun` holds bytes that the client
/// has already sent.
pub(super) fn relay(
    client: &TcpStream,
    server: &TcpStream,
    begun: &[u8],
    page_load: &PageLoad,
) -> io::Result<()> {
    client.set_nonblocking(true)?;
    server.set_nonblocking(true)?;
    let (mut up, mut down) = (Pipe::holding(begun), Pipe::holding(&[]));
    let interval = PollTimeout::try_from(CHECK_INTERVAL).unwrap_or(PollTimeout::ZERO);
    while !page_load.is_over() {
        up.pump(client, server)?;
        page_load.count(down.pump(server, client)?)?;
        if down.is_done {
            return Ok(());
        }
        let mut fds = Vec::with_capacity(2);
        // A socket without flags is not polled, since a hang-up would end every poll at once.
        for (stream, flags) in [(client, flags(&up, &down)), (server, flags(&down, &up))] {
            if !flags.is_empty() {
                fds.push(PollFd::new(stream.as_fd(), flags));
            }
        }
        match poll(&mut fds, interval) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the events to poll for on the socket that `from` reads and `to` writes.
fn flags(from: &Pipe, to: &Pipe) -> PollFlags {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::POLLIN, from.wants_to_read());
    flags.set(PollFlags::POLLOUT, to.wants_to_write());
    flags
}

/// One direction of a tunnel.
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

    /// Moves bytes without waiting. Returns the number of bytes read.
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
