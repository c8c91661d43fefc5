//! Browsers that are simulated along with the web: they draw what its pages would come to.

use crate::modules::probe::Browsers;

/// How many pages are open at once, as with real browsers.
const SESSIONS: usize = 2;

/// Always there.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedBrowsers {
    /// How many pages can be open at once.
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
