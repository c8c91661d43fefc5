//! Writes answers to readers that may be slow.
//!
//! Fault of tiny_http: a write to a reader that takes nothing waits without limit, and two small writes for one answer
//! meet Nagle's algorithm and delayed acknowledgements: 44 ms each. Workaround: a write waits at most
//! [`WRITE_WAIT`](crate::http::config::WRITE_WAIT) (`SO_SNDTIMEO`), and how often it is repeated is decided here; an
//! answer goes out in one write where possible, with `TCP_NODELAY`. Tests:
//! `readers_that_take_nothing_hold_no_request_worker_and_are_cut_off`,
//! `answers_on_one_connection_do_not_wait_for_acknowledgements`.

use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use crate::http::message::render::RenderedResponse;

/// tiny_http's writer of one answer. Dropping it lets the connection's next answer be written.
pub(crate) type Writer = Box<dyn Write + Send>;

/// The timeouts of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteTimeouts {
    /// The longest time in which the reader takes no byte.
    pub(crate) stall: Duration,
    /// The longest time for the whole answer.
    pub(crate) total: Option<Duration>,
}

/// The result of a write that does not wait for a slow reader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Everything is written.
    Done,
    /// The reader is slow. The rest must be written by a thread that may wait.
    Slow,
}

/// Writes as long as each write takes all bytes that it is given.
pub(crate) fn write_without_waiting(
    writer: &mut dyn Write,
    response: &mut RenderedResponse,
) -> io::Result<Progress> {
    while !response.rest().is_empty() {
        let length = response.rest().len();
        let Some(written) = unless_timed_out(writer.write(response.rest()))? else {
            return Ok(Progress::Slow);
        };
        response.advance(written);
        if written < length {
            return Ok(Progress::Slow);
        }
    }
    Ok(if unless_timed_out(writer.flush())?.is_some() { Progress::Done } else { Progress::Slow })
}

/// Writes the rest of a response completely, and flushes.
pub(crate) fn write_response(
    writer: &mut dyn Write,
    response: &mut RenderedResponse,
    timeouts: WriteTimeouts,
) -> io::Result<()> {
    let mut timer = StallTimer::start(timeouts);
    while !response.rest().is_empty() {
        let length = response.rest().len();
        write_all(writer, response.rest(), &mut timer)?;
        response.advance(length);
    }
    flush(writer, &mut timer)
}

/// Writes all bytes, and flushes.
pub(crate) fn write_bytes(writer: &mut dyn Write, bytes: &[u8], timeouts: WriteTimeouts) -> io::Result<()> {
    let mut timer = StallTimer::start(timeouts);
    write_all(writer, bytes, &mut timer)?;
    flush(writer, &mut timer)
}

fn write_all(writer: &mut dyn Write, mut bytes: &[u8], timer: &mut StallTimer) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = unless_timed_out(writer.write(bytes))?.unwrap_or(0);
        timer.check(written)?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Flushes the writer. A buffered writer keeps the bytes that a failed flush did not write, so that the flush can be
/// repeated.
fn flush(writer: &mut dyn Write, timer: &mut StallTimer) -> io::Result<()> {
    while unless_timed_out(writer.flush())?.is_none() {
        timer.check(0)?;
    }
    Ok(())
}

/// Returns the value of the outcome, or `None` if the socket took nothing in time.
fn unless_timed_out<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
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

struct StallTimer {
    timeouts: WriteTimeouts,
    started: Instant,
    last_progress: Instant,
}

impl StallTimer {
    fn start(timeouts: WriteTimeouts) -> Self {
        let now = Instant::now();
        Self { timeouts, started: now, last_progress: now }
    }

    fn check(&mut self, written: usize) -> io::Result<()> {
        let now = Instant::now();
        if written > 0 {
            self.last_progress = now;
        }
        let is_stalled = now.duration_since(self.last_progress) >= self.timeouts.stall;
        let is_over = self.timeouts.total.is_some_and(|total| now.duration_since(self.started) >= total);
        if is_stalled || is_over {
            return Err(io::Error::new(ErrorKind::TimedOut, "the reader is too slow"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::message::render::RenderOptions;
    use crate::http::message::response::Response;

    /// A writer that takes a few bytes, then refuses a number of calls, and so on.
    struct SlowWriter {
        taken: Vec<u8>,
        refusals: usize,
        left: usize,
    }

    impl Write for SlowWriter {
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

    const LONG: WriteTimeouts = WriteTimeouts { stall: Duration::from_secs(600), total: None };

    #[test]
    fn a_slow_reader_gets_every_byte_once() {
        let mut out = SlowWriter { taken: Vec::new(), refusals: 2, left: 1 };
        let options = RenderOptions { is_head: false, close: false, is_http_1_0: false, accepts_gzip: false };
        let mut answer = RenderedResponse::new(&Response::new(200, "text/plain", *b"0123456789"), options);
        let want = answer.rest().to_vec();
        assert_eq!(write_without_waiting(&mut out, &mut answer).unwrap(), Progress::Slow);
        write_response(&mut out, &mut answer, LONG).unwrap();
        assert_eq!(out.taken, want);
        out.taken.clear();
        write_bytes(&mut out, b"some more bytes", LONG).unwrap();
        assert_eq!(out.taken, b"some more bytes");
    }

    #[test]
    fn a_stalled_or_overlong_write_fails() {
        let stalled = WriteTimeouts { stall: Duration::ZERO, total: None };
        let mut out = SlowWriter { taken: Vec::new(), refusals: 1, left: 1 };
        assert_eq!(write_bytes(&mut out, b"x", stalled).unwrap_err().kind(), ErrorKind::TimedOut);
        let over = WriteTimeouts { total: Some(Duration::ZERO), ..LONG };
        let mut out = SlowWriter { taken: Vec::new(), refusals: 0, left: 0 };
        assert_eq!(write_bytes(&mut out, b"xxxxxxxxxxxx", over).unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
