//! Checks in browsers. All runs share a few workers that are used only for these checks, so that no other check waits
//! for a page to be rendered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::pool::CheckPool;
use crate::modules::probe::{Browsers, ProbeError};

/// The time limit for printing a page, with the wait for a free browser.
const PRINTING: Duration = Duration::from_secs(60);
/// The time for which the answer of the browsers is cached.
const BELIEVED: Duration = Duration::from_secs(1);

/// The workers for checks in browsers, one for each page that can be open, and the number of runs that share them.
pub struct Browsing {
    browsers: Arc<dyn Browsers>,
    pool: CheckPool,
    /// The number of runs that have checks in browsers left.
    runs: AtomicUsize,
    /// The time and the answer of the last question to the browsers, whether one is available.
    answered: Mutex<Option<(Instant, bool)>>,
}

impl Browsing {
    /// Creates the pool of workers, one for each browser session.
    pub fn new(browsers: Arc<dyn Browsers>) -> Self {
        let pool = CheckPool::of("browser", browsers.sessions());
        Self { browsers, pool, runs: AtomicUsize::new(0), answered: Mutex::default() }
    }

    /// Returns whether any browsers are configured.
    pub fn is_configured(&self) -> bool {
        self.browsers.sessions() > 0
    }

    /// Returns whether a browser is available for a premium search. Asks the browsers at most once a second, with one
    /// caller at a time.
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

    /// Returns whether the configured browsers print pages.
    pub fn prints(&self) -> bool {
        self.browsers.prints()
    }

    /// Returns whether a browser that prints pages answers. Right after the start, waits for the first check of the
    /// browsers.
    pub fn can_print(&self) -> bool {
        self.prints() && self.is_available()
    }

    /// Prints an HTML page that loads nothing as a PDF. Takes seconds, up to a minute.
    ///
    /// # Errors
    /// Returns an error if no browser is available, or if it does not print the page in time.
    pub fn print(&self, page: &str) -> Result<Vec<u8>, ProbeError> {
        self.browsers.print(page, Instant::now() + PRINTING)
    }

    /// Returns the number of checks that are running, and the maximum number.
    pub fn load(&self) -> (usize, usize) {
        (self.pool.busy(), self.browsers.sessions())
    }

    /// Returns the number of checks in browsers that a run may have submitted: its fair share, at least one. Runs
    /// that submit one check each take turns, because the pool is first in, first out.
    pub fn window(&self) -> usize {
        (self.browsers.sessions() / self.runs.load(Ordering::Relaxed).max(1)).max(1)
    }

    /// Submits a check. It starts when a worker is free.
    pub fn execute(&self, job: impl FnOnce() + Send + 'static) {
        self.pool.execute(job);
    }

    /// Registers a run that shares the workers, until the returned value is dropped.
    pub fn share(&self) -> Share<'_> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Share(&self.runs)
    }
}

/// The registration of a run that shares the workers.
pub struct Share<'b>(&'b AtomicUsize);

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
