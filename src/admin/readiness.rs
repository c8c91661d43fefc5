//! Whether requests should be sent here. Liveness is another thing: a process that is not ready is not to be killed.

use std::sync::atomic::{AtomicBool, Ordering};

/// Where the process is in its life.
#[derive(Debug, Default)]
pub struct Readiness {
    serves: AtomicBool,
    drains: AtomicBool,
}

impl Readiness {
    /// The schema is up to date, and requests are taken.
    pub fn begin(&self) {
        self.serves.store(true, Ordering::Release);
    }

    /// No more requests should come: said at once, while those under way are brought to their end.
    pub fn drain(&self) {
        self.drains.store(true, Ordering::Release);
    }

    /// Why no requests should be sent here, if so. The store is asked last, and only where it matters.
    pub fn why_not(&self, has_store: impl FnOnce() -> bool) -> Option<&'static str> {
        if self.drains.load(Ordering::Acquire) {
            Some("shutting down")
        } else if !self.serves.load(Ordering::Acquire) {
            Some("starting")
        } else if !has_store() {
            Some("the database does not answer, or takes no writes")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_is_who_serves_has_a_store_and_does_not_drain() {
        let readiness = Readiness::default();
        assert_eq!(readiness.why_not(|| true), Some("starting"));
        readiness.begin();
        assert_eq!(readiness.why_not(|| true), None);
        assert!(readiness.why_not(|| false).unwrap().contains("database"));
        readiness.drain();
        assert_eq!(readiness.why_not(|| true), Some("shutting down"));
    }
}
