//! The request workers: a leader and its followers.
//!
//! The leader waits for the next request, passes the lead on and serves the request itself, so that a request
//! does not change threads: each change is a thread to be woken, which costs more than a quick answer. Where
//! all workers are at work the receiver leads (`generation`); what it takes waits here, up to a number.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use parking_lot::{Condvar, Mutex};

use super::config::WORKER_STACK_BYTES;
use super::core::Core;
use super::exchange::Exchange;
use super::generation::Intake;

/// The workers' meeting place.
pub(super) struct Crew {
    state: Mutex<State>,
    /// Workers with nothing to do wait here.
    followers: Condvar,
    /// The newest intake's receiver waits here while workers lead.
    receiver: Condvar,
    busy: AtomicUsize,
    workers: usize,
    most_waiting: usize,
}

struct State {
    /// The newest; older ones have their receivers alone.
    intake: Option<Arc<Intake>>,
    lead: Lead,
    idle: usize,
    /// A follower was called and has not come yet. On a busy machine that takes a while, and calling it again for
    /// every request would cost more than the requests.
    is_called: bool,
    /// What could not be begun at once.
    waiting: VecDeque<Box<Exchange>>,
    is_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    Free,
    Worker,
    Receiver,
}

enum Duty {
    Lead(Arc<Intake>),
    Serve(Box<Exchange>),
}

impl Crew {
    pub(super) fn new(workers: usize, most_waiting: usize) -> Self {
        let state = State {
            intake: None,
            lead: Lead::Free,
            idle: 0,
            is_called: false,
            waiting: VecDeque::new(),
            is_over: false,
        };
        Self {
            state: Mutex::new(state),
            followers: Condvar::new(),
            receiver: Condvar::new(),
            busy: AtomicUsize::new(0),
            workers,
            most_waiting,
        }
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub(super) fn start(core: &Arc<Core>) -> io::Result<()> {
        for _ in 0..core.crew.workers {
            let core = Arc::clone(core);
            let worker = thread::Builder::new().name("http-request".to_owned());
            worker.stack_size(WORKER_STACK_BYTES).spawn(move || core.crew.work(&core))?;
        }
        Ok(())
    }

    fn work(&self, core: &Arc<Core>) {
        while let Some(duty) = self.next() {
            match duty {
                Duty::Serve(exchange) => self.serve(*exchange),
                Duty::Lead(intake) => {
                    let exchange = intake.take_for_worker(core);
                    self.pass_lead_on(&intake);
                    if let Some(exchange) = exchange {
                        self.serve(exchange);
                    }
                }
            }
        }
    }

    /// A panic ends the exchange, not the thread.
    fn serve(&self, exchange: Exchange) {
        self.busy.fetch_add(1, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| exchange.serve()));
        self.busy.fetch_sub(1, Ordering::Relaxed);
        if outcome.is_err() {
            log::error!("serving a request panicked");
        }
    }

    /// What a worker does next; `None` when all is over.
    fn next(&self) -> Option<Duty> {
        let mut state = self.state.lock();
        while !state.is_over {
            if let Some(exchange) = state.waiting.pop_front() {
                self.call(&mut state);
                return Some(Duty::Serve(exchange));
            }
            if state.lead == Lead::Free
                && let Some(intake) = state.intake.clone()
            {
                state.lead = Lead::Worker;
                return Some(Duty::Lead(intake));
            }
            state.idle += 1;
            self.followers.wait(&mut state);
            state.idle -= 1;
            state.is_called = false;
        }
        None
    }

    /// Has someone come for what there is to do.
    fn call(&self, state: &mut State) {
        let is_work = state.lead == Lead::Free || !state.waiting.is_empty();
        if !is_work || state.is_called {
            return;
        }
        if state.idle > 0 {
            state.is_called = true;
            self.followers.notify_one();
        } else if state.lead == Lead::Free {
            self.receiver.notify_one();
        } else if state.lead == Lead::Worker
            && let Some(intake) = &state.intake
        {
            // The only worker without work waits for a request.
            intake.nudge();
        }
    }

    /// The leader has taken something, or was nudged.
    pub(super) fn pass_lead_on(&self, intake: &Arc<Intake>) {
        let mut state = self.state.lock();
        if state.is_from(intake) {
            state.lead = Lead::Free;
            self.call(&mut state);
        }
    }

    /// Waits until the receiver of this intake has to lead: no worker can, or it is an old one.
    pub(super) fn wait_for_want_of_workers(&self, intake: &Arc<Intake>) {
        let mut state = self.state.lock();
        while state.is_from(intake) && !intake.is_stopping() {
            if state.lead == Lead::Free && state.idle == 0 {
                state.lead = Lead::Receiver;
                return;
            }
            self.receiver.wait(&mut state);
        }
    }

    /// Has the next free worker serve it. Gives it back where too many wait.
    pub(super) fn queue(&self, exchange: Box<Exchange>) -> Result<(), Box<Exchange>> {
        let mut state = self.state.lock();
        if state.waiting.len() >= self.most_waiting + state.idle {
            return Err(exchange);
        }
        state.waiting.push_back(exchange);
        self.call(&mut state);
        Ok(())
    }

    /// From here on the workers take from this intake.
    pub(super) fn turn_to(&self, intake: &Arc<Intake>) {
        let mut state = self.state.lock();
        self.leave_present(&mut state);
        state.intake = Some(Arc::clone(intake));
        self.call(&mut state);
    }

    /// The same as [`Crew::turn_to`] when there is no other one.
    pub(super) fn leave(&self, intake: &Arc<Intake>) {
        let mut state = self.state.lock();
        if state.is_from(intake) {
            self.leave_present(&mut state);
        }
        self.receiver.notify_all();
    }

    fn leave_present(&self, state: &mut State) {
        if let Some(old) = state.intake.take() {
            old.leave();
        }
        state.lead = Lead::Free;
        self.receiver.notify_all();
    }

    /// Sends the workers home.
    pub(super) fn end(&self) {
        self.state.lock().is_over = true;
        self.followers.notify_all();
    }

    /// Workers at work, and requests that wait.
    pub(super) fn load(&self) -> (usize, usize) {
        (self.busy.load(Ordering::Relaxed), self.state.lock().waiting.len())
    }
}

impl State {
    fn is_from(&self, intake: &Arc<Intake>) -> bool {
        self.intake.as_ref().is_some_and(|own| Arc::ptr_eq(own, intake))
    }
}
