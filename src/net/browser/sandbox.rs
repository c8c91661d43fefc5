//! Finds out whether the Chromium of an endpoint starts with its own sandbox, which works neither for root nor in many
//! containers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

use log::warn;

use super::client::Fault;

/// The results of earlier starts with and without the sandbox.
pub(super) struct Sandbox {
    is_root: bool,
    /// Whether a browser has started only without the sandbox.
    is_unusable: AtomicBool,
    /// Whether a browser has started with the sandbox. If a later one does not start, there is another reason.
    has_worked: AtomicBool,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        Self::of(fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0))
    }

    fn of(is_root: bool) -> Self {
        Self { is_root, is_unusable: AtomicBool::new(false), has_worked: AtomicBool::new(false) }
    }

    /// Returns whether browsers are started without the sandbox.
    pub(super) fn is_disabled(&self) -> bool {
        self.is_root || self.is_unusable.load(Ordering::Relaxed)
    }

    /// Returns whether the sandbox may be the reason for a failed start.
    pub(super) fn may_cause(&self, fault: &Fault) -> bool {
        fault.is_refused_start() && !self.has_worked.load(Ordering::Relaxed)
    }

    /// Notes that a browser has started.
    pub(super) fn note_start(&self, without: bool) {
        if !without {
            self.has_worked.store(true, Ordering::Relaxed);
        } else if !self.is_root && !self.is_unusable.swap(true, Ordering::Relaxed) {
            warn!("the browser starts only without its own sandbox, as in many containers");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str) -> Fault {
        Fault::Refused { code: code.into(), message: String::new() }
    }

    #[test]
    fn it_is_disabled_after_a_browser_has_started_only_without_it() {
        let sandbox = Sandbox::of(false);
        assert!(!sandbox.is_disabled() && sandbox.may_cause(&refused("session not created")));
        assert!(!sandbox.may_cause(&refused("unknown error")) && !sandbox.may_cause(&Fault::Late));
        sandbox.note_start(true);
        assert!(sandbox.is_disabled());
        assert!(Sandbox::of(true).is_disabled());
    }

    #[test]
    fn one_failed_start_does_not_disable_it_after_it_has_worked() {
        let sandbox = Sandbox::of(false);
        sandbox.note_start(false);
        assert!(!sandbox.may_cause(&refused("session not created")) && !sandbox.is_disabled());
    }
}
