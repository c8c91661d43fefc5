//! A run told to one reader, frame by frame: `run` first, results and progress as they come, `done` last; a comment
//! in the silence, `reconnect` at the ceiling, `error` where the server breaks or goes away.

use std::io;
use std::time::{Duration, Instant};

use log::warn;

use super::event::{self, ErrorData, Frame, KEEP_ALIVE};
use super::follow::{Follower, Step};
use crate::base::ids::RequestId;
use crate::base::storage::StorageError;

/// Frames are sent together up to this size: a replay of thousands costs few writes, and none that a
/// slow reader could not take within the write timeout.
const WRITE_BYTES: usize = 32 * 1024;
/// How often a reader's right to read is looked at.
const LEAVE_PERIOD: Duration = Duration::from_secs(2);

/// How long a stream may last and be silent.
#[derive(Debug, Clone, Copy)]
pub struct StreamLimits {
    /// Stream ceiling.
    pub ceiling: Duration,
    /// Silence after which a comment is sent.
    pub keep_alive: Duration,
}

/// Whether the reader may go on reading.
pub type Leave = Box<dyn FnMut() -> Result<bool, StorageError> + Send>;

/// What takes the bytes. It fails where the reader is gone.
pub type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

/// A run on its way to one reader.
pub struct Stream {
    follower: Follower,
    limits: StreamLimits,
    request_id: RequestId,
    leave: Option<Leave>,
}

impl Stream {
    /// Tells what `follower` reads; `request_id` is that of the request which asked.
    pub fn new(follower: Follower, limits: StreamLimits, request_id: RequestId) -> Self {
        Self { follower, limits, request_id, leave: None }
    }

    /// The same for as long as `leave` says so, which is asked every other second: then it ends with an `error`
    /// frame that says `unauthorized`.
    #[must_use]
    pub fn as_long_as(mut self, leave: Leave) -> Self {
        self.leave = Some(leave);
        self
    }

    /// Tells all of it, to the end.
    ///
    /// # Errors
    /// What `send` says.
    pub fn run(mut self, send: Sink<'_>) -> io::Result<()> {
        let ends_at = Instant::now() + self.limits.ceiling;
        let mut asked_at = Instant::now();
        send(&self.follower.run_frame())?;
        let mut quiet_until = Instant::now() + self.limits.keep_alive;
        loop {
            let mut until = quiet_until.min(ends_at);
            if self.leave.is_some() {
                until = until.min(asked_at + LEAVE_PERIOD);
            }
            match self.follower.next(until) {
                Ok(Step::Frames(frames)) => {
                    send_all(send, &frames)?;
                    quiet_until = Instant::now() + self.limits.keep_alive;
                }
                Ok(Step::End) => return Ok(()),
                Ok(Step::Quiet) => {
                    let now = Instant::now();
                    if now >= quiet_until && now < ends_at {
                        send(KEEP_ALIVE)?;
                        quiet_until = Instant::now() + self.limits.keep_alive;
                    }
                }
                Ok(Step::Shutdown) => {
                    return self.send_error(
                        send,
                        "server_shutdown",
                        "the server shuts down; the run goes on",
                    );
                }
                Ok(Step::Gone) => return self.send_error(send, "not_found", "the run was deleted"),
                Err(error) => return self.send_unavailable(send, &error),
            }
            if asked_at.elapsed() >= LEAVE_PERIOD {
                match self.leave.as_mut().map_or(Ok(true), |leave| leave()) {
                    Ok(true) => asked_at = Instant::now(),
                    Ok(false) => return self.send_error(send, "unauthorized", "the session has ended"),
                    Err(error) => return self.send_unavailable(send, &error),
                }
            }
            if Instant::now() >= ends_at {
                return self.send_reconnect(send);
            }
        }
    }

    /// At the ceiling: what is ready still goes out, so that a run that ended just now ends with `done`.
    fn send_reconnect(&mut self, send: Sink<'_>) -> io::Result<()> {
        loop {
            match self.follower.next(Instant::now()) {
                Ok(Step::Frames(frames)) => send_all(send, &frames)?,
                Ok(Step::End) => return Ok(()),
                _ => return send(&event::reconnect_frame(self.follower.summary().id)),
            }
        }
    }

    fn send_unavailable(&self, send: Sink<'_>, error: &StorageError) -> io::Result<()> {
        warn!(request_id = self.request_id.as_str(); "a stream broke: {error}");
        self.send_error(send, "unavailable", "the service cannot reach its database")
    }

    fn send_error(&self, send: Sink<'_>, code: &'static str, message: &'static str) -> io::Result<()> {
        let summary = self.follower.summary();
        send(&event::error_frame(&ErrorData {
            run_id: summary.id,
            status: summary.status,
            error: code,
            message,
            retry_after: 1,
            request_id: self.request_id.as_str(),
        }))
    }
}

fn send_all(send: Sink<'_>, frames: &[Frame]) -> io::Result<()> {
    if let [frame] = frames {
        return send(frame);
    }
    let mut buffer = Vec::with_capacity(WRITE_BYTES);
    for frame in frames {
        if !buffer.is_empty() && buffer.len() + frame.len() > WRITE_BYTES {
            send(&buffer)?;
            buffer.clear();
        }
        buffer.extend_from_slice(frame);
    }
    if buffer.is_empty() { Ok(()) } else { send(&buffer) }
}
