//! A catalogue that proves itself: every module is asked for its known names, which must hit, and for
//! made-up ones, which must miss. On a simulated web also for names on sites in trouble, which must be
//! neither.
//!
//! | file | holds |
//! |---|---|
//! | [`question`] | what a module is asked, and what it must say |
//! | [`verdict`] | what its answers prove |
//! | `prover` | asking: many modules at once, politely, until all is asked or somebody stops it |
//!
//! To add a trouble: its answer in the sandbox, its line in `app::proof`.

mod prover;
pub mod question;
pub mod verdict;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

pub use prover::prove;
use question::Want;
pub use verdict::{ModuleProof, Verdict};

use super::courtesy::Waker;
use crate::modules::check::Checker;
use crate::modules::module::Module;

/// How a catalogue is proved.
pub struct ProofOptions {
    /// Asks the web that the modules are about.
    pub checker: Arc<Checker>,
    /// That web is simulated: names stand in for known ones, nobody needs a rest.
    pub simulated: bool,
    /// Webs on which every site is in trouble; simulated ones only.
    pub troubles: Vec<Trouble>,
    /// Checks at once.
    pub jobs: usize,
    /// Checks in browsers at once, of those.
    pub browser_jobs: usize,
    /// The longest that one check may take.
    pub timeout: Duration,
    /// Made-up names are drawn from it.
    pub seed: u64,
}

/// A web on which every site is in the same trouble.
pub struct Trouble {
    /// For the report, such as `challenge`.
    pub name: &'static str,
    /// Asks it.
    pub checker: Arc<Checker>,
    /// The longest that one check may take there.
    pub timeout: Duration,
    /// What a check of this module must come to there; `None`: the trouble is none for it.
    pub wants: fn(&Module) -> Option<Want>,
}

/// Where a proof stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Modules that were asked everything.
    pub done: usize,
    /// All modules.
    pub total: usize,
    /// Broken and unreliable ones so far.
    pub failing: usize,
}

/// Breaks a proof off, from any thread.
#[derive(Clone, Default)]
pub struct Stop(Arc<Stopping>);

#[derive(Default)]
struct Stopping {
    is_set: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Stop {
    /// The proof ends at once, with what it knows.
    pub fn stop(&self) {
        self.0.is_set.store(true, Ordering::SeqCst);
        if let Some(wake) = &*self.0.waker.lock() {
            wake();
        }
    }

    /// Whether somebody stopped it.
    pub fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::SeqCst)
    }

    fn wakes(&self, waker: Waker) {
        *self.0.waker.lock() = Some(waker);
    }
}
