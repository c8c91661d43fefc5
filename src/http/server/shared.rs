//! State that all threads of a server share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::thread_group::ThreadGroup;
use crate::http::config::ServerConfig;
use crate::http::connection::shared::Connections;
use crate::http::handler::{Handler, Refusal};
use crate::http::load::Counters;
use crate::http::message::request::Request;
use crate::http::message::response::Response;

/// The state that all threads of a server share.
pub(super) struct Shared {
    pub(super) config: ServerConfig,
    pub(super) handler: Arc<dyn Handler>,
    pub(super) connections: Arc<Connections>,
    /// The threads for waits, streams and answers to slow readers.
    pub(super) streams: Arc<ThreadGroup>,
    pub(super) counters: Arc<Counters>,
    pub(super) in_flight: InFlight,
    /// Whether the server has stopped taking requests.
    pub(super) is_draining: AtomicBool,
}

impl Shared {
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Counts a request that is refused because a limit is reached.
    pub(super) fn count_refused(&self) {
        self.counters.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Lets the handler render a refusal.
    pub(super) fn refusal_response(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        let rendered = catch_unwind(AssertUnwindSafe(|| self.handler.refuse(refusal, request)));
        rendered.unwrap_or_else(|_| {
            log::error!("the handler panicked while rendering a refusal");
            Response::empty(500)
        })
    }
}

/// A counter of the requests that are not answered yet.
#[derive(Default)]
pub(super) struct InFlight {
    count: Mutex<usize>,
    none: Condvar,
}

impl InFlight {
    pub(super) fn enter(&self) {
        *self.count.lock() += 1;
    }

    pub(super) fn leave(&self) {
        let mut count = self.count.lock();
        *count -= 1;
        if *count == 0 {
            self.none.notify_all();
        }
    }

    /// Waits until all requests are answered, for `time` at most. Returns the number of unanswered requests.
    pub(super) fn wait_for_none(&self, time: Duration) -> usize {
        let until = Instant::now() + time;
        let mut count = self.count.lock();
        while *count > 0 {
            if self.none.wait_until(&mut count, until).timed_out() {
                break;
            }
        }
        *count
    }
}
