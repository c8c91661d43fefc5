//! The order in which a run starts its modules.
//!
//! There are two lanes. A quarter of the window starts with the modules that are expected to be slowest, because they
//! determine the duration of the run. The rest starts with popular and fast platforms, so that hits come early.
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
    /// Modules that are expected to be slow come first.
    Tail,
    /// Only modules that need a browser. Popular and fast ones come first.
    Browser,
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
    /// Orders modules by their current health.
    pub fn new(modules: Vec<Arc<Module>>, health: &HealthTable) -> Self {
        let expected: Vec<Duration> = modules.iter().map(|module| health.expected(module.id())).collect();
        let mut front: Vec<usize> = (0..modules.len()).collect();
        // Fast modules come first, in steps of half a second. Within a step, modules are ordered by popularity.
        front.sort_by_key(|&at| {
            (expected[at].as_millis() / 500, modules[at].entry().rank.unwrap_or(u32::MAX))
        });
        let (browser, front): (Vec<usize>, Vec<usize>) =
            front.into_iter().partition(|&at| modules[at].is_premium());
        let mut tail = front.clone();
        tail.sort_by_key(|&at| (std::cmp::Reverse(expected[at]), at));
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
