//! One host: its checks, and the queue of those that wait for it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::ids::AccountId;
use crate::runs::adaptive_limit::{AdaptiveLimit, Feedback};

/// The time without a check after which the limit of a host is forgotten.
pub(super) const FORGET_AFTER: Duration = Duration::from_secs(10 * 60);

/// A function that wakes the driver of a check that waits for a host. The check waits as long as the driver keeps it.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// A check that asks for a host.
#[derive(Clone, Copy)]
pub struct Requester<'a> {
    /// Wakes the driver of the check when it is the check's turn.
    pub waker: &'a Waker,
    /// The account for whose search the check is made, if it is made for one.
    pub account: Option<AccountId>,
    /// Whether the check is of a batch. Such a check lets all others go first, and leaves one place of a host free for
    /// them, so that a search never waits for a batch at a slow host.
    pub is_of_batch: bool,
}

/// What is known about a host, and the checks that wait for it.
pub(super) struct Host {
    pub(super) limit: AdaptiveLimit,
    pub(super) busy: usize,
    /// The checks that wait, in their order: accounts take turns, and those of one account keep the order in which they
    /// came.
    waiting: VecDeque<Waiter>,
    pub(super) paused_until: Option<Instant>,
    /// The time at which a check last ended.
    used: Instant,
    /// The time at which a check last came to a conclusion.
    concluded: Option<Instant>,
}

/// A check that waits for a host.
struct Waiter {
    waker: Waker,
    account: Option<AccountId>,
    is_of_batch: bool,
    /// Whether it was woken and has not asked again since.
    is_woken: bool,
}

impl Host {
    /// Creates a host about which nothing is known.
    pub(super) fn new(most: usize, now: Instant) -> Self {
        let limit = AdaptiveLimit::new(most);
        Self { limit, busy: 0, waiting: VecDeque::new(), paused_until: None, used: now, concluded: None }
    }

    /// Returns whether the check can start now.
    pub(super) fn has_place(&mut self, requester: Requester<'_>) -> bool {
        if !requester.is_of_batch {
            return self.busy < self.limit.get();
        }
        self.remove_ended();
        self.busy < self.limit_of_batches() && self.waiting.iter().all(|waiter| waiter.is_of_batch)
    }

    fn limit_of_batches(&self) -> usize {
        self.limit.get().saturating_sub(1).max(1)
    }

    /// Puts a check into the queue, or keeps its place there.
    pub(super) fn wait(&mut self, requester: Requester<'_>) {
        let Requester { waker, account, is_of_batch } = requester;
        match self.waiting.iter_mut().find(|waiter| Arc::ptr_eq(&waiter.waker, waker)) {
            Some(waiter) => waiter.is_woken = false,
            None => {
                self.remove_ended();
                let waiter = Waiter { waker: Arc::clone(waker), account, is_of_batch, is_woken: false };
                self.waiting.insert(self.next_place(&waiter), waiter);
            }
        }
    }

    /// Returns the place in the queue for another check: the second check of an account comes after the first ones of all
    /// other accounts, and so on. Checks of batches and other checks have turns of their own.
    fn next_place(&self, next: &Waiter) -> usize {
        let competes = |waiter: &Waiter| waiter.is_of_batch == next.is_of_batch;
        let is_own = |waiter: &&Waiter| competes(waiter) && waiter.account == next.account;
        let own = self.waiting.iter().filter(is_own).count();
        let mut seen: HashMap<Option<AccountId>, usize> = HashMap::new();
        let is_after = |waiter: &Waiter| {
            let earlier = seen.entry(waiter.account).or_default();
            *earlier += usize::from(competes(waiter));
            competes(waiter) && *earlier > own + 1
        };
        self.waiting.iter().position(is_after).unwrap_or(self.waiting.len())
    }

    /// Starts a check.
    pub(super) fn begin(&mut self, waker: &Waker) {
        self.busy += 1;
        self.waiting.retain(|waiter| !Arc::ptr_eq(&waiter.waker, waker));
    }

    /// Ends a check that began at `began`.
    pub(super) fn end(&mut self, feedback: Feedback, began: Option<Instant>, now: Instant) {
        // A timeout of the only check, or beside others that came to a conclusion, is not due to the load.
        let is_due_to_load = self.busy > 1 && self.concluded < began;
        match feedback {
            Feedback::TimedOut if !is_due_to_load => {}
            _ => self.limit.note(feedback),
        }
        if feedback == Feedback::Conclusive {
            self.concluded = Some(now);
        }
        self.busy = self.busy.saturating_sub(1);
        self.used = now;
    }

    /// Removes the checks that no longer wait: no driver keeps their wakers.
    pub(super) fn remove_ended(&mut self) {
        self.waiting.retain(|waiter| Arc::strong_count(&waiter.waker) > 1);
    }

    /// Returns the wakers of as many waiting checks as the host can take.
    pub(super) fn next_turns(&mut self) -> Vec<Waker> {
        self.remove_ended();
        let mut wakers = Vec::new();
        for (is_of_batch, limit) in [(false, self.limit.get()), (true, self.limit_of_batches())] {
            let free = limit.saturating_sub(self.busy + wakers.len());
            let waiting = self.waiting.iter_mut();
            let next =
                waiting.filter(|waiter| waiter.is_of_batch == is_of_batch && !waiter.is_woken).take(free);
            wakers.extend(next.map(|waiter| {
                waiter.is_woken = true;
                Arc::clone(&waiter.waker)
            }));
        }
        wakers
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
