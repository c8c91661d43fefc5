//! Whether the Chromium of an endpoint starts with its own sandbox: root has none, many containers neither.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

use log::warn;

use super::client::Fault;

/// What is known of it so far.
pub(super) struct Sandbox {
    is_root: bool,
    /// Found out: a browser starts without it only.
    is_given_up: AtomicBool,
    /// A browser has started with it: if one ever fails to, that is not why.
    has_worked: AtomicBool,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        Self::of(fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0))
    }

    fn of(is_root: bool) -> Self {
        Self { is_root, is_given_up: AtomicBool::new(false), has_worked: AtomicBool::new(false) }
    }

    /// Whether it is left out from the start.
    pub(super) fn is_left_out(&self) -> bool {
        self.is_root || self.is_given_up.load(Ordering::Relaxed)
    }

    /// Whether it may be why a start with it failed.
    pub(super) fn may_be_why(&self, fault: &Fault) -> bool {
        fault.is_refused_start() && !self.has_worked.load(Ordering::Relaxed)
    }

    /// A browser has started, with it or without.
    pub(super) fn note_start(&self, without: bool) {
        if !without {
            self.has_worked.store(true, Ordering::Relaxed);
        } else if !self.is_root && !self.is_given_up.swap(true, Ordering::Relaxed) {
            warn!("the browser starts without its own sandbox only, as in many containers");
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
    fn it_is_left_out_where_a_browser_starts_without_it_only() {
        let sandbox = Sandbox::of(false);
        assert!(!sandbox.is_left_out() && sandbox.may_be_why(&refused("session not created")));
        assert!(!sandbox.may_be_why(&refused("unknown error")) && !sandbox.may_be_why(&Fault::Late));
        sandbox.note_start(true);
        assert!(sandbox.is_left_out());
        assert!(Sandbox::of(true).is_left_out());
    }

    #[test]
    fn what_has_worked_once_is_not_given_up_for_one_start_that_fails() {
        let sandbox = Sandbox::of(false);
        sandbox.note_start(false);
        assert!(!sandbox.may_be_why(&refused("session not created")) && !sandbox.is_left_out());
    }
}
