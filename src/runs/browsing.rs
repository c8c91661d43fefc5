//! Checks in browsers: few at once, over all runs, in workers of their own, so that no other check waits for a
//! page to be drawn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::pool::CheckPool;
use crate::modules::probe::Browsers;

/// How long it is believed that a browser answers, or does not.
const BELIEVED: Duration = Duration::from_secs(1);

/// Workers for checks in browsers, as many as pages can be open, and who shares them.
pub struct Browsing {
    browsers: Arc<dyn Browsers>,
    pool: CheckPool,
    /// Runs with such checks left.
    runs: AtomicUsize,
    /// When it was last asked whether a browser answers, and what was said.
    answered: Mutex<Option<(Instant, bool)>>,
}

impl Browsing {
    /// Starts a worker for each session.
    pub fn new(browsers: Arc<dyn Browsers>) -> Self {
        let pool = CheckPool::of("browser", browsers.sessions());
        Self { browsers, pool, runs: AtomicUsize::new(0), answered: Mutex::default() }
    }

    /// Whether there are browsers at all.
    pub fn is_configured(&self) -> bool {
        self.browsers.sessions() > 0
    }

    /// Whether a premium search can be taken on now. Asks the browsers once a second at the most, one caller at
    /// a time: anybody may want to know.
    pub fn is_available(&self) -> bool {
        if !self.is_configured() {
            return false;
        }
        let mut answered = self.answered.lock();
        match *answered {
            Some((at, is_available)) if at.elapsed() < BELIEVED => is_available,
            _ => {
                let is_available = self.browsers.is_available();
                *answered = Some((Instant::now(), is_available));
                is_available
            }
        }
    }

    /// Checks that are under way, and how many can be at once.
    pub fn load(&self) -> (usize, usize) {
        (self.pool.busy(), self.browsers.sessions())
    }

    /// How many checks in browsers a run may have handed over: its fair share, at least one. Runs that hand over
    /// one each take turns, for the pool takes them in the order in which they came.
    pub fn window(&self) -> usize {
        (self.browsers.sessions() / self.runs.load(Ordering::Relaxed).max(1)).max(1)
    }

    /// Hands a check over; it starts when a worker is free.
    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        self.pool.execute(job);
    }

    /// A run begins to share, until the share is dropped.
    pub fn share(&self) -> Share<'_> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Share(&self.runs)
    }
}

/// A run's claim to its share.
pub struct Share<'b>(&'b AtomicUsize);

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
