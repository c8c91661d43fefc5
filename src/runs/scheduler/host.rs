//! One host: the checks that it has, and the queue of those that wait for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::TaskId;
use super::adaptive_limit::{AdaptiveLimit, Feedback};
use crate::base::ids::AccountId;

/// The time without a check after which the limit of a host is forgotten.
pub(super) const FORGET_AFTER: Duration = Duration::from_secs(10 * 60);

/// What is known about a host, and the checks that wait for it.
///
/// Checks of batches let all others go first, and leave one place free for them, so that a search never waits for a
/// batch at a slow host.
pub(super) struct Host {
    pub(super) limit: AdaptiveLimit,
    busy: usize,
    waiting: BTreeMap<Place, Option<AccountId>>,
    /// The turn of the check that last left the queue.
    turn: u64,
    pub(super) paused_until: Option<Instant>,
    /// The time at which a check last ended.
    used: Instant,
    /// The time at which a check last came to a conclusion.
    concluded: Option<Instant>,
}

/// A place in the queue. Accounts take turns, and checks with the same turn keep the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_of_batch: bool,
    turn: u64,
    task: TaskId,
}

impl Host {
    /// Creates a host about which nothing is known, and which never has more than `most` checks.
    pub(super) fn new(most: usize, now: Instant) -> Self {
        Self {
            limit: AdaptiveLimit::new(most),
            busy: 0,
            waiting: BTreeMap::new(),
            turn: 0,
            paused_until: None,
            used: now,
            concluded: None,
        }
    }

    /// Returns whether another check may run.
    pub(super) fn has_place(&self, is_of_batch: bool) -> bool {
        let limit = self.limit.get();
        self.busy < if is_of_batch { limit.saturating_sub(1).max(1) } else { limit }
    }

    /// Returns whether a check that was not in the queue may run: it passes no other one.
    pub(super) fn admits_newcomer(&self, is_of_batch: bool) -> bool {
        let passes_nobody = |first: &Place| first.is_of_batch && !is_of_batch;
        self.has_place(is_of_batch) && self.waiting.keys().next().is_none_or(passes_nobody)
    }

    /// Puts a check into the queue: the second check of an account comes after the first ones of all others, and so on.
    pub(super) fn wait(&mut self, task: TaskId, account: Option<AccountId>, is_of_batch: bool) {
        let own = self
            .waiting
            .iter()
            .filter(|(place, owner)| place.is_of_batch == is_of_batch && **owner == account);
        let last = own.map(|(place, _)| place.turn + 1).max();
        let turn = last.unwrap_or_default().max(self.turn + 1);
        self.waiting.insert(Place { is_of_batch, turn, task }, account);
    }

    /// Returns whether the turn of a waiting check has come.
    pub(super) fn has_turn(&self) -> bool {
        self.waiting.keys().next().is_some_and(|first| self.has_place(first.is_of_batch))
    }

    /// Removes the first check from the queue that is wanted and may run.
    pub(super) fn next_turn(&mut self, is_wanted: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let may_run = |place: &&Place| self.has_place(place.is_of_batch) && is_wanted(place.task);
        let place = *self.waiting.keys().find(may_run)?;
        self.waiting.remove(&place);
        self.turn = place.turn;
        Some(place.task)
    }

    /// Removes the checks from the queue that no longer wait.
    pub(super) fn retain(&mut self, waits: impl Fn(TaskId) -> bool) {
        self.waiting.retain(|place, _| waits(place.task));
    }

    /// Starts a check.
    pub(super) fn begin(&mut self) {
        self.busy += 1;
    }

    /// Ends a check that began at `began`.
    pub(super) fn end(&mut self, feedback: Feedback, began: Instant, now: Instant) {
        // A timeout of the only check, or beside others that came to a conclusion, is not due to the load.
        let is_due_to_load = self.busy > 1 && self.concluded < Some(began);
        if feedback != Feedback::TimedOut || is_due_to_load {
            self.limit.note(feedback);
        }
        if feedback == Feedback::Conclusive {
            self.concluded = Some(now);
        }
        self.busy -= 1;
        self.used = now;
    }

    /// Returns whether the host asked for a pause that has not ended.
    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|end| now < end)
    }

    /// Returns whether nothing is known about the host that later checks need.
    pub(super) fn is_forgettable(&self, now: Instant) -> bool {
        let is_unlimited = self.limit.is_initial() || now.duration_since(self.used) >= FORGET_AFTER;
        self.busy == 0 && self.waiting.is_empty() && self.paused_until.is_none() && is_unlimited
    }
}
