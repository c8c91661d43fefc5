//! What the news of other processes change here, and how long to wait for them.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::live::{LiveRun, Stopped};
use super::news::{Ear, News, Watch};
use super::service::Runs;
use crate::base::ids::RunId;

/// How often the store is asked for news of a run that is driven elsewhere, while none can be heard.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// The same while they are heard: for those that got lost, and for instances of a version that tells none.
const POLL_BESIDE_NEWS: Duration = Duration::from_secs(3);

/// Whether news are heard.
#[derive(Debug)]
pub(super) struct Attention(AtomicU8);

impl Default for Attention {
    fn default() -> Self {
        Self(AtomicU8::new(Self::ALONE))
    }
}

impl Attention {
    /// No process but this one works on the store, as far as is known.
    const ALONE: u8 = 0;
    const HEARING: u8 = 1;
    const DEAF: u8 = 2;

    fn set(&self, to: u8) {
        self.0.store(to, Ordering::Relaxed);
    }

    /// There are others, and what they do is not heard.
    pub(super) fn is_deaf(&self) -> bool {
        self.0.load(Ordering::Relaxed) == Self::DEAF
    }

    fn poll_every(&self) -> Duration {
        if self.0.load(Ordering::Relaxed) == Self::HEARING { POLL_BESIDE_NEWS } else { POLL_EVERY }
    }
}

impl Ear for Runs {
    fn hear(&self, news: News) {
        match news {
            News::Changed { run, epoch } => self.hear_of_change(run, epoch),
            News::Deleted(run) => {
                self.stop_deleted(run);
                self.board.tell(run);
            }
            News::Released => self.call_to_duty(),
            News::Access => {}
            News::Hearing => {
                // What ended and was deleted while nothing was heard must not be kept for longer from now on.
                self.drop_ended();
                self.attention.set(Attention::HEARING);
                self.board.tell_all();
                self.call_to_duty();
            }
            News::Deaf => {
                self.attention.set(Attention::DEAF);
                // They may be deleted without our hearing of it: the store has them.
                self.drop_ended();
                self.board.tell_all();
            }
        }
    }
}

impl Runs {
    /// A run that somebody writes with a later lease than ours is not ours any more: its driver here need not
    /// find out by a write that is refused.
    fn hear_of_change(&self, run: RunId, epoch: u64) {
        if let Some(live) = self.live(run).filter(|live| live.lease().epoch < epoch) {
            live.lose();
        }
        self.board.tell(run);
    }

    /// Stops a run that was deleted, if it is live here.
    pub(super) fn stop_deleted(&self, run: RunId) {
        let live = self.live.write().remove(&run);
        if let Some(live) = live {
            live.stop(Stopped::Deleted);
        }
    }

    /// Whether a run that has ended need not be kept in memory, for the store has it.
    pub(super) fn is_in_the_way(&self, run: &LiveRun) -> bool {
        let keep = if self.attention.is_deaf() { Duration::ZERO } else { self.config.keep_ended };
        run.is_gone() || run.is_stored() && run.ended_at().is_some_and(|at| at.elapsed() >= keep)
    }

    /// Waits for more news of a run than were `seen`, at most until the given moment or until it is time to
    /// look without any. The beginning of the shutdown is news of every run.
    pub(super) fn wait_for_news(&self, watch: &Watch, seen: u64, until: Instant) {
        watch.wait_beyond(seen, until.min(Instant::now() + self.attention.poll_every()));
    }
}
