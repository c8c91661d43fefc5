//! [`Stream`]: sends a run to one reader, frame by frame. The first frame is `run`, then results and progress follow,
//! and the last is `done`. If nothing happens for a while, it sends a comment. At the longest duration it sends
//! `reconnect`, and if the server fails or shuts down, `error`.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use log::warn;

use super::event::{ErrorData, Frame, KEEP_ALIVE, ReconnectData, frame};
use super::follow::{Follower, Next};
use super::live::Stopped;
use crate::base::ids::RequestId;
use crate::base::storage::StorageError;
use crate::model::run::Status;

/// The maximum size of frames that are sent together, in bytes. A replay of thousands of results then needs few
/// writes, and each write is small enough for a slow reader to receive within the write timeout.
const WRITE_BYTES: usize = 32 * 1024;

/// The permission of a reader, which may end before the stream does.
pub struct Permission {
    /// A function that returns whether the reader may continue to read.
    pub holds: Box<dyn FnMut() -> Result<bool, StorageError> + Send>,
    /// The longest time between two checks of the permission. A stream that was woken for another reason checks it after
    /// half of that time, so that few of thousands of streams are woken only for the check.
    pub every: Duration,
    /// The code of the `error` frame that ends the stream when the permission ends.
    pub error: &'static str,
    /// The message of that frame.
    pub message: &'static str,
}

/// A stream that sends a run to one reader.
pub struct Stream {
    /// Reads the run.
    pub follower: Follower,
    /// The longest duration of the stream.
    pub ceiling: Duration,
    /// The time without a frame after which a comment is sent.
    pub keep_alive: Duration,
    /// The id of the request that opened it.
    pub request_id: RequestId,
    /// The stream ends with an `error` frame as soon as this permission ends.
    pub permission: Option<Permission>,
}

impl Stream {
    /// Writes the run to `out` until its end.
    ///
    /// # Errors
    /// Returns the error of a write, which means that the reader has disconnected.
    pub fn run(mut self, out: &mut dyn Write) -> io::Result<()> {
        let ends_at = Instant::now() + self.ceiling;
        let mut asked_at = Instant::now();
        out.write_all(&self.follower.run_frame())?;
        let mut quiet_until = Instant::now() + self.keep_alive;
        loop {
            let mut until = quiet_until.min(ends_at);
            if let Some(permission) = &self.permission {
                until = until.min(asked_at + permission.every);
            }
            match self.follower.next(until) {
                Ok(Next::Frames(frames)) => {
                    send_all(out, &frames)?;
                    quiet_until = Instant::now() + self.keep_alive;
                }
                Ok(Next::End) => return Ok(()),
                Ok(Next::Quiet) => {
                    let now = Instant::now();
                    if now >= quiet_until && now < ends_at {
                        out.write_all(KEEP_ALIVE)?;
                        quiet_until = Instant::now() + self.keep_alive;
                    }
                }
                Ok(Next::Stopped(why)) => return self.send_stopped(out, why),
                Err(error) => return self.send_unavailable(out, &error),
            }
            if let Some(known) =
                self.permission.as_mut().filter(|known| asked_at.elapsed() >= known.every / 2)
            {
                let (code, message) = (known.error, known.message);
                match (known.holds)() {
                    Ok(true) => asked_at = Instant::now(),
                    Ok(false) => {
                        return self.send_error(out, self.follower.summary().status, (code, message), None);
                    }
                    Err(error) => return self.send_unavailable(out, &error),
                }
            }
            if Instant::now() >= ends_at {
                return self.send_reconnect(out);
            }
        }
    }

    /// Sends available frames before the `reconnect` frame, so that a run that has just ended ends with `done`.
    fn send_reconnect(&mut self, out: &mut dyn Write) -> io::Result<()> {
        loop {
            match self.follower.next(Instant::now()) {
                Ok(Next::Frames(frames)) => send_all(out, &frames)?,
                Ok(Next::End) => return Ok(()),
                _ => {
                    let (status, reason) = (Status::Running, "stream_timeout");
                    let run_id = self.follower.summary().id;
                    let data = ReconnectData { run_id, status, reason, retry_after: 1 };
                    return out.write_all(&frame("reconnect", &data));
                }
            }
        }
    }

    fn send_unavailable(&self, out: &mut dyn Write, error: &StorageError) -> io::Result<()> {
        warn!(request_id = self.request_id.as_str(); "cannot continue a stream: {error}");
        let why = ("unavailable", "the service cannot reach its database");
        self.send_error(out, self.follower.summary().status, why, Some(1))
    }

    fn send_stopped(&self, out: &mut dyn Write, why: Stopped) -> io::Result<()> {
        if why == Stopped::Deleted {
            return self.send_error(out, Status::Failed, ("not_found", "the run was deleted"), None);
        }
        let why = ("server_shutdown", "the server is shutting down; the run continues");
        self.send_error(out, self.follower.summary().status, why, Some(1))
    }

    /// Sends an `error` frame. A new attachment may succeed after `retry_after` seconds.
    fn send_error(
        &self,
        out: &mut dyn Write,
        status: Status,
        (error, message): (&'static str, &'static str),
        retry_after: Option<u32>,
    ) -> io::Result<()> {
        let (run_id, request_id) = (self.follower.summary().id, self.request_id.as_str());
        out.write_all(&frame("error", &ErrorData { run_id, status, error, message, retry_after, request_id }))
    }
}

fn send_all(out: &mut dyn Write, frames: &[Frame]) -> io::Result<()> {
    if let [frame] = frames {
        return out.write_all(frame);
    }
    let mut buffer = Vec::with_capacity(WRITE_BYTES);
    for frame in frames {
        if !buffer.is_empty() && buffer.len() + frame.len() > WRITE_BYTES {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        buffer.extend_from_slice(frame);
    }
    if buffer.is_empty() { Ok(()) } else { out.write_all(&buffer) }
}
