//! [`Follower`]: reads a run frame by frame, from memory while this process drives it and otherwise from the store.

mod stored;

use std::sync::Arc;
use std::time::Instant;

use super::event::{self, Frame, RunData};
use super::live::{Cursor, LiveRun, Next, Place, Stopped};
use super::registry::Registry;
use super::remote_run::RemoteRun;
use super::shared_read::SharedRead;
use crate::base::storage::StorageError;
use crate::model::run::{RunSummary, Status};
use crate::store::Store;
use stored::{RefreshPolicy, StoredCursor};

/// Frames that are read one after the other, to the `done` frame.
pub trait Frames: Send {
    /// Returns the run as it was when it was last read.
    fn summary(&self) -> &RunSummary;

    /// Returns the `run` frame, which comes first.
    fn run_frame(&self) -> Frame {
        let run = self.summary();
        event::run_frame(&RunData {
            run_id: run.id,
            search_type: run.search_type,
            query: &run.query,
            status: Status::Running,
        })
    }

    /// Returns the next frames. Waits for them until the given moment. Never returns [`Stopped::LeaseLost`], because a
    /// run that another instance drives is read from the store.
    ///
    /// # Errors
    /// Returns an error if the store fails and the run is not live in this process.
    fn next(&mut self, until: Instant) -> Result<Next, StorageError>;
}

/// A reader that follows a run from its first result, or from a given one, to its `done` frame.
pub struct Follower {
    registry: Arc<Registry>,
    store: Arc<Store>,
    summary: RunSummary,
    source: Source,
}

enum Source {
    Live(Arc<LiveRun>, Cursor),
    Stored(StoredCursor),
}

impl Frames for Follower {
    fn summary(&self) -> &RunSummary {
        &self.summary
    }

    fn next(&mut self, until: Instant) -> Result<Next, StorageError> {
        loop {
            let live = match &mut self.source {
                Source::Live(run, cursor) => Some((run.read(cursor, until), *cursor)),
                Source::Stored(_) => None,
            };
            match live {
                // Another instance drives the run now, so its results are read from the store.
                Some((Next::Stopped(Stopped::LeaseLost), cursor)) => {
                    // The other driver lists ended modules in another order. A repeated module is harmless, but an
                    // omitted one is not.
                    let place = Place { reports: 0, ..cursor.place() };
                    let remote = self.registry.remote.get(self.summary.id);
                    self.source = Source::Stored(StoredCursor::at(place, remote));
                }
                Some((next, _)) => return Ok(next),
                None => return self.next_stored(until),
            }
        }
    }
}

impl Follower {
    /// Creates a follower of a run that is live in this process.
    pub(super) fn live(registry: Arc<Registry>, store: Arc<Store>, run: Arc<LiveRun>, after: u32) -> Self {
        let summary = run.summary();
        Self { registry, store, summary, source: Source::Live(run, Cursor::after(after)) }
    }

    /// Creates a follower of a run in the store.
    pub(super) fn stored(
        registry: Arc<Registry>,
        store: Arc<Store>,
        summary: RunSummary,
        after: u32,
    ) -> Self {
        let place = Place { left_out: after, ..Place::default() };
        let cursor = StoredCursor::at(place, registry.remote.get(summary.id));
        Self { registry, store, summary, source: Source::Stored(cursor) }
    }

    fn next_stored(&mut self, until: Instant) -> Result<Next, StorageError> {
        loop {
            let Source::Stored(cursor) = &self.source else { return Ok(Next::End) };
            if cursor.done {
                return Ok(Next::End);
            }
            let (remote, seen, is_replaying) =
                (Arc::clone(&cursor.remote), cursor.remote.count(), cursor.is_replaying());
            let live = self.registry.followed(self.summary.id);
            if let Some(run) = live.filter(|_| !is_replaying) {
                return self.go_live(run, until);
            }
            match self.read_shared(&remote, seen)? {
                None => return Ok(Next::Stopped(Stopped::Deleted)),
                Some(frames) if !frames.is_empty() => return Ok(Next::Frames(frames)),
                Some(_) => {}
            }
            if self.registry.lifecycle.is_shutting_down() {
                return Ok(Next::Stopped(Stopped::Shutdown));
            }
            if Instant::now() >= until {
                return Ok(Next::Quiet);
            }
            self.registry.remote.wait(&remote, seen, until);
        }
    }

    /// Switches to a run that this process has taken over. Earlier results are read from the store, since the live run
    /// knows only later changes.
    fn go_live(&mut self, run: Arc<LiveRun>, until: Instant) -> Result<Next, StorageError> {
        let read = self.ask()?.map(|summary| Arc::new(SharedRead::new(summary)));
        let Some(frames) = self.read_stored(read, RefreshPolicy::AtOnce)? else {
            return Ok(Next::Stopped(Stopped::Deleted));
        };
        if let Source::Stored(cursor) = &self.source
            && !cursor.done
            && !cursor.is_replaying()
        {
            self.source = Source::Live(run, Cursor::at(cursor.place));
        }
        if frames.is_empty() { self.next(until) } else { Ok(Next::Frames(frames)) }
    }

    fn ask(&self) -> Result<Option<RunSummary>, StorageError> {
        self.store.run(self.summary.id, self.summary.account)
    }

    /// Returns the number of the last read.
    fn seen(&self) -> u64 {
        if let Source::Stored(cursor) = &self.source { cursor.read } else { 0 }
    }

    /// Reads the results and modules in the store after the cursor. Returns `None` if the run is gone.
    fn read_stored(
        &mut self,
        read: Option<Arc<SharedRead>>,
        refresh: RefreshPolicy,
    ) -> Result<Option<Vec<Frame>>, StorageError> {
        let Source::Stored(cursor) = &mut self.source else { return Ok(Some(Vec::new())) };
        // The summary was read before the results. It limits the revisions that are read, so the end of the run is
        // not seen before its last results.
        let Some(read) = read else { return Ok(None) };
        self.summary = read.summary.clone();
        cursor.read = read.number;
        cursor.read(&self.store, &read, refresh).map(Some)
    }

    /// Reads the results and modules in the store after the cursor. The read is shared with other readers that
    /// received `notified` notifications. Returns no frames while the store is unavailable for a short time.
    fn read_shared(&mut self, remote: &RemoteRun, notified: u64) -> Result<Option<Vec<Frame>>, StorageError> {
        let read = remote.read(notified, self.seen(), Instant::now(), || self.ask());
        let read = read.and_then(|read| self.read_stored(read, RefreshPolicy::WithProgress));
        let Source::Stored(cursor) = &mut self.source else { return read };
        if cursor.tolerates(&read) { Ok(Some(Vec::new())) } else { read }
    }
}
