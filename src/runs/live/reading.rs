//! Reading the next frames of a live run.

use std::collections::HashSet;
use std::sync::Arc;

use super::cursor::Cursor;
use super::signals::{Signals, Stopped};
use super::state::{Event, State};
use crate::runs::event::Frame;

/// The maximum number of events that a reader takes under one lock.
const READ_EVENTS: usize = 256;

/// The result of [`LiveRun::read`](super::LiveRun::read).
#[derive(Debug)]
pub enum Next {
    /// Frames in the order in which they must be sent.
    Frames(Vec<Frame>),
    /// All frames were read, including `done`.
    End,
    /// There is nothing new until the given moment.
    Quiet,
    /// This process no longer drives the run.
    Stopped(Stopped),
}

/// Returns the frames after `cursor`, or the reason why there are none. Returns `None` if there may be more later.
pub(super) fn next(state: &State, cursor: &mut Cursor, signals: &Signals) -> Option<Next> {
    loop {
        let before = cursor.next_event;
        let frames = unread(state, cursor);
        if !frames.is_empty() {
            return Some(Next::Frames(frames));
        }
        // This reader leaves out all events that were read, but there may be more.
        if cursor.next_event == before {
            break;
        }
    }
    if cursor.done_seen {
        return Some(Next::End);
    }
    let why = signals.stopped()?;
    cursor.told = state.told();
    Some(Next::Stopped(why))
}

fn unread(state: &State, cursor: &mut Cursor) -> Vec<Frame> {
    let read = cursor.next_event.map(|next| state.ring.read(next, READ_EVENTS));
    let mut frames = match read {
        Some(Ok(events)) => take_events(state, events, cursor),
        // This is a new reader, or one that has fallen behind the ring.
        Some(Err(_)) | None => catch_up(state, cursor),
    };
    let at_the_end = cursor.next_event == Some(state.ring.next_number());
    if let (Some(done), true, false) = (&state.done, at_the_end, cursor.done_seen) {
        cursor.done_seen = true;
        frames.push(Arc::clone(done));
    }
    frames
}

fn catch_up(state: &State, cursor: &mut Cursor) -> Vec<Frame> {
    let first = state.results.partition_point(|result| result.record.id <= cursor.left_out);
    let mut frames: Vec<Frame> = state.results[first..]
        .iter()
        .filter(|result| result.record.id > cursor.last_result || result.changed_at > cursor.revision)
        .map(|result| Arc::clone(&result.frame))
        .collect();
    if let Some(last) = state.results.last() {
        cursor.last_result = cursor.last_result.max(last.record.id);
    }
    cursor.revision = cursor.revision.max(state.revision);
    if state.reports.len() > cursor.reports_seen {
        frames.push(state.progress_since(cursor.reports_seen));
        cursor.reports_seen = state.reports.len();
    }
    cursor.next_event = Some(state.ring.next_number());
    frames
}

fn take_events(state: &State, events: Vec<Event>, cursor: &mut Cursor) -> Vec<Frame> {
    let mut frames = Vec::with_capacity(events.len());
    // A changed result is sent in its current state, so one frame is enough.
    let mut told = HashSet::new();
    for event in events {
        cursor.next_event = cursor.next_event.map(|next| next + 1);
        match event {
            Event::Result(result) if result.record.id > cursor.last_result => {
                cursor.last_result = result.record.id;
                frames.push(Arc::clone(&result.frame));
            }
            Event::Result(_) => {}
            Event::Changes { ids, revision } => {
                let changed = ids
                    .iter()
                    .filter(|id| **id > cursor.left_out && told.insert(**id))
                    .filter_map(|id| state.result(*id))
                    .filter(|result| result.changed_at > cursor.revision);
                frames.extend(changed.map(|result| Arc::clone(&result.frame)));
                cursor.revision = cursor.revision.max(revision);
            }
            Event::Progress { frame, reports } => {
                cursor.reports_seen = reports;
                frames.push(frame);
            }
        }
    }
    frames
}
