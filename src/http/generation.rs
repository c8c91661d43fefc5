//! One life of tiny_http's accept loop, with the thread that receives its requests.
//!
//! The loop ends for good when an `accept()` fails; the connections it accepted live on and go on
//! delivering requests here, beside the next generation's.

use std::io;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::config::OWN_STACK_BYTES;
use super::core::Core;
use super::probe::Probes;

/// A running tiny_http server.
pub(super) struct Generation {
    shared: Arc<Shared>,
    receivers: Arc<Receivers>,
    receiver: Option<JoinHandle<()>>,
}

pub(super) struct Shared {
    server: tiny_http::Server,
    /// The accept loop said that it ends.
    has_ended: AtomicBool,
    /// It counts as dead, whether it said so or not.
    is_dead: AtomicBool,
    is_stopping: AtomicBool,
    last_request: Mutex<Instant>,
    /// Markers that were put into the queue of requests, and those that came out.
    marks_sent: AtomicU64,
    marks_passed: AtomicU64,
}

/// The receivers of all generations.
#[derive(Default)]
pub(super) struct Receivers(Mutex<Vec<Arc<Shared>>>);

/// A place in the receivers' queues.
pub(super) struct Mark(Vec<(Arc<Shared>, u64)>);

impl Receivers {
    /// Marks the present end of all queues.
    pub(super) fn mark(&self) -> Mark {
        Mark(self.0.lock().iter().map(|shared| (Arc::clone(shared), shared.send_mark())).collect())
    }
}

impl Mark {
    /// Whether all requests that had come before are taken.
    pub(super) fn is_passed(&self) -> bool {
        self.0.iter().all(|(shared, mark)| {
            shared.marks_passed.load(Ordering::Acquire) >= *mark || shared.is_stopping.load(Ordering::Acquire)
        })
    }
}

impl Generation {
    /// Starts a server on a duplicate of the listening socket.
    pub(super) fn start(
        listener: &TcpListener,
        core: &Arc<Core>,
        probes: &Arc<Probes>,
        alarm: impl Fn() + Send + 'static,
    ) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        // A thread that can't be started is a panic in there.
        let server = catch_unwind(AssertUnwindSafe(|| tiny_http::Server::from_listener(listener, None)))
            .map_err(|_| io::Error::other("the accept loop could not be started"))?
            .map_err(io::Error::other)?;
        let shared = Arc::new(Shared {
            server,
            has_ended: AtomicBool::new(false),
            is_dead: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            last_request: Mutex::new(Instant::now()),
            marks_sent: AtomicU64::new(0),
            marks_passed: AtomicU64::new(0),
        });
        let thread = thread::Builder::new().name("http-receive".to_owned()).stack_size(OWN_STACK_BYTES);
        let receivers = Arc::clone(&core.receivers);
        let (inner, core, probes) = (Arc::clone(&shared), Arc::clone(core), Arc::clone(probes));
        let receiver = thread.spawn(move || inner.receive(&core, &probes, &alarm))?;
        receivers.0.lock().push(Arc::clone(&shared));
        Ok(Self { shared, receivers, receiver: Some(receiver) })
    }

    pub(super) fn is_dead(&self) -> bool {
        self.shared.is_dead.load(Ordering::Acquire)
    }

    /// Counts as dead from here on.
    pub(super) fn give_up(&self) {
        self.shared.is_dead.store(true, Ordering::Release);
    }

    /// Whether it has ended for sure, and no request came for so long. An accept loop that only does not
    /// answer may yet accept a connection, whose requests must have a receiver.
    pub(super) fn has_been_quiet(&self, time: Duration) -> bool {
        self.shared.has_ended.load(Ordering::Acquire) && self.shared.last_request.lock().elapsed() >= time
    }
}

impl Drop for Generation {
    /// Ends the receiver. What connections of this generation still deliver is lost from here on.
    fn drop(&mut self) {
        self.receivers.0.lock().retain(|shared| !Arc::ptr_eq(shared, &self.shared));
        self.shared.is_stopping.store(true, Ordering::Release);
        self.shared.send_mark();
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
    }
}

impl Shared {
    fn receive(&self, core: &Arc<Core>, probes: &Probes, alarm: &impl Fn()) {
        while !self.is_stopping.load(Ordering::Acquire) {
            match self.server.recv() {
                Ok(request) => self.pass_on(request, core, probes),
                // What `unblock` makes of the receiver; a failed accept has a number.
                Err(error) if error.raw_os_error().is_none() => {
                    self.marks_passed.fetch_add(1, Ordering::Release);
                }
                Err(error) => {
                    if !core.is_draining.load(Ordering::Acquire) {
                        log::warn!("the accept loop ended: {error}");
                    }
                    self.has_ended.store(true, Ordering::Release);
                    self.is_dead.store(true, Ordering::Release);
                    alarm();
                }
            }
        }
    }

    fn send_mark(&self) -> u64 {
        let mark = self.marks_sent.fetch_add(1, Ordering::Relaxed) + 1;
        self.server.unblock();
        mark
    }

    fn pass_on(&self, request: tiny_http::Request, core: &Arc<Core>, probes: &Probes) {
        if probes.is_ours(&request) {
            return Probes::answer(request);
        }
        *self.last_request.lock() = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| core.take(request))).is_err() {
            log::error!("taking a request panicked");
        }
    }
}
