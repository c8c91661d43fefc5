//! [`Browsing`]: the browsers that check pages and print them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::modules::probe::{Browsers, ProbeError};

/// The time limit for printing a page, with the wait for a free browser.
const PRINTING: Duration = Duration::from_secs(60);
/// The time for which the answer of the browsers is cached.
const BELIEVED: Duration = Duration::from_secs(1);

/// The browsers of a process.
pub struct Browsing {
    browsers: Arc<dyn Browsers>,
    /// The time and the answer of the last question to the browsers, whether one is available.
    answered: Mutex<Option<(Instant, bool)>>,
}

impl Browsing {
    /// Creates the browsers of a process.
    pub fn new(browsers: Arc<dyn Browsers>) -> Self {
        Self { browsers, answered: Mutex::default() }
    }

    /// Returns the number of pages that can be open at once.
    pub fn sessions(&self) -> usize {
        self.browsers.sessions()
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
}
