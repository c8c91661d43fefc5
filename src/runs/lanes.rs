//! The order in which a run starts its modules.
//!
//! There are two lanes. A quarter of the window starts with the modules that are expected to hold the run longest: slow
//! ones, and those of hosts that few checks may ask at once, for which the checks of many runs wait. The rest starts with
//! popular and fast platforms, so that hits come early.
//! Modules that need a browser have their own lane outside the window, because there are few browsers and no other
//! module must wait for them.

use std::sync::Arc;
use std::time::Duration;

use super::health::HealthTable;
use crate::modules::module::Module;

/// The lane from which a module was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Popular and fast modules come first.
    Front,
    /// Modules whose hosts are expected to need longest for each check come first.
    Tail,
    /// Only modules that need a browser. Popular and fast ones come first.
    Browser,
}

/// Returns the order in which a window is filled: lanes, each with a number of checks. For the front it is the most checks
/// in the window, for the tail the most that come from the tail. The slowest begin first, since the run waits for them,
/// then those whose hits come soonest.
pub fn filling(window: usize) -> [(Lane, usize); 4] {
    let quarter = window / 4;
    [(Lane::Tail, window / 16), (Lane::Front, window - quarter), (Lane::Tail, quarter), (Lane::Front, window)]
}

/// The modules of a run that have not been started, in the order of each lane.
pub struct Lanes {
    modules: Vec<Arc<Module>>,
    waiting: Vec<bool>,
    left: usize,
    front: Vec<usize>,
    tail: Vec<usize>,
    browser: Vec<usize>,
}

impl Lanes {
    /// Orders modules by their current health. `at_once` is, for each module, the number of its checks that may run at
    /// once.
    pub fn new(modules: Vec<Arc<Module>>, at_once: &[u32], health: &HealthTable) -> Self {
        let expected: Vec<Duration> = modules.iter().map(|module| health.expected(module.id())).collect();
        let mut front: Vec<usize> = (0..modules.len()).collect();
        // Fast modules come first, in steps of half a second. Within a step, modules are ordered by popularity.
        front.sort_by_key(|&at| {
            (expected[at].as_millis() / 500, modules[at].entry().rank.unwrap_or(u32::MAX))
        });
        let (browser, front): (Vec<usize>, Vec<usize>) =
            front.into_iter().partition(|&at| modules[at].is_premium());
        let mut tail = front.clone();
        tail.sort_by_key(|&at| (std::cmp::Reverse(expected[at] / at_once[at]), at));
        Self { waiting: vec![true; modules.len()], left: modules.len(), modules, front, tail, browser }
    }

    /// Returns the number of modules that have not been started.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Returns whether some of the remaining modules need a browser.
    pub fn has_browser(&self) -> bool {
        self.browser.iter().any(|&at| self.waiting[at])
    }

    /// Returns all modules that have not been started.
    pub fn all(&self) -> Vec<(usize, Arc<Module>)> {
        [Lane::Front, Lane::Browser].into_iter().flat_map(|lane| self.waiting(lane)).collect()
    }

    /// Returns the modules that have not been started in the order of a lane, with their indexes.
    pub fn waiting(&self, lane: Lane) -> Vec<(usize, Arc<Module>)> {
        let order = match lane {
            Lane::Front => &self.front,
            Lane::Tail => &self.tail,
            Lane::Browser => &self.browser,
        };
        order.iter().filter(|&&at| self.waiting[at]).map(|&at| (at, Arc::clone(&self.modules[at]))).collect()
    }

    /// Returns a module that has not been started.
    pub fn get(&self, place: usize) -> Option<Arc<Module>> {
        self.waiting[place].then(|| Arc::clone(&self.modules[place]))
    }

    /// Removes a module from its lanes.
    pub fn take(&mut self, place: usize) {
        if std::mem::replace(&mut self.waiting[place], false) {
            self.left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::outcome::Outcome;

    fn ids(lanes: &Lanes, lane: Lane) -> Vec<String> {
        lanes.waiting(lane).iter().map(|(_, module)| module.id().to_string()).collect()
    }

    #[test]
    fn modules_of_hosts_that_few_checks_may_ask_come_first_in_the_tail() {
        let health = HealthTable::new(Duration::from_secs(10), Arc::default(), Arc::default());
        let modules: Vec<_> = ["a", "b", "slow", "refused"].map(Module::example).into();
        for (module, latency) in modules.iter().zip([100, 100, 400, 100]) {
            let at = "2026-03-01T12:00:00Z".parse().unwrap();
            health.note(module.id(), Outcome::Miss, Duration::from_millis(latency), at);
        }
        // A host needs 10 ms for each check of "a" and "b", 40 ms for one of "slow", and 50 ms for one of "refused".
        let lanes = Lanes::new(modules, &[10, 10, 10, 2], &health);
        assert_eq!(ids(&lanes, Lane::Tail), ["refused", "slow", "a", "b"]);
        assert_eq!(ids(&lanes, Lane::Front), ["a", "b", "slow", "refused"]);
    }
}
