//! The settings of a proof, and its interruption.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

use crate::modules::checker::Checker;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::runs::live::Waker;

/// The expected outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedOutcome {
    /// A hit: the name is found.
    Hit,
    /// A miss: the name is not found.
    Miss,
    /// A blocked check.
    Blocked,
    /// A rate-limited check.
    RateLimited,
    /// A check that exceeds its deadline.
    Timeout,
    /// A module that detects that it hits every name.
    Unreliable,
    /// Neither a hit nor a miss.
    Neither,
}

impl ExpectedOutcome {
    /// Returns whether the outcome is the expected one.
    pub fn is_met_by(self, outcome: Outcome) -> bool {
        match self {
            Self::Hit => outcome == Outcome::Hit,
            Self::Miss => outcome == Outcome::Miss,
            Self::Blocked => outcome == Outcome::Blocked,
            Self::RateLimited => outcome == Outcome::RateLimited,
            Self::Timeout => outcome == Outcome::Timeout,
            Self::Unreliable => outcome == Outcome::Unreliable,
            // A skipped check proves nothing.
            Self::Neither => !outcome.is_conclusive() && outcome != Outcome::Skipped,
        }
    }
}

/// The settings of a proof.
pub struct ProofOptions {
    /// The checker that queries the web for which the modules were made.
    pub checker: Arc<Checker>,
    /// Whether that web is simulated. In it, other names replace missing known ones, and hosts need no pauses.
    pub simulated: bool,
    /// The simulated webs on which every site fails in some way.
    pub faults: Vec<SimulatedFault>,
    /// The number of concurrent checks.
    pub jobs: usize,
    /// The maximum number of concurrent checks of one host.
    pub host_concurrency: usize,
    /// The number of these checks that can run in browsers at once.
    pub browser_jobs: usize,
    /// The deadline of a check.
    pub timeout: Duration,
    /// The seed for made-up names.
    pub seed: u64,
}

/// A simulated web on which every site fails in the same way.
pub struct SimulatedFault {
    /// The name of the failure in the report, such as `challenge`.
    pub name: &'static str,
    /// The checker that queries this web.
    pub checker: Arc<Checker>,
    /// The deadline of a check on this web.
    pub timeout: Duration,
    /// A function that returns the expected outcome of a module on this web, or `None` if the failure does not affect
    /// the module.
    pub wants: fn(&Module) -> Option<ExpectedOutcome>,
}

/// The progress of a proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProofProgress {
    /// The number of modules that are done.
    pub done: usize,
    /// The number of all modules.
    pub total: usize,
    /// The number of broken and unreliable modules so far.
    pub failing: usize,
}

/// A handle that ends a proof, or the searches of a command, early from any thread.
#[derive(Clone, Default)]
pub struct Stop(Arc<Stopping>);

#[derive(Default)]
struct Stopping {
    is_set: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Stop {
    /// Ends the work at once. It returns what is known.
    pub fn stop(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        if let Some(wake) = &*self.0.waker.lock() {
            wake();
        }
    }

    /// Returns whether the work was ended early.
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::SeqCst)
    }

    pub(super) fn wakes(&self, waker: Waker) {
        *self.0.waker.lock() = Some(waker);
    }
}
