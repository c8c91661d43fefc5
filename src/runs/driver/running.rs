//! [`RunningChecks`]: the checks of a run that have begun and not ended.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use crate::modules::module::Module;
use crate::runs::lanes::Lane;

/// The running checks by their places, and how many there are of each lane.
#[derive(Default)]
pub(super) struct RunningChecks {
    checks: HashMap<usize, RunningCheck>,
    in_tail: usize,
    in_browser: usize,
}

pub(super) struct RunningCheck {
    pub(super) module: Arc<Module>,
    lane: Lane,
    pub(super) since: Instant,
}

impl RunningChecks {
    pub(super) fn is_empty(&self) -> bool {
        self.checks.is_empty()
    }

    /// Returns the number of checks that need no browser.
    pub(super) fn in_window(&self) -> usize {
        self.checks.len() - self.in_browser
    }

    /// Returns the number of checks in a browser.
    pub(super) fn in_browser(&self) -> usize {
        self.in_browser
    }

    /// Returns whether no further check of the lane may begin. The lane has a share of the window, or of the browsers.
    pub(super) fn is_full(&self, lane: Lane, window: usize, share: usize) -> bool {
        match lane {
            Lane::Front => self.in_window() >= window,
            Lane::Tail => self.in_window() >= window || self.in_tail >= share,
            Lane::Browser => self.in_browser >= share,
        }
    }

    pub(super) fn begin(&mut self, place: usize, module: Arc<Module>, lane: Lane) {
        self.in_tail += usize::from(lane == Lane::Tail);
        self.in_browser += usize::from(lane == Lane::Browser);
        self.checks.insert(place, RunningCheck { module, lane, since: Instant::now() });
    }

    /// Removes a check. Returns `None` if it was abandoned before.
    pub(super) fn end(&mut self, place: usize) -> Option<RunningCheck> {
        let check = self.checks.remove(&place)?;
        self.in_tail -= usize::from(check.lane == Lane::Tail);
        self.in_browser -= usize::from(check.lane == Lane::Browser);
        Some(check)
    }

    /// Removes all checks. Returns them with their places.
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = (usize, RunningCheck)> + use<> {
        std::mem::take(self).checks.into_iter()
    }
}
