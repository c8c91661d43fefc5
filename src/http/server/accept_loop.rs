//! One run of tiny_http's accept loop.
//!
//! Fault of tiny_http: one failing `accept()`, or a thread that cannot be started, ends the accept loop. Workaround:
//! the supervisor starts a new tiny_http server on a duplicate of the listening socket. No connection is lost:
//! clients wait in the backlog meanwhile, and the connections of the old loop live on. Tests:
//! `accept_loops_that_end_one_after_the_other_lose_no_request`, and the others of `tests/http/recovery.rs`.

use std::io;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::dispatcher::Dispatcher;
use crate::http::config::OWN_STACK_BYTES;
use crate::http::connection::request_queue::RequestQueue;

/// A running tiny_http server, with a thread that receives its requests while no request worker does.
pub(super) struct AcceptLoop {
    dispatcher: Arc<Dispatcher>,
    queue: Arc<RequestQueue>,
    receiver: Option<JoinHandle<()>>,
}

impl AcceptLoop {
    /// Starts a tiny_http server on a duplicate of the listening socket, and makes the request workers receive from it.
    pub(super) fn start(listener: &TcpListener, dispatcher: &Arc<Dispatcher>) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        // tiny_http panics if it cannot start a thread.
        let server = catch_unwind(AssertUnwindSafe(|| tiny_http::Server::from_listener(listener, None)))
            .map_err(|_| io::Error::other("tiny_http could not start its threads"))?
            .map_err(io::Error::other)?;
        let queue = Arc::new(RequestQueue::new(server));
        let thread = thread::Builder::new().name("http-receive".to_owned()).stack_size(OWN_STACK_BYTES);
        let (received, receiving) = (Arc::clone(&queue), Arc::clone(dispatcher));
        // The thread starts to receive when the workers use this queue. Before that, it would treat the queue as an
        // old one and receive beside a worker, and a wake-up for one of the two could reach the other.
        let (allow, is_allowed) = mpsc::channel();
        let receiver = thread.spawn(move || {
            if is_allowed.recv().is_ok() {
                receiving.receive_all(&received);
            }
        })?;
        dispatcher.queues.add(Arc::clone(&queue));
        dispatcher.pool.use_queue(&queue);
        let _ = allow.send(());
        Ok(Self { dispatcher: Arc::clone(dispatcher), queue, receiver: Some(receiver) })
    }

    /// Returns whether the accept loop must be replaced.
    pub(super) fn is_dead(&self) -> bool {
        self.queue.is_dead()
    }

    /// Marks the accept loop as dead because it does not answer.
    pub(super) fn mark_unresponsive(&self) {
        self.queue.mark_unresponsive();
    }

    /// Returns whether the accept loop has ended and none of its connections has sent a request for that long.
    pub(super) fn is_unused_for(&self, time: Duration) -> bool {
        self.queue.is_unused_for(time)
    }
}

impl Drop for AcceptLoop {
    /// Ends the receiving thread. Requests that its connections still deliver are lost.
    fn drop(&mut self) {
        self.dispatcher.queues.remove(&self.queue);
        self.queue.stop();
        self.dispatcher.pool.leave_queue(&self.queue);
        self.queue.wake_receiver();
        if let Some(receiver) = self.receiver.take() {
            let _ = receiver.join();
        }
    }
}
