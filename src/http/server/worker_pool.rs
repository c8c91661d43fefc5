//! The pool of request workers, as leader and followers.
//!
//! If a receiving thread passed each request to a pool, it would have to wake another thread for every request, which
//! costs more than a quick answer. Therefore one worker, the leader, waits for the next request, makes another worker
//! the leader, and serves the request itself. If all workers are busy, the receiving thread of the accept loop leads,
//! and the requests that it receives wait in this pool, up to a limit. Tests:
//! `every_request_is_served_while_workers_come_and_go`,
//! `a_worker_that_waits_for_requests_serves_one_whose_body_was_read_elsewhere`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::{Condvar, Mutex};

use crate::http::connection::request_queue::RequestQueue;
use crate::http::load::Counters;

/// A coordinator of the workers. `J` is a job: a request that is ready to be served.
pub(super) struct WorkerPool<J> {
    state: Mutex<State<J>>,
    /// The condition on which idle workers wait.
    followers: Condvar,
    /// The condition on which the receiving threads of the accept loops wait while workers lead.
    receivers: Condvar,
    counters: Arc<Counters>,
    max_waiting: usize,
}

struct State<J> {
    /// The newest queue. Older queues are served by their own receiving threads.
    queue: Option<Arc<RequestQueue>>,
    leader: Leader,
    idle: usize,
    /// Whether a follower was woken and does not run yet. That takes a while on a busy machine, and waking it again
    /// for every request would cost more than the requests.
    is_follower_woken: bool,
    waiting: VecDeque<J>,
    is_stopped: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Leader {
    None,
    Worker,
    Receiver,
}

/// The next task of a worker.
pub(super) enum Task<J> {
    /// Receive a request from this queue, and make another worker the leader.
    Lead(Arc<RequestQueue>),
    /// Serve this request.
    Serve(J),
}

impl<J> WorkerPool<J> {
    /// Creates a pool. At most `max_waiting` jobs wait for a worker.
    pub(super) fn new(max_waiting: usize, counters: Arc<Counters>) -> Self {
        let state = State {
            queue: None,
            leader: Leader::None,
            idle: 0,
            is_follower_woken: false,
            waiting: VecDeque::new(),
            is_stopped: false,
        };
        Self {
            state: Mutex::new(state),
            followers: Condvar::new(),
            receivers: Condvar::new(),
            counters,
            max_waiting,
        }
    }

    /// Waits for a task. Returns `None` when the pool is stopped.
    pub(super) fn next_task(&self) -> Option<Task<J>> {
        let mut state = self.state.lock();
        while !state.is_stopped {
            if let Some(job) = state.waiting.pop_front() {
                self.counters.requests_queued.store(state.waiting.len(), Ordering::Relaxed);
                self.wake_one(&mut state);
                return Some(Task::Serve(job));
            }
            if state.leader == Leader::None
                && let Some(queue) = state.queue.clone()
            {
                state.leader = Leader::Worker;
                return Some(Task::Lead(queue));
            }
            state.idle += 1;
            self.followers.wait(&mut state);
            state.idle -= 1;
            state.is_follower_woken = false;
        }
        None
    }

    /// Wakes a thread if there is work: a job that waits, or no leader.
    fn wake_one(&self, state: &mut State<J>) {
        let has_work = state.leader == Leader::None || !state.waiting.is_empty();
        if !has_work || state.is_follower_woken {
            return;
        }
        if state.idle > 0 {
            state.is_follower_woken = true;
            self.followers.notify_one();
        } else if state.leader == Leader::None {
            self.receivers.notify_one();
        } else if state.leader == Leader::Worker
            && let Some(queue) = &state.queue
        {
            // The only worker that is not busy waits for a request.
            queue.wake_receiver();
        }
    }

    /// Makes another worker the leader, because the leader has received something.
    pub(super) fn pass_lead(&self, queue: &Arc<RequestQueue>) {
        let mut state = self.state.lock();
        if state.uses(queue) {
            state.leader = Leader::None;
            self.wake_one(&mut state);
        }
    }

    /// Waits until the receiving thread of this queue must lead, because no worker can or because the queue is an old
    /// one.
    pub(super) fn wait_for_lead(&self, queue: &Arc<RequestQueue>) {
        let mut state = self.state.lock();
        while state.uses(queue) && !queue.is_stopping() {
            if state.leader == Leader::None && state.idle == 0 {
                state.leader = Leader::Receiver;
                return;
            }
            self.receivers.wait(&mut state);
        }
    }

    /// Gives a job to the next free worker. Returns the job if too many wait.
    pub(super) fn submit(&self, job: J) -> Result<(), J> {
        let mut state = self.state.lock();
        if state.waiting.len() >= self.max_waiting + state.idle {
            return Err(job);
        }
        state.waiting.push_back(job);
        self.counters.requests_queued.store(state.waiting.len(), Ordering::Relaxed);
        self.wake_one(&mut state);
        Ok(())
    }

    /// Makes the workers receive from this queue from now on.
    pub(super) fn use_queue(&self, queue: &Arc<RequestQueue>) {
        let mut state = self.state.lock();
        self.leave_present_queue(&mut state);
        state.queue = Some(Arc::clone(queue));
        self.wake_one(&mut state);
    }

    /// Makes the workers stop receiving from this queue.
    pub(super) fn leave_queue(&self, queue: &Arc<RequestQueue>) {
        let mut state = self.state.lock();
        if state.uses(queue) {
            self.leave_present_queue(&mut state);
        }
        self.receivers.notify_all();
    }

    fn leave_present_queue(&self, state: &mut State<J>) {
        if let Some(old) = state.queue.take() {
            old.replace();
        }
        state.leader = Leader::None;
        self.receivers.notify_all();
    }

    /// Ends the workers.
    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.followers.notify_all();
    }
}

impl<J> State<J> {
    fn uses(&self, queue: &Arc<RequestQueue>) -> bool {
        self.queue.as_ref().is_some_and(|own| Arc::ptr_eq(own, queue))
    }
}
