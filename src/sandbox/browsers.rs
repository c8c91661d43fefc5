//! Simulated browsers. A browser's answer is the page as it is after its scripts have run.

use crate::modules::probe::Browsers;

/// The number of pages that are open at once, as with real browsers.
const SESSIONS: usize = 2;

/// Simulated browsers that are always available.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedBrowsers {
    /// The number of pages that can be open at once.
    pub sessions: usize,
}

impl Default for SimulatedBrowsers {
    fn default() -> Self {
        Self { sessions: SESSIONS }
    }
}

impl Browsers for SimulatedBrowsers {
    fn sessions(&self) -> usize {
        self.sessions
    }

    fn is_available(&self) -> bool {
        true
    }
}
