//! Which runs are driven now, which wait their turn: one thread a run, up to a limit; first come, first
//! served.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use log::error;
use parking_lot::{Condvar, Mutex};

use super::driver;
use super::earlier::Earlier;
use super::live::LiveRun;
use super::workshop::Workshop;
use crate::modules::module::Module;
use crate::modules::query::Query;

/// Stack of a driver: it holds no page and no document.
const DRIVER_STACK_BYTES: usize = 512 * 1024;

/// A run with what its driver needs.
pub struct Job {
    /// The run.
    pub run: Arc<LiveRun>,
    /// Its query.
    pub query: Query,
    /// Modules that have not ended yet.
    pub modules: Vec<Arc<Module>>,
    /// Ids of modules that have not ended and that the catalogue no longer has.
    pub gone: Vec<String>,
    /// What came of those that have ended.
    pub earlier: Earlier,
}

/// Starts drivers.
pub struct Scheduler {
    workshop: Arc<Workshop>,
    max_drivers: usize,
    max_waiting: usize,
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Default)]
struct State {
    driving: usize,
    waiting: VecDeque<Job>,
    closed: bool,
}

impl Scheduler {
    /// Drives at most `max_drivers` runs at once; `max_waiting` more may wait.
    pub fn new(workshop: Arc<Workshop>, max_drivers: usize, max_waiting: usize) -> Self {
        Self {
            workshop,
            max_drivers: max_drivers.max(1),
            max_waiting,
            state: Mutex::default(),
            idle: Condvar::new(),
        }
    }

    /// Whether one more run would find a place.
    pub fn has_room(&self) -> bool {
        let state = self.state.lock();
        !state.closed && state.waiting.len() < self.max_waiting
    }

    /// Runs that are driven, and runs that wait.
    pub fn counts(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.driving, state.waiting.len())
    }

    /// The runs that wait.
    pub fn waiting(&self) -> Vec<Arc<LiveRun>> {
        self.state.lock().waiting.iter().map(|job| Arc::clone(&job.run)).collect()
    }

    /// Takes a run on: at once where a driver is free, else in its turn.
    pub fn submit(self: &Arc<Self>, job: Job) {
        self.state.lock().waiting.push_back(job);
        self.start_drivers();
    }

    /// Starts drivers for waiting runs as far as the limit allows. The housekeeper calls it too: a thread
    /// that could not be started is tried again.
    pub fn start_drivers(self: &Arc<Self>) {
        loop {
            let job = {
                let mut state = self.state.lock();
                if state.closed || state.driving >= self.max_drivers {
                    return;
                }
                let Some(job) = state.waiting.pop_front() else { return };
                state.driving += 1;
                self.workshop.driving.store(state.driving, Ordering::Relaxed);
                job
            };
            if !self.start_driver(job) {
                return;
            }
        }
    }

    fn start_driver(self: &Arc<Self>, job: Job) -> bool {
        // The job travels in a slot, so that it is still here when no thread could be started.
        let slot = Arc::new(Mutex::new(Some(job)));
        let (scheduler, taken) = (Arc::clone(self), Arc::clone(&slot));
        let started =
            thread::Builder::new().name("run".to_owned()).stack_size(DRIVER_STACK_BYTES).spawn(move || {
                let job = taken.lock().take();
                if let Some(job) = job {
                    drive_guarded(&scheduler.workshop, &job);
                }
                scheduler.driver_ended();
            });
        if let Err(error) = started {
            error!("no thread for a run, it waits: {error}");
            let job = slot.lock().take();
            let mut state = self.state.lock();
            if let Some(job) = job {
                state.waiting.push_front(job);
            }
            state.driving -= 1;
            self.workshop.driving.store(state.driving, Ordering::Relaxed);
            self.idle.notify_all();
            return false;
        }
        true
    }

    fn driver_ended(self: &Arc<Self>) {
        {
            let mut state = self.state.lock();
            state.driving -= 1;
            self.workshop.driving.store(state.driving, Ordering::Relaxed);
            self.idle.notify_all();
        }
        self.start_drivers();
    }

    /// Starts no more drivers and waits for those that work (stop their runs first), at most until the
    /// given moment. `true`: none works any more.
    pub fn close(&self, until: Instant) -> bool {
        let mut state = self.state.lock();
        state.closed = true;
        while state.driving > 0 {
            if self.idle.wait_until(&mut state, until).timed_out() {
                return state.driving == 0;
            }
        }
        true
    }
}

fn drive_guarded(workshop: &Arc<Workshop>, job: &Job) {
    let driven = catch_unwind(AssertUnwindSafe(|| driver::drive(workshop, job)));
    if driven.is_err() {
        error!("run {}: its driver panicked", job.run.id());
        driver::fail(workshop, &job.run, "the search broke");
    }
}
