//! [`RunningChecks`]: the checks of a run that have begun and not ended.

use std::collections::HashMap;
use std::time::Instant;

use super::recorder::Asked;
use crate::runs::lanes::Lane;

/// The running checks by their places, and how many there are of each lane.
#[derive(Default)]
pub(super) struct RunningChecks {
    checks: HashMap<usize, RunningCheck>,
    in_tail: usize,
    in_browser: usize,
}

struct RunningCheck {
    asked: Asked,
    lane: Lane,
    since: Instant,
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

    /// Returns whether no further check of the lane may begin. The front fills the window up to its share, the tail and
    /// the browsers have no more checks than theirs.
    pub(super) fn is_full(&self, lane: Lane, window: usize, share: usize) -> bool {
        match lane {
            Lane::Front => self.in_window() >= share,
            Lane::Tail => self.in_window() >= window || self.in_tail >= share,
            Lane::Browser => self.in_browser >= share,
        }
    }

    pub(super) fn begin(&mut self, place: usize, asked: Asked, lane: Lane) {
        self.in_tail += usize::from(lane == Lane::Tail);
        self.in_browser += usize::from(lane == Lane::Browser);
        self.checks.insert(place, RunningCheck { asked, lane, since: Instant::now() });
    }

    /// Removes a check. Returns `None` if it was abandoned before.
    pub(super) fn end(&mut self, place: usize) -> Option<Asked> {
        let check = self.checks.remove(&place)?;
        self.in_tail -= usize::from(check.lane == Lane::Tail);
        self.in_browser -= usize::from(check.lane == Lane::Browser);
        Some(check.asked)
    }

    /// Removes all checks. Returns what they ask, and since when.
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = (Asked, Instant)> + use<> {
        std::mem::take(self).checks.into_values().map(|check| (check.asked, check.since))
    }
}
