//! In which order a run asks its modules.
//!
//! Two lanes: a quarter of the window starts from the expected-slowest end, since the tail decides how
//! long the run takes; the rest takes popular and fast platforms first, so that hits come early. Modules that need
//! a browser have a lane of their own, beside the window: there are few browsers, and none of the others waits for
//! them.

use std::sync::Arc;
use std::time::Duration;

use super::health::HealthTable;
use crate::modules::module::Module;

/// Which end of the queue a module was taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Popular and fast first.
    Front,
    /// Expected slowest first.
    Tail,
    /// Those that need a browser, popular and fast first.
    Browser,
}

/// The modules of a run that have not been started, in both orders.
pub struct Lanes {
    modules: Vec<Arc<Module>>,
    waiting: Vec<bool>,
    left: usize,
    front: Vec<usize>,
    tail: Vec<usize>,
    browser: Vec<usize>,
}

impl Lanes {
    /// Orders modules by what is known of them now.
    pub fn new(modules: Vec<Arc<Module>>, health: &HealthTable) -> Self {
        let expected: Vec<Duration> = modules.iter().map(|module| health.expected(module.id())).collect();
        let mut front: Vec<usize> = (0..modules.len()).collect();
        // Fast ones first, in steps of half a second; within a step by popularity.
        front.sort_by_key(|&at| {
            (expected[at].as_millis() / 500, modules[at].entry().rank.unwrap_or(u32::MAX))
        });
        let (browser, front): (Vec<usize>, Vec<usize>) =
            front.into_iter().partition(|&at| modules[at].is_premium());
        let mut tail = front.clone();
        tail.sort_by_key(|&at| (std::cmp::Reverse(expected[at]), at));
        Self { waiting: vec![true; modules.len()], left: modules.len(), modules, front, tail, browser }
    }

    /// How many have not been started.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Whether there are some that need a browser.
    pub fn has_browser(&self) -> bool {
        self.browser.iter().any(|&at| self.waiting[at])
    }

    /// All that have not been started.
    pub fn all(&self) -> Vec<(usize, Arc<Module>)> {
        [Lane::Front, Lane::Browser].into_iter().flat_map(|lane| self.waiting(lane)).collect()
    }

    /// The modules that have not been started, in the order of a lane, with their places.
    pub fn waiting(&self, lane: Lane) -> Vec<(usize, Arc<Module>)> {
        let order = match lane {
            Lane::Front => &self.front,
            Lane::Tail => &self.tail,
            Lane::Browser => &self.browser,
        };
        order.iter().filter(|&&at| self.waiting[at]).map(|&at| (at, Arc::clone(&self.modules[at]))).collect()
    }

    /// Takes a module out of both lanes.
    pub fn take(&mut self, place: usize) {
        if std::mem::replace(&mut self.waiting[place], false) {
            self.left -= 1;
        }
    }

    /// Takes out all that are left.
    pub fn drain(&mut self) -> Vec<Arc<Module>> {
        let rest = self.all();
        for (place, _) in &rest {
            self.take(*place);
        }
        rest.into_iter().map(|(_, module)| module).collect()
    }
}
