//! [`Printer`]: pages as PDFs, in the browsers that also run checks.

use std::sync::Arc;

use super::context::RunContext;
use crate::modules::probe::ProbeError;

/// A component that prints pages.
pub struct Printer {
    context: Arc<RunContext>,
}

impl Printer {
    pub(super) fn new(context: Arc<RunContext>) -> Self {
        Self { context }
    }

    /// Returns whether a browser is configured that prints pages.
    pub fn is_configured(&self) -> bool {
        self.context.browsing.prints()
    }

    /// Returns whether such a browser answers. Right after the start, waits for the first check of the browsers.
    pub fn is_available(&self) -> bool {
        self.is_configured() && self.context.browsing.is_available()
    }

    /// Prints an HTML page that loads nothing as a PDF. Takes seconds, up to a minute.
    ///
    /// # Errors
    /// Returns an error if no browser is available, or if it does not print the page in time.
    pub fn print(&self, page: &str) -> Result<Vec<u8>, ProbeError> {
        self.context.browsing.print(page)
    }
}
