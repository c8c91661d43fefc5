//! A streamed body's way out.

use std::io;

use super::handler::StreamSink;
use super::writing::{Patience, Writer, send_bytes};

/// Sends pieces, in chunks where the client understands them.
pub(super) struct PieceSink {
    writer: Writer,
    is_chunked: bool,
    patience: Patience,
    frame: Vec<u8>,
    has_failed: bool,
}

/// A frame's buffer of more than this is given back: thousands of streams wait most of the time.
const KEPT_BYTES: usize = 4 * 1024;

impl PieceSink {
    pub(super) fn new(writer: Writer, is_chunked: bool, patience: Patience) -> Self {
        Self { writer, is_chunked, patience, frame: Vec::new(), has_failed: false }
    }

    /// Sends bytes as they are.
    pub(super) fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let outcome = send_bytes(&mut *self.writer, bytes, self.patience);
        self.has_failed |= outcome.is_err();
        outcome
    }

    /// Says that this was all. Fails when a piece did not go out whole.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if self.is_chunked { self.send_raw(b"0\r\n\r\n") } else { Ok(()) }
    }

    pub(super) fn into_writer(self) -> Writer {
        self.writer
    }
}

impl StreamSink for PieceSink {
    fn send(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.has_failed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if !self.is_chunked {
            return self.send_raw(piece);
        }
        if piece.is_empty() {
            // An empty chunk would be the end.
            return Ok(());
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
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
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

    const PATIENCE: Patience = Patience { stall: Duration::from_secs(1), whole: None };

    #[test]
    fn pieces_are_chunks_and_an_empty_one_is_no_end() {
        let out = Out::default();
        let mut sink = PieceSink::new(Box::new(out.clone()), true, PATIENCE);
        for piece in [&b"hello"[..], b"", b"0123456789abcdef"] {
            sink.send(piece).unwrap();
        }
        sink.end().unwrap();
        assert_eq!(*out.0.lock(), b"5\r\nhello\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n");
    }

    #[test]
    fn without_chunks_the_pieces_stand_alone() {
        let out = Out::default();
        let mut sink = PieceSink::new(Box::new(out.clone()), false, PATIENCE);
        sink.send(b"hello").unwrap();
        sink.end().unwrap();
        assert_eq!(*out.0.lock(), b"hello");
    }

    #[test]
    fn nothing_follows_a_broken_piece() {
        let out = Out::default();
        let mut sink = PieceSink::new(Box::new(out.clone()), true, PATIENCE);
        sink.send(b"broken").unwrap_err();
        sink.send(b"more").unwrap_err();
        sink.end().unwrap_err();
        assert!(out.0.lock().is_empty());
    }
}
