//! Writes streamed bodies.
//!
//! Fault of tiny_http: a response with a reader as its body is buffered to its end, and dropping the writer does not
//! close the connection. Workaround: chunks are written here, each with its own flush, and the stream ends with an
//! empty chunk (RFC 9112, section 7.1). Tests: `a_stream_comes_piece_by_piece_and_then_the_connection_is_closed`,
//! `a_stream_that_breaks_does_not_look_complete`.

use std::io::{self, Write};

use super::writer::{WriteTimeouts, Writer, write_bytes};

/// A writer of the pieces of a body. It sends them as chunks if the client supports chunks.
pub(crate) struct ChunkedWriter {
    writer: Writer,
    is_chunked: bool,
    timeouts: WriteTimeouts,
    frame: Vec<u8>,
    has_failed: bool,
}

/// The capacity above which the buffer is freed after each piece, because thousands of streams are idle most of the
/// time.
const KEPT_BYTES: usize = 4 * 1024;

impl ChunkedWriter {
    pub(crate) fn new(writer: Writer, is_chunked: bool, timeouts: WriteTimeouts) -> Self {
        Self { writer, is_chunked, timeouts, frame: Vec::new(), has_failed: false }
    }

    /// Writes bytes without a frame around them.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let outcome = write_bytes(&mut *self.writer, bytes, self.timeouts);
        self.has_failed |= outcome.is_err();
        outcome
    }

    /// Ends the body.
    ///
    /// # Errors
    /// Returns an error if a piece could not be written completely.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.is_chunked { self.send_raw(b"0\r\n\r\n") } else { Ok(()) }
    }

    pub(crate) fn into_writer(self) -> Writer {
        self.writer
    }
}

impl Write for ChunkedWriter {
    /// Sends all of the bytes as one piece.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.has_failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !self.is_chunked {
            return self.send_raw(piece).map(|()| piece.len());
        }
        if piece.is_empty() {
            // An empty chunk would end the body.
            return Ok(0);
        }
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        frame.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        frame.extend_from_slice(piece);
        frame.extend_from_slice(b"\r\n");
        let outcome = self.send_raw(&frame);
        if frame.capacity() <= KEPT_BYTES {
            self.frame = frame;
        }
        outcome.map(|()| piece.len())
    }

    /// Does nothing, because each write is flushed.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Out(Arc<Mutex<Vec<u8>>>);

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.ends_with(b"broken\r\n") {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const TIMEOUTS: WriteTimeouts = WriteTimeouts { stall: Duration::from_secs(1), total: None };

    #[test]
    fn pieces_become_chunks_and_an_empty_piece_does_not_end_the_body() {
        let out = Out::default();
        let mut sink = ChunkedWriter::new(Box::new(out.clone()), true, TIMEOUTS);
        for piece in [&b"hello"[..], b"", b"0123456789abcdef"] {
            assert_eq!(sink.write(piece).unwrap(), piece.len());
        }
        sink.end().unwrap();
        assert_eq!(*out.0.lock(), b"5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
    }

    #[test]
    fn nothing_is_sent_after_a_failed_piece() {
        let out = Out::default();
        let mut sink = ChunkedWriter::new(Box::new(out.clone()), true, TIMEOUTS);
        sink.write_all(b"broken").unwrap_err();
        sink.write_all(b"more").unwrap_err();
        sink.end().unwrap_err();
        assert!(out.0.lock().is_empty());
    }
}
