//! One life of tiny_http's accept loop, and its queue of requests.
//!
//! The loop ends for good when an `accept()` fails; the connections it accepted live on and go on
//! delivering requests here, beside the next generation's.

use std::io;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::bell::Bell;
use super::config::OWN_STACK_BYTES;
use super::core::Core;
use super::exchange::Exchange;
use super::probe::Probes;

/// A running tiny_http server, with a thread that receives where the request workers do not.
pub(super) struct Generation {
    core: Arc<Core>,
    intake: Arc<Intake>,
    receiver: Option<JoinHandle<()>>,
}

/// Where the requests of a generation come in.
pub(super) struct Intake {
    server: tiny_http::Server,
    probes: Arc<Probes>,
    bell: Arc<Bell>,
    /// Held from a request's way out of the queue to its place in the table of connections: two of one
    /// connection must not change places.
    turn: Mutex<()>,
    /// When the accept loop said that it ends, or the last request came after that.
    last_words: Mutex<Option<Instant>>,
    /// The accept loop counts as dead, whether it said so or not.
    is_dead: AtomicBool,
    /// The request workers have turned to a newer one.
    is_left: AtomicBool,
    is_stopping: AtomicBool,
    /// Markers that were put into the queue of requests, and those that came out.
    marks_sent: AtomicU64,
    marks_passed: AtomicU64,
}

/// The intakes of all generations.
#[derive(Default)]
pub(super) struct Intakes(Mutex<Vec<Arc<Intake>>>);

/// A place in the queues of all intakes.
pub(super) struct Mark(Vec<(Arc<Intake>, u64)>);

impl Intakes {
    /// Marks the present end of all queues.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.0.lock().iter().map(|intake| (Arc::clone(intake), intake.nudge())).collect())
    }
}

impl Mark {
    /// Whether all requests that had come before are taken.
    pub(super) fn is_passed(&self) -> bool {
        self.0.iter().all(|(intake, mark)| {
            intake.marks_passed.load(Ordering::Acquire) >= *mark || intake.is_stopping()
        })
    }
}

impl Generation {
    /// Starts a server on a duplicate of the listening socket; the request workers turn to it.
    pub(super) fn start(
        listener: &TcpListener,
        core: &Arc<Core>,
        probes: &Arc<Probes>,
        bell: &Arc<Bell>,
    ) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        // A thread that can't be started is a panic in there.
        let server = catch_unwind(AssertUnwindSafe(|| tiny_http::Server::from_listener(listener, None)))
            .map_err(|_| io::Error::other("the accept loop could not be started"))?
            .map_err(io::Error::other)?;
        let intake = Arc::new(Intake {
            server,
            probes: Arc::clone(probes),
            bell: Arc::clone(bell),
            turn: Mutex::default(),
            last_words: Mutex::default(),
            is_dead: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            marks_sent: AtomicU64::new(0),
            marks_passed: AtomicU64::new(0),
        });
        let thread = thread::Builder::new().name("http-receive".to_owned()).stack_size(OWN_STACK_BYTES);
        let (inner, shared) = (Arc::clone(&intake), Arc::clone(core));
        // Who received before the workers have turned to this intake would take it for one that they have left, and
        // take requests beside a worker: what wakes one of the two can be lost on the other.
        let (turned, may_begin) = mpsc::channel();
        let receiver = thread.spawn(move || {
            if may_begin.recv().is_ok() {
                inner.receive(&shared);
            }
        })?;
        core.intakes.0.lock().push(Arc::clone(&intake));
        core.crew.turn_to(&intake);
        let _ = turned.send(());
        Ok(Self { core: Arc::clone(core), intake, receiver: Some(receiver) })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.intake.is_dead.load(Ordering::Acquire)
    }

    /// Counts as dead from here on.
    pub(super) fn give_up(&self) {
        self.intake.is_dead.store(true, Ordering::Release);
    }

    /// Whether it has ended for sure, and no request came for so long. An accept loop that only does not
    /// answer may yet accept a connection, whose requests must have a receiver.
    pub(super) fn has_been_quiet(&self, time: Duration) -> bool {
        self.intake.last_words.lock().is_some_and(|at| at.elapsed() >= time)
    }
}

impl Drop for Generation {
    /// Ends the receiver. What connections of this generation still deliver is lost from here on.
    fn drop(&mut self) {
        self.core.intakes.0.lock().retain(|intake| !Arc::ptr_eq(intake, &self.intake));
        self.intake.is_stopping.store(true, Ordering::Release);
        self.core.crew.leave(&self.intake);
        self.intake.nudge();
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
    }
}

impl Intake {
    fn receive(self: &Arc<Self>, core: &Arc<Core>) {
        core.crew.wait_for_want_of_workers(self);
        while !self.is_stopping() {
            if let Some(exchange) = self.take_one(core, &self.is_stopping) {
                core.queue(exchange);
            }
            core.crew.pass_lead_on(self);
            core.crew.wait_for_want_of_workers(self);
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// No worker takes from it from here on.
    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Release);
        self.nudge();
    }

    /// Makes one of those that wait for requests return when all that have come are taken.
    pub(super) fn nudge(&self) -> u64 {
        let mark = self.marks_sent.fetch_add(1, Ordering::Relaxed) + 1;
        self.server.unblock();
        mark
    }

    /// Waits for something to come; a request that can be served at once is the worker's to serve.
    pub(super) fn take_for_worker(&self, core: &Arc<Core>) -> Option<Exchange> {
        self.take_one(core, &self.is_left)
    }

    fn take_one(&self, core: &Arc<Core>, is_over: &AtomicBool) -> Option<Exchange> {
        let _turn = self.turn.lock();
        if is_over.load(Ordering::Acquire) {
            // The nudge that says so may have gone to who had the turn before.
            return None;
        }
        match self.server.recv() {
            Ok(request) => return self.take(request, core),
            // What `unblock` makes of the receiver; a failed accept has a number.
            Err(error) if error.raw_os_error().is_none() => {
                self.marks_passed.fetch_add(1, Ordering::Release);
            }
            Err(error) => {
                if !core.is_draining.load(Ordering::Acquire) {
                    log::warn!("the accept loop ended: {error}");
                }
                *self.last_words.lock() = Some(Instant::now());
                self.is_dead.store(true, Ordering::Release);
                self.bell.ring();
            }
        }
        None
    }

    fn take(&self, request: tiny_http::Request, core: &Arc<Core>) -> Option<Exchange> {
        if self.probes.is_ours(&request) {
            Probes::answer(request);
            return None;
        }
        if self.is_dead.load(Ordering::Acquire)
            && let Some(at) = self.last_words.lock().as_mut()
        {
            *at = Instant::now();
        }
        catch_unwind(AssertUnwindSafe(|| core.arrive(request))).unwrap_or_else(|_| {
            log::error!("taking a request panicked");
            None
        })
    }
}
