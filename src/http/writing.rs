//! Getting bytes out to readers that may be slow.
//!
//! One write waits for `SEND_PATIENCE` at most (`SO_SNDTIMEO`); how often it is tried again is decided here.

use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use super::answer::Rendered;

/// tiny_http's writer of one answer. Dropping it gives the connection's next answer its turn.
pub(super) type Writer = Box<dyn Write + Send>;

/// How far a patient writer goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// Without a byte taken.
    pub(super) stall: Duration,
    /// In all.
    pub(super) whole: Option<Duration>,
}

/// How an attempt without patience ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// All is out.
    Done,
    /// The reader is slow; go on patiently elsewhere.
    Slow,
}

/// Writes what can be written without much waiting: as long as each write takes all it is given.
pub(super) fn send_promptly(writer: &mut dyn Write, answer: &mut Rendered) -> io::Result<Attempt> {
    while !answer.rest().is_empty() {
        let asked = answer.rest().len();
        let Some(taken) = not_now(writer.write(answer.rest()))? else { return Ok(Attempt::Slow) };
        answer.advance(taken);
        if taken < asked {
            return Ok(Attempt::Slow);
        }
    }
    Ok(if not_now(writer.flush())?.is_some() { Attempt::Done } else { Attempt::Slow })
}

/// Writes the whole rest.
pub(super) fn send_patiently(
    writer: &mut dyn Write,
    answer: &mut Rendered,
    patience: Patience,
) -> io::Result<()> {
    let mut watch = StallWatch::start(patience);
    while !answer.rest().is_empty() {
        let taken = not_now(writer.write(answer.rest()))?;
        watch.moved(taken.unwrap_or(0))?;
        answer.advance(taken.unwrap_or(0));
    }
    flush(writer, &mut watch)
}

/// Writes all of it and flushes.
pub(super) fn send_bytes(writer: &mut dyn Write, mut bytes: &[u8], patience: Patience) -> io::Result<()> {
    let mut watch = StallWatch::start(patience);
    while !bytes.is_empty() {
        let taken = not_now(writer.write(bytes))?;
        watch.moved(taken.unwrap_or(0))?;
        bytes = &bytes[taken.unwrap_or(0)..];
    }
    flush(writer, &mut watch)
}

/// A buffered writer keeps what a failed flush left over: it can be tried again.
fn flush(writer: &mut dyn Write, watch: &mut StallWatch) -> io::Result<()> {
    while not_now(writer.flush())?.is_none() {
        watch.moved(0)?;
    }
    Ok(())
}

/// `None` where the socket took nothing in time.
fn not_now<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

struct StallWatch {
    patience: Patience,
    begun: Instant,
    last_move: Instant,
}

impl StallWatch {
    fn start(patience: Patience) -> Self {
        let now = Instant::now();
        Self { patience, begun: now, last_move: now }
    }

    fn moved(&mut self, bytes: usize) -> io::Result<()> {
        let now = Instant::now();
        if bytes > 0 {
            self.last_move = now;
        }
        let stalled = now.duration_since(self.last_move) >= self.patience.stall;
        let over = self.patience.whole.is_some_and(|whole| now.duration_since(self.begun) >= whole);
        if stalled || over {
            return Err(io::Error::new(ErrorKind::TimedOut, "the reader is too slow"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::Form;
    use super::super::response::Response;
    use super::*;

    /// Takes a few bytes, then nothing for a number of calls, and so on.
    struct Reluctant {
        taken: Vec<u8>,
        refusals: usize,
        left: usize,
    }

    impl Write for Reluctant {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.left > 0 {
                self.left -= 1;
                return Err(ErrorKind::WouldBlock.into());
            }
            self.left = self.refusals;
            let taken = bytes.len().min(7);
            self.taken.extend_from_slice(&bytes[..taken]);
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const PATIENT: Patience = Patience { stall: Duration::from_secs(600), whole: None };

    #[test]
    fn a_slow_reader_gets_every_byte_once() {
        let mut out = Reluctant { taken: Vec::new(), refusals: 2, left: 1 };
        let form = Form { head_only: false, close: false, is_old: false, takes_gzip: false };
        let mut answer = Rendered::new(&Response::new(200, "text/plain", *b"0123456789"), form);
        let want = answer.rest().to_vec();
        assert_eq!(send_promptly(&mut out, &mut answer).unwrap(), Attempt::Slow);
        send_patiently(&mut out, &mut answer, PATIENT).unwrap();
        assert_eq!(out.taken, want);
        out.taken.clear();
        send_bytes(&mut out, b"some more bytes", PATIENT).unwrap();
        assert_eq!(out.taken, b"some more bytes");
    }

    #[test]
    fn patience_ends() {
        let stalled = Patience { stall: Duration::ZERO, whole: None };
        let mut out = Reluctant { taken: Vec::new(), refusals: 1, left: 1 };
        assert_eq!(send_bytes(&mut out, b"x", stalled).unwrap_err().kind(), ErrorKind::TimedOut);
        let over = Patience { whole: Some(Duration::ZERO), ..PATIENT };
        let mut out = Reluctant { taken: Vec::new(), refusals: 0, left: 0 };
        assert_eq!(send_bytes(&mut out, b"xxxxxxxxxxxx", over).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
