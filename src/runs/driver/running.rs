//! [`RunningChecks`]: the checks of a run that have begun and not ended.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::recorder::Asked;
use crate::runs::lanes::Lane;

/// The time for which a run waits for a trial if nothing else is left to wait for.
const PATIENCE_WITH_TRIALS: Duration = Duration::from_secs(1);

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
    /// The host with an open circuit that the check tries.
    trial: Option<String>,
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

    pub(super) fn begin(&mut self, place: usize, asked: Asked, lane: Lane, trial: Option<String>) {
        self.in_tail += usize::from(lane == Lane::Tail);
        self.in_browser += usize::from(lane == Lane::Browser);
        self.checks.insert(place, RunningCheck { asked, lane, since: Instant::now(), trial });
    }

    /// Removes a check. Returns `None` if it was abandoned before.
    pub(super) fn end(&mut self, place: usize) -> Option<Asked> {
        let check = self.checks.remove(&place)?;
        self.in_tail -= usize::from(check.lane == Lane::Tail);
        self.in_browser -= usize::from(check.lane == Lane::Browser);
        Some(check.asked)
    }

    /// Returns the moment until which the run waits for its trials, if only trials run.
    pub(super) fn trials_end(&self) -> Option<Instant> {
        let is_only_trials = self.checks.values().all(|check| check.trial.is_some());
        let last = self.checks.values().map(|check| check.since).max()?;
        is_only_trials.then(|| last + PATIENCE_WITH_TRIALS)
    }

    /// Removes all checks, which are trials. Returns what they ask, the hosts that they try, and since when.
    pub(super) fn abandon_trials(&mut self) -> impl Iterator<Item = (Asked, String, Instant)> + use<> {
        let checks = std::mem::take(self).checks.into_values();
        checks.filter_map(|check| Some((check.asked, check.trial?, check.since)))
    }

    /// Removes all checks. Returns what they ask, and since when.
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = (Asked, Instant)> + use<> {
        std::mem::take(self).checks.into_values().map(|check| (check.asked, check.since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::module::Module;
    use crate::runs::lanes;

    /// Fills the window, and returns the lanes from which checks were begun.
    fn fill(running: &mut RunningChecks, window: usize) -> Vec<Lane> {
        let mut begun = Vec::new();
        for (lane, share) in lanes::filling(window) {
            while !running.is_full(lane, window, share) {
                let place = (0..).find(|place| !running.checks.contains_key(place)).unwrap();
                running.begin(place, Asked { module: Module::example("m"), lookup: None }, lane, None);
                begun.push(lane);
            }
        }
        begun
    }

    #[test]
    fn a_quarter_of_the_window_is_for_the_tail_and_its_slowest_begin_first() {
        for window in [1, 4, 16, 64, 512] {
            let mut running = RunningChecks::default();
            let begun = fill(&mut running, window);
            assert_eq!((begun.len(), running.in_window(), running.in_tail), (window, window, window / 4));
            let front = begun.iter().position(|lane| *lane == Lane::Front);
            assert_eq!(front, Some(window / 16));
            // The end of a check leaves its place to another one of the same lane.
            for lane in begun.iter().rev().take(8) {
                let place = *running.checks.iter().find(|(_, check)| check.lane == *lane).unwrap().0;
                running.end(place);
                assert_eq!(fill(&mut running, window), [*lane]);
            }
        }
    }
}
