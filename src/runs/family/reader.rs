//! [`FamilyReader`]: reads a family frame by frame.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::frames::child_of;
use super::state::FollowState;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::run::RunSummary;
use crate::runs::context::RunContext;
use crate::runs::event::{self, DoneData, Frame};
use crate::runs::follow::Frames;
use crate::runs::live::{Next, Stopped};

/// The interval at which the family is read: its runs may be driven by several processes.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// A reader that follows a run and the runs below it to the end of the last one. It sends the runs that leads start and
/// how far the leads are followed, without results, and the `done` frame of the first run at the end.
pub struct FamilyReader {
    context: Arc<RunContext>,
    first: RunSummary,
    /// The runs that were sent. Leads can be freed again, so their number says nothing.
    sent: HashSet<RunId>,
    state: Option<FollowState>,
    is_done: bool,
}

impl FamilyReader {
    pub(super) fn new(context: Arc<RunContext>, first: RunSummary) -> Self {
        Self { context, first, sent: HashSet::new(), state: None, is_done: false }
    }

    /// Returns the frames of what has changed since the last read, or `None` if the first run was deleted.
    fn read(&mut self) -> Result<Option<Vec<Frame>>, StorageError> {
        let (id, account) = (self.first.id, self.first.account);
        let root = self.first.family.map_or(id, |place| place.root);
        let Some(family) = self.context.store.family(root, account)? else { return Ok(None) };
        let family = family.from_run(id);
        let Some(first) = family.members.first().filter(|run| run.id == id) else { return Ok(None) };
        self.first = first.clone();
        let mut frames = Vec::new();
        for followed in &family.followed {
            let run = family.members.iter().find(|run| run.id == followed.run);
            if let Some(run) = run.filter(|run| self.sent.insert(run.id)) {
                frames.push(child_of(followed, run));
            }
        }
        let state = FollowState::of(&family);
        if self.state.replace(state) != Some(state) {
            frames.push(event::follow_frame(&state));
        }
        if !state.is_running() {
            self.is_done = true;
            frames.push(event::done_frame(&DoneData::of(&self.first)));
        }
        Ok(Some(frames))
    }
}

impl Frames for FamilyReader {
    fn summary(&self) -> &RunSummary {
        &self.first
    }

    fn next(&mut self, until: Instant) -> Result<Next, StorageError> {
        loop {
            if self.is_done {
                return Ok(Next::End);
            }
            match self.read()? {
                None => return Ok(Next::Stopped(Stopped::Deleted)),
                Some(frames) if !frames.is_empty() => return Ok(Next::Frames(frames)),
                Some(_) => {}
            }
            if self.context.lifecycle.is_shutting_down() {
                return Ok(Next::Stopped(Stopped::Shutdown));
            }
            let now = Instant::now();
            if now >= until {
                return Ok(Next::Quiet);
            }
            self.context.lifecycle.wait_for_shutdown(until.min(now + POLL_EVERY));
        }
    }
}
