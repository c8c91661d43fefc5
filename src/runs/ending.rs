//! The end of a run, stored: tried until the store takes it, or another instance has the run.

use std::time::{Duration, Instant};

use log::warn;

use super::journal::{Ending, Write};
use super::live::LiveRun;
use super::run::{RunError, Status};
use super::workshop::Workshop;
use crate::base::storage::StorageError;

const FIRST_RETRY: Duration = Duration::from_millis(100);
/// Results are stored so long after the store is back, at the latest.
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// When a store that failed is tried again.
#[derive(Default)]
pub(super) struct Retry {
    pause: Duration,
    since: Option<Instant>,
    at: Option<Instant>,
    is_broken: bool,
}

impl Retry {
    /// The moment of the next try, if one failed.
    pub(super) fn at(&self) -> Option<Instant> {
        self.at
    }

    pub(super) fn is_due(&self) -> bool {
        self.at.is_none_or(|at| Instant::now() >= at)
    }

    /// Whether the store refuses for another reason than being away, or has been away for that long.
    pub(super) fn is_hopeless(&self, patience: Duration) -> bool {
        self.is_broken || self.since.is_some_and(|since| since.elapsed() >= patience)
    }

    /// Notes a failure.
    pub(super) fn again(&mut self, run: &LiveRun, error: &StorageError) {
        if self.since.is_none() {
            warn!("run {}: what it found waits for the store: {error}", run.id());
        }
        let now = Instant::now();
        self.since.get_or_insert(now);
        self.is_broken |= !error.is_unavailable();
        self.pause = (self.pause * 2).clamp(FIRST_RETRY, LONGEST_RETRY);
        self.at = Some(now + self.pause);
    }
}

/// The ending of a run that failed.
pub(super) fn failed(workshop: &Workshop, code: &str, message: &str) -> Ending {
    Ending {
        status: Status::Failed,
        error: Some(RunError { code: code.to_owned(), message: message.to_owned() }),
        completed_at: workshop.clock.now(),
    }
}

/// The ending of a run whose results the store does not take.
pub(super) fn not_stored(workshop: &Workshop) -> Ending {
    failed(workshop, "store_failed", "the results could not be stored")
}

/// Stores the ending, then tells the readers. While the store is away it is tried again and again, so that
/// no other process takes an ended run for an interrupted one; readers are told of the failure when the
/// patience is over. A process that ends before the store is back leaves the run to the next one.
pub(super) fn store(workshop: &Workshop, run: &LiveRun, mut ending: Ending) {
    let mut retry = Retry::default();
    loop {
        match store_once(workshop, run, &ending) {
            Ok(()) => return,
            Err(error) => retry.again(run, &error),
        }
        if retry.is_hopeless(workshop.limits.store_patience) && run.ended_at().is_none() {
            ending = not_stored(workshop);
            run.end(ending.clone(), false);
        }
        if run.stopped().is_some() {
            return;
        }
        run.wait_until_stopped(retry.at().unwrap_or_else(Instant::now));
    }
}

/// The same, tried once. Where the store does not take it, the lease ends by itself, and whoever takes the run over then
/// tries again.
pub(super) fn store_once(workshop: &Workshop, run: &LiveRun, ending: &Ending) -> Result<(), StorageError> {
    let credits = run.summary().credits_charged;
    match workshop.journal.finish(run.id(), run.lease(), &run.checkpoint(), ending)? {
        Write::Done => {
            match ending.status {
                Status::Failed => workshop.figures.note_failure(credits),
                _ => workshop.figures.completed.one(),
            }
            run.end(ending.clone(), true);
        }
        Write::LeaseLost => run.lose(),
    }
    Ok(())
}
