//! Stores the end of a run, with retries until the store accepts it or another instance has the run.

use std::time::{Duration, Instant};

use log::log;

use super::live::LiveRun;
use super::service::Runs;
use crate::base::storage::StorageError;
use crate::model::drive::{Delta, Ending, Resumable, Write};
use crate::model::run::RunError;

const FIRST_RETRY: Duration = Duration::from_millis(100);
/// The longest pause between retries, and therefore the longest delay of results after the store is available again.
const LONGEST_RETRY: Duration = Duration::from_secs(2);

/// The schedule of retries after a failure of the store.
#[derive(Default)]
pub(super) struct Retry {
    pause: Duration,
    since: Option<Instant>,
    /// The time of the next try, if the last one failed.
    pub(super) at: Option<Instant>,
    is_broken: bool,
}

impl Retry {
    /// Returns whether the store fails for another reason than being unavailable, or has been unavailable for
    /// `patience`.
    pub(super) fn is_hopeless(&self, patience: Duration) -> bool {
        self.is_broken || self.since.is_some_and(|since| since.elapsed() >= patience)
    }

    /// Records a failure.
    pub(super) fn again(&mut self, run: &LiveRun, error: &StorageError) {
        if self.since.is_none() {
            log!(error.log_level(), "run {}: cannot store results, will retry: {error}", run.id());
        }
        let now = Instant::now();
        self.since.get_or_insert(now);
        self.is_broken |= !error.is_unavailable();
        self.pause = (self.pause * 2).clamp(FIRST_RETRY, LONGEST_RETRY);
        self.at = Some(now + self.pause);
    }
}

/// Why a run fails: a code, and a message for its owner.
pub(super) type Failure = (&'static str, &'static str);

/// Its owner stopped it before a module came to a conclusion.
pub(super) const STOPPED: Failure =
    ("stopped", "the search was stopped before any module came to a conclusion");
/// Its results could not be stored.
pub(super) const NOT_STORED: Failure = ("store_failed", "the results could not be stored");

/// Returns the end of a run at this moment.
pub(super) fn ending(runs: &Runs, failure: Option<Failure>) -> Ending {
    let error =
        failure.map(|(code, message)| RunError { code: code.to_owned(), message: message.to_owned() });
    Ending { error, completed_at: runs.clock.now() }
}

/// Stores the last delta and the ending, then notifies the readers. While the store is unavailable, the write is repeated, so that no
/// other process treats the ended run as an interrupted one. After `store_patience`, the run has failed, which readers see
/// when it is stored. If the process ends before the store is available again, another one takes the run over.
pub(super) fn store(runs: &Runs, run: &LiveRun, mut last: Delta, failure: Option<Failure>) {
    let (mut retry, mut ending) = (Retry::default(), ending(runs, failure));
    loop {
        let Err(error) = try_to_store(runs, run, &mut last, &ending) else { return };
        retry.again(run, &error);
        if retry.is_hopeless(runs.config.store_patience) && !run.has_ended() {
            ending = self::ending(runs, Some(NOT_STORED));
            run.end(&last, &ending, false);
        }
        if run.stopped().is_some() {
            return;
        }
        run.wait_until_stopped(retry.at.unwrap_or_else(Instant::now));
    }
}

/// Stores the last delta and the ending with a single try. If that fails, the lease expires after a while, and the instance
/// that takes the run over tries again.
pub(super) fn try_to_store(
    runs: &Runs,
    run: &LiveRun,
    last: &mut Delta,
    ending: &Ending,
) -> Result<(), StorageError> {
    last.revision += 1;
    let Resumable { lease, summary, .. } = &run.opening;
    match runs.store.finish(summary.id, *lease, last, ending)? {
        Write::Done | Write::Stopped(_) => {
            match ending.error {
                Some(_) => runs.figures.note_failure(summary.credits_charged),
                None => runs.figures.completed.one(),
            }
            runs.figures.run_durations.note(run.opening.ran_for + run.began.elapsed());
            run.end(last, ending, true);
        }
        Write::LeaseLost => run.lose(),
    }
    Ok(())
}
