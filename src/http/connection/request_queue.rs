//! The queue of requests of one tiny_http server.
//!
//! tiny_http's accept loop ends when an `accept()` fails. The connections that it accepted still deliver their
//! requests to the same queue, beside the queue of the accept loop that replaces it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

/// The requests that the connections of one accept loop deliver.
pub(crate) struct RequestQueue {
    server: tiny_http::Server,
    /// A lock that is held from the moment a request leaves the queue until it is in the table of connections, so
    /// that two requests of one connection keep their order.
    order: Mutex<()>,
    accept_loop: Mutex<AcceptLoopState>,
    /// Whether the request workers receive from a newer queue.
    is_replaced: AtomicBool,
    is_stopping: AtomicBool,
    /// The number of calls of [`RequestQueue::wake_receiver`], and of receivers that have returned because of one.
    wakes_sent: AtomicU64,
    wakes_received: AtomicU64,
}

/// The state of the accept loop behind a queue.
#[derive(Clone, Copy)]
enum AcceptLoopState {
    Running,
    /// The accept loop did not answer a probe, and may still accept connections.
    Unresponsive,
    /// The accept loop has ended. Contains the time of its end, or of the last request after that.
    Ended(Instant),
}

/// The thread that receives from a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiver {
    /// A request worker, until the workers use a newer queue.
    Worker,
    /// The queue's own thread, until the queue is stopped.
    OwnThread,
}

/// The result of waiting for a request.
pub(crate) enum Received<'q> {
    /// A request. The next one is received when `order` is dropped.
    Request { request: tiny_http::Request, order: MutexGuard<'q, ()> },
    /// The receiver was woken.
    Woken,
    /// The accept loop has ended.
    Ended(io::Error),
}

impl RequestQueue {
    pub(crate) fn new(server: tiny_http::Server) -> Self {
        Self {
            server,
            order: Mutex::default(),
            accept_loop: Mutex::new(AcceptLoopState::Running),
            is_replaced: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            wakes_sent: AtomicU64::new(0),
            wakes_received: AtomicU64::new(0),
        }
    }

    /// Waits for a request, a wake-up or the end of the accept loop.
    pub(crate) fn receive(&self, receiver: Receiver) -> Received<'_> {
        let order = self.order.lock();
        let is_over = match receiver {
            Receiver::Worker => &self.is_replaced,
            Receiver::OwnThread => &self.is_stopping,
        };
        if is_over.load(Ordering::Acquire) {
            // The wake-up for it may have reached the receiver that held the lock before.
            return Received::Woken;
        }
        match self.server.recv() {
            Ok(request) => Received::Request { request, order },
            // `unblock` returns an error without a number from `recv`; a failed `accept` has one.
            Err(error) if error.raw_os_error().is_none() => {
                self.wakes_received.fetch_add(1, Ordering::Release);
                Received::Woken
            }
            Err(error) => {
                *self.accept_loop.lock() = AcceptLoopState::Ended(Instant::now());
                Received::Ended(error)
            }
        }
    }

    /// Records that a connection still uses the queue.
    pub(crate) fn note_request(&self) {
        if let AcceptLoopState::Ended(last_used) = &mut *self.accept_loop.lock() {
            *last_used = Instant::now();
        }
    }

    /// Makes one receiver return after it has taken all requests that are currently in the queue. Returns the number
    /// of this wake-up.
    pub(crate) fn wake_receiver(&self) -> u64 {
        let number = self.wakes_sent.fetch_add(1, Ordering::Relaxed) + 1;
        self.server.unblock();
        number
    }

    /// Makes request workers stop receiving from this queue.
    pub(crate) fn replace(&self) {
        self.is_replaced.store(true, Ordering::Release);
        self.wake_receiver();
    }

    /// Makes every receiver stop.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Returns whether the accept loop must be replaced.
    pub(crate) fn is_dead(&self) -> bool {
        !matches!(*self.accept_loop.lock(), AcceptLoopState::Running)
    }

    /// Marks the accept loop as dead because it does not answer.
    pub(crate) fn mark_unresponsive(&self) {
        let mut state = self.accept_loop.lock();
        if matches!(*state, AcceptLoopState::Running) {
            *state = AcceptLoopState::Unresponsive;
        }
    }

    /// Returns whether the accept loop has ended and no request has come for that long. This is never true for an
    /// unresponsive accept loop, because a connection that it still accepts needs a receiver.
    pub(crate) fn is_unused_for(&self, time: Duration) -> bool {
        matches!(*self.accept_loop.lock(), AcceptLoopState::Ended(last_used) if last_used.elapsed() >= time)
    }
}

/// The queues of all accept loops, current and past.
#[derive(Default)]
pub(crate) struct RequestQueues(Mutex<Vec<Arc<RequestQueue>>>);

/// A point in all queues. It is passed when every request that came before it has been taken.
pub(crate) struct Fence(Vec<(Arc<RequestQueue>, u64)>);

impl RequestQueues {
    pub(crate) fn add(&self, queue: Arc<RequestQueue>) {
        self.0.lock().push(queue);
    }

    pub(crate) fn remove(&self, queue: &Arc<RequestQueue>) {
        self.0.lock().retain(|known| !Arc::ptr_eq(known, queue));
    }

    /// Returns the current end of all queues.
    pub(crate) fn fence(&self) -> Fence {
        Fence(self.0.lock().iter().map(|queue| (Arc::clone(queue), queue.wake_receiver())).collect())
    }
}

impl Fence {
    pub(crate) fn is_passed(&self) -> bool {
        self.0.iter().all(|(queue, number)| {
            queue.wakes_received.load(Ordering::Acquire) >= *number || queue.is_stopping()
        })
    }
}
