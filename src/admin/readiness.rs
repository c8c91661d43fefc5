//! Whether requests should be sent to this process. Liveness is separate: a process that is not ready must
//! not be killed.

use std::sync::atomic::{AtomicBool, Ordering};

/// The readiness of the process.
#[derive(Debug, Default)]
pub struct Readiness {
    serves: AtomicBool,
    drains: AtomicBool,
}

impl Readiness {
    /// Marks the process as serving: the schema is up to date, and requests are taken.
    pub fn begin(&self) {
        self.serves.store(true, Ordering::Release);
    }

    /// Marks the process as draining: it should get no new requests, while it finishes the running ones.
    pub fn drain(&self) {
        self.drains.store(true, Ordering::Release);
    }

    /// Returns the reason why the process is not ready, or `None` if it is. The store is asked last, and only
    /// if the answer depends on it.
    pub fn not_ready_reason(&self, has_store: impl FnOnce() -> bool) -> Option<&'static str> {
        if self.drains.load(Ordering::Acquire) {
            Some("shutting down")
        } else if !self.serves.load(Ordering::Acquire) {
            Some("starting")
        } else if !has_store() {
            Some("the database does not answer, or refuses writes")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ready_if_it_serves_has_a_store_and_does_not_drain() {
        let readiness = Readiness::default();
        assert_eq!(readiness.not_ready_reason(|| true), Some("starting"));
        readiness.begin();
        assert_eq!(readiness.not_ready_reason(|| true), None);
        assert!(readiness.not_ready_reason(|| false).unwrap().contains("database"));
        readiness.drain();
        assert_eq!(readiness.not_ready_reason(|| true), Some("shutting down"));
    }
}
