//! A connection as ureq sees it: plain or with TLS, with small buffers, and with all received bytes counted.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};

use rustls::{ClientConnection, StreamOwned};
use ureq::Error;
use ureq::unversioned::transport::{Buffers, NextTimeout, Transport, TransportAdapter};

use super::buffers::SmallBuffers;
use super::progress::Progress;

/// A socket, or a tunnel through the outbound proxy, that counts what it receives. It stops when the request's
/// [`Allowance`](super::allowance::Allowance) is used up, and can exceed it by one input buffer.
pub(super) struct Socket {
    pub(super) adapter: TransportAdapter,
    pub(super) progress: Progress,
}

impl Socket {
    fn set_timeout(&mut self, timeout: NextTimeout) {
        self.adapter.set_timeout(self.progress.shortened(timeout));
    }

    /// Returns whether the connection is open and nothing was received that has not been read.
    fn is_quiet(&mut self) -> bool {
        let inner = self.adapter.get_mut();
        inner.buffers().input().is_empty() && inner.is_open()
    }
}

impl Read for Socket {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.progress.check_allowance().map_err(Error::into_io)?;
        let amount = self.adapter.read(buf)?;
        self.progress.received(amount);
        Ok(amount)
    }
}

impl Write for Socket {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.adapter.write(buf)
    }

    /// Writes the buffers as one, such as the last messages of a handshake. The adapter would send each as a packet of its
    /// own.
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut all = Vec::new();
        for buf in bufs {
            all.extend_from_slice(buf);
        }
        self.write(&all)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.adapter.flush()
    }
}

/// A socket with or without TLS.
pub(super) enum Stream {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Stream {
    fn socket(&mut self) -> &mut Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => &mut tls.sock,
        }
    }

    /// Returns whether the connection is open and nothing was received that has not been read.
    fn is_quiet(&mut self) -> bool {
        let has_nothing_decrypted = match self {
            Self::Plain(_) => true,
            Self::Tls(tls) => {
                let read = tls.conn.reader().read(&mut [0]);
                read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
            }
        };
        has_nothing_decrypted && self.socket().is_quiet()
    }
}

/// The transport of a hop.
pub(super) struct HopTransport {
    stream: Stream,
    buffers: SmallBuffers,
    progress: Progress,
}

impl HopTransport {
    /// Creates the transport of an established connection.
    pub(super) fn new(stream: Stream, progress: Progress) -> Self {
        progress.connected();
        Self { stream, buffers: SmallBuffers::default(), progress }
    }
}

impl Transport for HopTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.socket().set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        match &mut self.stream {
            Stream::Plain(socket) => socket.write_all(output)?,
            Stream::Tls(tls) => tls.write_all(output)?,
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.socket().set_timeout(timeout);
        let free = self.buffers.input_append_buf();
        let amount = match &mut self.stream {
            Stream::Plain(socket) => socket.read(free)?,
            Stream::Tls(tls) => tls.read(free)?,
        };
        self.buffers.input_appended(amount);
        if amount > 0 {
            self.progress.answered();
        }
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
    use std::sync::Arc;

    use parking_lot::Mutex;
    use ureq::unversioned::transport::time::Instant;

    use super::*;
    use crate::net::allowance::Allowance;

    /// Keeps what was sent in one step.
    #[derive(Debug, Default)]
    struct Recorder {
        buffers: SmallBuffers,
        sent: Arc<Mutex<Vec<Vec<u8>>>>,
    }

    impl Transport for Recorder {
        fn buffers(&mut self) -> &mut dyn Buffers {
            &mut self.buffers
        }

        fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
            self.sent.lock().push(self.buffers.output()[..amount].to_vec());
            Ok(())
        }

        fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
            Ok(false)
        }

        fn is_open(&mut self) -> bool {
            true
        }
    }

    #[test]
    fn several_buffers_are_sent_in_one_step() {
        let recorder = Recorder::default();
        let sent = Arc::clone(&recorder.sent);
        let adapter = TransportAdapter::new(Box::new(recorder) as Box<dyn Transport>, Arc::new(Instant::now));
        let mut socket = Socket { adapter, progress: Progress::new(Allowance::for_body(1)) };
        let amount = socket.write_vectored(&[IoSlice::new(b"change"), IoSlice::new(b"finished")]).unwrap();
        assert_eq!((amount, &sent.lock()[..]), (14, &[b"changefinished".to_vec()][..]));
    }
}
