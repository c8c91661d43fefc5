//! A connection as ureq sees it: plain or with TLS, with small buffers, and with all received bytes counted.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use rustls::{ClientConnection, StreamOwned};
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport};
use ureq::{Error, Timeout};

use super::buffers::SmallBuffers;
use super::dial::Timed;
use super::failure::is_timeout;
use super::head;
use super::progress::Progress;

/// The maximum size of an answer's head, in bytes.
pub(super) const MAX_HEAD_BYTES: usize = 32 * 1024;

/// A socket, or a tunnel through the outbound proxy, that counts what it receives. It stops at the request's deadline, and
/// when the request's [`Allowance`](super::progress::Allowance) is used up, which it can exceed by one buffer.
pub(super) struct Socket {
    pub(super) stream: TcpStream,
    pub(super) progress: Progress,
}

impl Socket {
    fn until(&self, deadline: Instant) -> Timed<&TcpStream> {
        Timed { stream: &self.stream, deadline }
    }

    /// Returns whether the connection is open and nothing was received that has not been read.
    fn is_quiet(&self) -> bool {
        let unread = self.stream.set_nonblocking(true).and_then(|()| self.stream.peek(&mut [0]));
        let is_quiet = unread.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        self.stream.set_nonblocking(false).is_ok() && is_quiet
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let deadline = self.progress.read_until().map_err(Error::into_io)?;
        let amount = self.until(deadline).read(buf)?;
        self.progress.received(amount);
        Ok(amount)
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.until(self.progress.deadline()).write(buf)
    }

    /// Writes all buffers in one step, so that the last messages of a handshake are one packet.
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.until(self.progress.deadline()).write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket with or without TLS.
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    /// Returns whether the connection is open and nothing was received that has not been read.
    fn is_quiet(&mut self) -> bool {
        match self {
            Self::Plain(socket) => socket.is_quiet(),
            Self::Tls(tls) => {
                let decrypted = tls.conn.reader().read(&mut [0]);
                decrypted.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) && tls.sock.is_quiet()
            }
        }
    }
}

/// The transport of a hop.
pub(super) struct HopTransport {
    stream: Stream,
    buffers: SmallBuffers,
    progress: Progress,
    /// While the head of an answer is awaited: what was received of it.
    head: Option<Vec<u8>>,
}

impl HopTransport {
    /// Creates the transport of an established connection.
    pub(super) fn new(stream: Stream, progress: Progress) -> Self {
        progress.connected();
        Self { stream, buffers: SmallBuffers::default(), progress, head: None }
    }

    fn read(&mut self) -> Result<usize, Error> {
        let free = self.buffers.input_append_buf();
        let read = match &mut self.stream {
            Stream::Plain(socket) => socket.read(free),
            Stream::Tls(tls) => tls.read(free),
        };
        let amount = read.map_err(failed)?;
        if amount > 0 {
            self.progress.answered();
        }
        Ok(amount)
    }

    /// Reads the rest of an answer's head, and gives it to ureq's parser in a form that the parser accepts. Interim
    /// answers are left out. What is not HTTP is given to the parser as it is.
    fn read_head(&mut self, mut head: Vec<u8>) -> Result<bool, Error> {
        loop {
            let amount = self.read()?;
            head.extend_from_slice(&self.buffers.input_append_buf()[..amount]);
            while let Some(end) = head::end_of(&head).filter(|_| may_be_http(&head)) {
                let rest = head.split_off(end);
                let whole = head::mended(head.trim_ascii_start());
                if !head::is_interim(&whole) {
                    self.buffers.append(&whole);
                    self.buffers.append(&rest);
                    return Ok(true);
                }
                head = rest;
            }
            if head.len() > MAX_HEAD_BYTES {
                return Err(Error::LargeResponseHeader(head.len(), MAX_HEAD_BYTES));
            }
            if amount == 0 || !may_be_http(&head) {
                self.buffers.append(&head);
                return Ok(!head.is_empty());
            }
        }
    }
}

impl Transport for HopTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    /// ureq's own timeout is not used: the socket knows the deadline of the request.
    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        self.head.get_or_insert_default();
        let output = &self.buffers.output()[..amount];
        let written = match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(output),
            Stream::Tls(tls) => tls.write_all(output),
        };
        written.map_err(failed)
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        if let Some(head) = self.head.take() {
            return self.read_head(head);
        }
        let amount = self.read()?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// Returns whether the connection can be used for another request. ureq calls this when an answer has been read to
    /// its end, and before the next request.
    fn is_open(&mut self) -> bool {
        let is_open = self.buffers.input().is_empty() && self.stream.is_quiet();
        if is_open {
            self.buffers.release();
        }
        is_open
    }

    fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Tls(_))
    }
}

/// Returns whether an answer of HTTP/1 may begin with these bytes. Empty lines before it do not count.
fn may_be_http(bytes: &[u8]) -> bool {
    let begun = bytes.trim_ascii_start();
    let length = begun.len().min(5);
    begun[..length].eq_ignore_ascii_case(&b"HTTP/"[..length])
}

fn failed(error: io::Error) -> Error {
    if is_timeout(&error) { Error::Timeout(Timeout::Global) } else { error.into() }
}

impl Drop for HopTransport {
    fn drop(&mut self) {
        self.progress.closed();
    }
}

impl fmt::Debug for HopTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HopTransport").field("is_tls", &self.is_tls()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::net::progress::Allowance;

    fn socket() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let progress = Progress::new(Allowance::for_body(1), Instant::now() + Duration::from_secs(600));
        (Socket { stream, progress }, listener.accept().unwrap().0)
    }

    #[test]
    fn several_buffers_are_sent_in_one_step() {
        let (mut socket, _peer) = socket();
        let sent = socket.write_vectored(&[IoSlice::new(b"change"), IoSlice::new(b"finished")]).unwrap();
        assert_eq!(sent, "changefinished".len());
    }

    #[test]
    fn a_socket_is_quiet_if_it_is_open_and_has_no_unread_bytes() {
        let (mut socket, mut peer) = socket();
        assert!(socket.is_quiet());
        peer.write_all(b"x").unwrap();
        assert_eq!(socket.stream.peek(&mut [0]).unwrap(), 1);
        assert!(!socket.is_quiet());
        socket.read_exact(&mut [0]).unwrap();
        assert!(socket.is_quiet());
        drop(peer);
        assert_eq!(socket.stream.peek(&mut [0]).unwrap(), 0);
        assert!(!socket.is_quiet());
    }
}
