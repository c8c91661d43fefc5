//! [`Follower`]: reads a run frame by frame, from memory while this process drives it and otherwise from the store; and
//! [`Stream`]: sends it to one reader.
//!
//! A reader only knows its [`Position`], which means the same in memory and in the store. Therefore it may read on from
//! either at any moment.
//!
//! The first frame of a stream is `run`, then results and progress follow, and the last is `done`. If nothing happens for a
//! while, it sends a comment. At the longest duration it sends `reconnect`, and if the server fails or shuts down, `error`.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::warn;

use super::event::{
    DoneData, ErrorData, Frame, KEEP_ALIVE, ProgressData, ReconnectData, family_frames, frame,
};
use super::live::{Read, Step, Stopped};
use super::registry::POLL_EVERY;
use super::service::Runs;
use super::waiting::Changes;
use crate::base::cache::Computed;
use crate::base::ids::{AccountId, RequestId, RunId};
use crate::base::storage::StorageError;
use crate::model::drive::{self, Position};
use crate::model::run::{RunSummary, Status};
use crate::store::Store;

/// The maximum number of results that are read from the store at once, which bounds the memory of a reader that reads
/// slowly.
const PAGE: usize = 32;
/// The time for which a reader tolerates an unavailable store. Readers of live runs get nothing new in that time
/// either.
const OUTAGE_TIMEOUT: Duration = Duration::from_secs(30);
/// The time for which a failed read is shared.
const FAILED_FOR: Duration = Duration::from_millis(500);

/// The result of [`Follower::next`].
#[derive(Debug)]
pub enum Next {
    /// Frames in the order in which they must be sent.
    Frames(Vec<Frame>),
    /// All frames were read, including `done`.
    End,
    /// There is nothing new until the given moment.
    Quiet,
    /// The run was deleted, or the process shuts down.
    Stopped(Stopped),
}

/// A reader that follows a run from its first result, or from a given one, to its `done` frame.
pub struct Follower {
    runs: Arc<Runs>,
    run: RunId,
    account: AccountId,
    /// The status of the run when its reader began.
    status: Status,
    /// The id up to which results are left out, even if they change.
    left_out: u32,
    at: Position,
    is_done: bool,
    changes: Arc<Changes>,
    /// The time since which the store does not answer.
    silent_since: Option<Instant>,
}

impl Follower {
    // Thousands of followers do not keep the whole run.
    pub(super) fn new(runs: Arc<Runs>, summary: &RunSummary, at: Position, left_out: u32) -> Self {
        let RunSummary { id: run, account, status, .. } = *summary;
        let changes = runs.changes_of(run);
        Self { runs, run, account, status, left_out, at, is_done: false, changes, silent_since: None }
    }

    /// Returns the next frames. Waits for them until the given moment. Never returns [`Stopped::LeaseLost`], because a
    /// run that another instance drives is read from the store.
    ///
    /// # Errors
    /// Returns an error if the store fails and the run is not live in this process.
    pub fn next(&mut self, until: Instant) -> Result<Next, StorageError> {
        while !self.is_done {
            // It is read before the run, which may change meanwhile. That this process begins to drive it is a change.
            let seen = self.changes.last();
            let live = self.runs.live(self.run);
            let read = match live.and_then(|run| run.after(self.at, self.left_out)) {
                Some(step) => Some(Ok(Some(step))),
                None => self.read(seen, until),
            };
            let mut wake_at = until;
            match read {
                Some(Ok(None)) => return Ok(Next::Stopped(Stopped::Deleted)),
                Some(Ok(Some(step))) => {
                    self.silent_since = None;
                    if step.end != self.at || step.is_last {
                        (self.at, self.is_done) = (step.end, step.is_last);
                        if !step.frames.is_empty() {
                            return Ok(Next::Frames(step.frames));
                        }
                        continue;
                    }
                }
                Some(Err(error)) => {
                    let silent_for = self.silent_since.get_or_insert_with(Instant::now).elapsed();
                    if !error.is_unavailable() || silent_for >= OUTAGE_TIMEOUT {
                        return Err(error);
                    }
                    wake_at = until.min(Instant::now() + POLL_EVERY);
                }
                // Another reader has read for the whole time.
                None => {}
            }
            if self.runs.is_shutting_down() {
                return Ok(Next::Stopped(Stopped::Shutdown));
            }
            if !self.changes.wait(seen, wake_at) && Instant::now() >= until {
                return Ok(Next::Quiet);
            }
        }
        Ok(Next::End)
    }

    /// Reads from the store what was not read, or returns the same read of another reader.
    fn read(&self, seen: u64, until: Instant) -> Option<Read> {
        let Runs { store, reads, .. } = &*self.runs;
        let Self { run, account, at, left_out, .. } = *self;
        reads.get_or_compute(&(run, at, left_out, seen), until, || {
            let value = read(store, run, account, at, left_out);
            let ttl = if value.is_ok() { POLL_EVERY } else { FAILED_FOR };
            let frames = value.iter().flatten().flat_map(|step| &step.frames);
            let weight = frames.map(|frame| frame.len()).sum();
            Computed { value, ttl, weight }
        })
    }
}

/// Reads what a reader at that position has not read. Returns `None` if the run is gone.
// Not inlined: thousands of threads wait below the caller, on stacks that would have room for this one.
#[inline(never)]
pub(super) fn read(
    store: &Store,
    run: RunId,
    account: AccountId,
    at: Position,
    left_out: u32,
) -> Result<Option<Step>, StorageError> {
    let Some(changes) = store.changes(run, account, at, left_out, PAGE)? else { return Ok(None) };
    let drive::Changes { summary, results, reports, end } = changes;
    let mut frames: Vec<Frame> = results.iter().map(|record| frame("result", record)).collect();
    if !reports.is_empty() {
        frames.push(frame("progress", &ProgressData::of(&summary, &reports)));
    }
    let is_last = summary.status.is_terminal() && end.page.is_none() && end.next > summary.revision;
    if is_last {
        // Leads of other runs may have been followed by hand.
        let children = store.children(summary.root(), summary.id)?;
        frames.extend(family_frames(&store.lookups(summary.id)?, &children));
        frames.push(frame("done", &DoneData::of(&summary)));
    }
    Ok(Some(Step { frames, end, is_last }))
}

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
    /// The first frame: see [`run_frame`](super::event::run_frame). It is dropped when it is sent.
    pub first: Frame,
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
    pub fn run(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let ends_at = Instant::now() + self.ceiling;
        let mut asked_at = Instant::now();
        let Follower { run: run_id, status: known, .. } = self.follower;
        out.write_all(&std::mem::take(&mut self.first))?;
        let mut quiet_until = Instant::now() + self.keep_alive;
        let (status, error, message, retry_after) = loop {
            out.flush()?;
            let mut until = quiet_until.min(ends_at);
            if let Some(permission) = &self.permission {
                until = until.min(asked_at + permission.every);
            }
            match self.follower.next(until) {
                Ok(Next::Frames(frames)) => {
                    frames.iter().try_for_each(|frame| out.write_all(frame))?;
                    quiet_until = Instant::now() + self.keep_alive;
                }
                Ok(Next::End) => return Ok(()),
                Ok(Next::Quiet) => {
                    let now = Instant::now();
                    if now >= ends_at {
                        let (status, reason) = (Status::Running, "stream_timeout");
                        let data = ReconnectData { run_id, status, reason, retry_after: 1 };
                        return out.write_all(&frame("reconnect", &data));
                    }
                    if now >= quiet_until {
                        out.write_all(KEEP_ALIVE)?;
                        quiet_until = Instant::now() + self.keep_alive;
                    }
                }
                Ok(Next::Stopped(Stopped::Deleted)) => {
                    break (Status::Failed, "not_found", "the run was deleted", None);
                }
                Ok(Next::Stopped(_)) => {
                    let message = "the server is shutting down; the run continues";
                    break (known, "server_shutdown", message, Some(1));
                }
                Err(error) => break self.failed(&error),
            }
            if let Some(permission) =
                self.permission.as_mut().filter(|known| asked_at.elapsed() >= known.every / 2)
            {
                match (permission.holds)() {
                    Ok(true) => asked_at = Instant::now(),
                    Ok(false) => break (known, permission.error, permission.message, None),
                    Err(error) => break self.failed(&error),
                }
            }
        };
        let request_id = self.request_id.as_str();
        out.write_all(&frame("error", &ErrorData { run_id, status, error, message, retry_after, request_id }))
    }

    /// Returns the data of the `error` frame when the store fails. Unless what is stored cannot be read, a new attachment may
    /// succeed after a second.
    fn failed(&self, error: &StorageError) -> (Status, &'static str, &'static str, Option<u32>) {
        warn!(request_id = self.request_id.as_str(); "cannot continue a stream: {error}");
        let status = self.follower.status;
        match error.is_unavailable() {
            true => (status, "unavailable", "the service cannot reach its database", Some(1)),
            false => (status, "internal_error", "the service cannot read the run", None),
        }
    }
}
