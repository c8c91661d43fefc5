//! One host: the checks that it has, the queue of those that wait for it, and the number of concurrent checks, which follows
//! the answers of the host (AIMD, additive increase and multiplicative decrease, as in TCP).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::base::ids::AccountId;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::reason::Reason;

/// The time without a check after which the limit of a host is forgotten.
pub(super) const FORGET_AFTER: Duration = Duration::from_secs(10 * 60);

/// The number of a check, in the order in which checks were added.
pub(super) type TaskId = u64;
/// The number of a group.
pub type GroupId = u64;

/// Who takes turns at a host: accounts, or at the browsers runs.
pub(super) type Owner = (Option<AccountId>, Option<GroupId>);

/// What is known about a host, and the checks that wait for it.
///
/// Checks of batches let all others go first, and leave one place free for them, so that a search never waits for a
/// batch at a slow host.
///
/// The maximum number of its concurrent checks is 2 at first and never above the configured maximum. It grows by one with
/// each conclusive answer, or, once the host has been overloaded, by one with as many conclusive answers as the limit. It
/// also grows while it is not fully used: if many searches begin at once, what was learned from earlier ones decides how
/// long they take. Each check that finds the host overloaded halves it, down to 1.
pub(super) struct Host {
    /// The number of checks that may run at once, and the configured maximum, at least 1.
    pub(super) limit: usize,
    most: usize,
    /// The number of conclusive answers that count for the next step of the limit.
    answers: usize,
    was_overloaded: bool,
    /// The number of places that checks of batches leave free.
    spare: usize,
    pub(super) busy: usize,
    waiting: BTreeMap<Place, Owner>,
    /// The turns of the checks of others and of batches that last left the queue.
    turn: [u64; 2],
    pub(super) paused_until: Option<Instant>,
    /// The time at which a check last ended.
    used: Instant,
    /// The time at which a check last came to a conclusion.
    concluded: Option<Instant>,
}

/// A place in the queue. Owners take turns, and checks with the same turn keep the order in which they came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_of_batch: bool,
    turn: u64,
    task: TaskId,
}

impl Host {
    /// Creates a host about which nothing is known, and which never has more than `most` checks.
    pub(super) fn new(most: usize, now: Instant) -> Self {
        let most = most.max(1);
        Self {
            limit: START.min(most),
            most,
            answers: 0,
            was_overloaded: false,
            spare: 1,
            busy: 0,
            waiting: BTreeMap::new(),
            turn: [0; 2],
            paused_until: None,
            used: now,
            concluded: None,
        }
    }

    /// Creates a host that is none of a site, with that many places.
    pub(super) fn of_this_side(places: usize, now: Instant) -> Self {
        Self { limit: places.max(1), spare: 0, ..Self::new(places, now) }
    }

    /// Returns whether another check may run.
    pub(super) fn has_place(&self, is_of_batch: bool) -> bool {
        self.busy < if is_of_batch { self.limit.saturating_sub(self.spare).max(1) } else { self.limit }
    }

    /// Returns whether a check that was not in the queue may run: it passes no other one.
    pub(super) fn admits_newcomer(&self, is_of_batch: bool) -> bool {
        let passes_nobody = |first: &Place| first.is_of_batch && !is_of_batch;
        self.has_place(is_of_batch) && self.waiting.keys().next().is_none_or(passes_nobody)
    }

    /// Puts a check into the queue: the second check of an owner comes after the first ones of all others, and so on. One
    /// that keeps a place of another host comes before others of its owner.
    pub(super) fn wait(&mut self, task: TaskId, owner: Owner, is_of_batch: bool, keeps_place: bool) {
        let own = self.waiting.iter().filter(|(place, of)| place.is_of_batch == is_of_batch && **of == owner);
        let last = own.map(|(place, _)| place.turn + 1).max();
        let next = self.turn[usize::from(is_of_batch)] + 1;
        let turn = if keeps_place { next } else { last.unwrap_or_default().max(next) };
        self.waiting.insert(Place { is_of_batch, turn, task }, owner);
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
        self.turn[usize::from(place.is_of_batch)] = place.turn;
        Some(place.task)
    }

    /// Removes the checks from the queue that no longer wait.
    pub(super) fn retain(&mut self, waits: impl Fn(TaskId) -> bool) {
        self.waiting.retain(|place, _| waits(place.task));
    }

    /// Ends a check that began at `began`.
    pub(super) fn end(&mut self, feedback: Feedback, began: Instant, now: Instant) {
        // A timeout of the only check, or beside others that came to a conclusion, is not due to the load.
        let is_due_to_load = self.busy > 1 && self.concluded < Some(began);
        if feedback != Feedback::TimedOut || is_due_to_load {
            self.adapt(feedback);
        }
        if feedback == Feedback::Conclusive {
            self.concluded = Some(now);
        }
        self.busy -= 1;
        self.used = now;
    }

    /// Adapts the limit to the end of a check.
    fn adapt(&mut self, feedback: Feedback) {
        let least = match feedback {
            Feedback::Overloaded | Feedback::TimedOut => 1,
            Feedback::Refused => START.min(self.limit),
            Feedback::Conclusive if self.limit < self.most => {
                self.answers += 1;
                if !self.was_overloaded || self.answers >= self.limit {
                    (self.limit, self.answers) = (self.limit + 1, 0);
                }
                return;
            }
            Feedback::Conclusive | Feedback::Neutral => return,
        };
        (self.limit, self.answers, self.was_overloaded) = ((self.limit / 2).max(least), 0, true);
    }

    /// Returns whether the host asked for a pause that has not ended.
    pub(super) fn is_paused(&self, now: Instant) -> bool {
        self.paused_until.is_some_and(|end| now < end)
    }

    /// Returns whether nothing is known about the host that later checks need.
    pub(super) fn is_forgettable(&self, now: Instant) -> bool {
        let is_initial = self.limit == START.min(self.most) && self.answers == 0 && !self.was_overloaded;
        let is_unlimited = self.spare == 0 || is_initial || now.duration_since(self.used) >= FORGET_AFTER;
        self.busy == 0 && self.waiting.is_empty() && self.paused_until.is_none() && is_unlimited
    }
}

/// The limit of a host about which nothing is known.
pub(super) const START: usize = 2;

/// The meaning of the end of a check for the limits of its hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// The site answered, and its answer was conclusive.
    Conclusive,
    /// The site asked for fewer requests, or failed.
    Overloaded,
    /// The site did not answer in time.
    TimedOut,
    /// The site refused the request.
    Refused,
    /// The end of the check does not depend on the load of the site.
    Neutral,
}

impl Feedback {
    /// Returns the feedback of a check that ended with this report.
    pub fn of(report: &Report) -> Self {
        match (report.outcome, report.evidence.http_status) {
            // The answer was at hand, so the site was not asked.
            (Outcome::Hit | Outcome::Miss, _) if report.evidence.requests == 0 => Self::Neutral,
            (Outcome::Hit | Outcome::Miss, _) => Self::Conclusive,
            (Outcome::Skipped | Outcome::Unreliable, _) => Self::Neutral,
            (Outcome::Timeout, _) if is_ended_by_this_side(report.reason) => Self::Neutral,
            (Outcome::Timeout, _) => Self::TimedOut,
            (Outcome::RateLimited, _) if !report.was_refused() => Self::Overloaded,
            (_, Some(429 | 500..=599)) => Self::Overloaded,
            (_, Some(403)) => Self::Refused,
            _ => Self::Neutral,
        }
    }
}

/// Returns whether a timeout says nothing about the load of the site.
fn is_ended_by_this_side(reason: Option<Reason>) -> bool {
    reason.is_some_and(|reason| {
        reason.is_end_of_run() || matches!(reason, Reason::TimeoutRules | Reason::TimeoutResolve)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::outcome::Evidence;

    fn report(outcome: Outcome, reason: Option<Reason>, http_status: Option<u16>) -> Report {
        let evidence = Evidence { http_status, requests: 1, ..Evidence::default() };
        Report { outcome, reason, evidence, findings: Vec::new(), pauses: Vec::new(), kept: None }
    }

    #[test]
    fn only_answers_that_depend_on_the_load_change_the_limit() {
        use Feedback::{Conclusive, Neutral, Overloaded, Refused, TimedOut};
        for (outcome, reason, status, want) in [
            (Outcome::Hit, None, Some(200), Conclusive),
            (Outcome::Miss, None, Some(403), Conclusive),
            (Outcome::RateLimited, Some(Reason::RateLimit), Some(200), Overloaded),
            (Outcome::RateLimited, Some(Reason::RetryAfter), None, Neutral),
            (Outcome::Blocked, Some(Reason::Forbidden), Some(403), Refused),
            (Outcome::Blocked, Some(Reason::LoginWall), Some(200), Neutral),
            (Outcome::Error, Some(Reason::ServerError), Some(503), Overloaded),
            (Outcome::Error, Some(Reason::Dns), None, Neutral),
            (Outcome::Timeout, Some(Reason::TimeoutConnect), None, TimedOut),
            (Outcome::Timeout, Some(Reason::TimeoutResolve), None, Neutral),
            (Outcome::Timeout, Some(Reason::RunDeadline), None, Neutral),
            (Outcome::Timeout, Some(Reason::TimeBudget), None, Neutral),
            (Outcome::Timeout, Some(Reason::TimeoutRules), Some(200), Neutral),
            (Outcome::Skipped, Some(Reason::LocalResources), Some(503), Neutral),
            (Outcome::Unreliable, Some(Reason::ControlHit), Some(200), Neutral),
        ] {
            assert_eq!(
                Feedback::of(&report(outcome, reason, status)),
                want,
                "{outcome} {reason:?} {status:?}"
            );
        }
    }

    #[test]
    fn the_limit_grows_by_one_each_and_after_an_overload_by_one_for_as_many_answers_as_the_limit() {
        let mut host = Host::new(6, Instant::now());
        let mut after = |feedback| {
            host.adapt(feedback);
            host.limit
        };
        assert_eq!([Feedback::Conclusive; 5].map(&mut after), [3, 4, 5, 6, 6]);
        assert_eq!([Feedback::Overloaded; 4].map(&mut after), [3, 1, 1, 1]);
        assert_eq!([Feedback::Conclusive; 7].map(&mut after), [2, 2, 3, 3, 3, 4, 4]);
        assert_eq!([Feedback::Neutral; 2].map(&mut after), [4, 4]);
        assert_eq!([Feedback::Refused; 2].map(&mut after), [2, 2]);
        assert_eq!([Feedback::Overloaded, Feedback::Refused].map(&mut after), [1, 1]);
    }
}
