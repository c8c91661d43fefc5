//! A run as Server-Sent Events: `run` first, results and progress as they come, `done` last; a comment
//! in the silence, `reconnect` at the ceiling, `error` where the server breaks or goes away.

use std::io;
use std::time::{Duration, Instant};

use log::warn;

use super::service::Api;
use crate::base::ids::RequestId;
use crate::http::{Reply, Response, StreamEnd, StreamSink};
use crate::runs::event::{self, ErrorData, Frame, KEEP_ALIVE};
use crate::runs::follow::{Follower, Step};
use crate::runs::service::Found;

/// Frames are sent together up to this size: a replay of thousands costs few writes, and none that a
/// slow reader could not take within the write timeout.
const WRITE_BYTES: usize = 32 * 1024;

/// The reply that follows `found`, leaving out results up to `after`.
pub fn reply(api: &Api, found: Found, after: u32, request_id: &RequestId) -> Reply {
    let head = Response::empty(200)
        .with_header("Content-Type", "text/event-stream")
        .with_header("Cache-Control", "no-cache, no-transform")
        .with_header("X-Accel-Buffering", "no");
    let streamed = Streamed {
        follower: api.runs.follow(found, after),
        keep_alive: api.config.keep_alive,
        ceiling: api.config.stream_timeout,
        request_id: request_id.clone(),
    };
    Reply::Stream(
        head,
        Box::new(move |sink| match streamed.run(sink) {
            Ok(()) => StreamEnd::Complete,
            Err(_) => StreamEnd::ReaderGone,
        }),
    )
}

struct Streamed {
    follower: Follower,
    keep_alive: Duration,
    ceiling: Duration,
    request_id: RequestId,
}

impl Streamed {
    fn run(mut self, sink: &mut dyn StreamSink) -> io::Result<()> {
        let ends_at = Instant::now() + self.ceiling;
        sink.send(&self.follower.run_frame())?;
        loop {
            let quiet_until = Instant::now() + self.keep_alive;
            match self.follower.next(quiet_until.min(ends_at)) {
                Ok(Step::Frames(frames)) => send_all(sink, &frames)?,
                Ok(Step::End) => return Ok(()),
                Ok(Step::Quiet) if Instant::now() < ends_at => sink.send(KEEP_ALIVE)?,
                Ok(Step::Quiet) => {}
                Ok(Step::Shutdown) => {
                    return self.send_error(
                        sink,
                        "server_shutdown",
                        "the server shuts down; the run goes on",
                    );
                }
                Ok(Step::Gone) => return self.send_error(sink, "not_found", "the run was deleted"),
                Err(error) => {
                    warn!(request_id = self.request_id.as_str(); "a stream broke: {error}");
                    return self.send_error(sink, "unavailable", "the service cannot reach its database");
                }
            }
            if Instant::now() >= ends_at {
                return self.send_reconnect(sink);
            }
        }
    }

    /// At the ceiling: what is ready still goes out, so that a run that ended just now ends with `done`.
    fn send_reconnect(&mut self, sink: &mut dyn StreamSink) -> io::Result<()> {
        loop {
            match self.follower.next(Instant::now()) {
                Ok(Step::Frames(frames)) => send_all(sink, &frames)?,
                Ok(Step::End) => return Ok(()),
                _ => return sink.send(&event::reconnect_frame(self.follower.summary().id)),
            }
        }
    }

    fn send_error(
        &self,
        sink: &mut dyn StreamSink,
        code: &'static str,
        message: &'static str,
    ) -> io::Result<()> {
        let summary = self.follower.summary();
        sink.send(&event::error_frame(&ErrorData {
            run_id: summary.id,
            status: summary.status,
            error: code,
            message,
            retry_after: 1,
            request_id: self.request_id.as_str(),
        }))
    }
}

fn send_all(sink: &mut dyn StreamSink, frames: &[Frame]) -> io::Result<()> {
    if let [frame] = frames {
        return sink.send(frame);
    }
    let mut buffer = Vec::with_capacity(WRITE_BYTES);
    for frame in frames {
        if !buffer.is_empty() && buffer.len() + frame.len() > WRITE_BYTES {
            sink.send(&buffer)?;
            buffer.clear();
        }
        buffer.extend_from_slice(frame);
    }
    if buffer.is_empty() { Ok(()) } else { sink.send(&buffer) }
}
