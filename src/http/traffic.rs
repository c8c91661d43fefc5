//! Counts requests and answers by route, method and status. A label is never a text that a client chose.

use std::collections::BTreeMap;
use std::time::Instant;

use parking_lot::Mutex;

use super::request::Request;
use crate::base::count::{ActiveCount, DurationHistogram};
use crate::base::ids::AccountId;

/// The methods with their own label.
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/// The label of all other methods.
const OTHER: &str = "other";

/// The counts since the start.
pub struct Traffic {
    /// The counts by route. The last entry is for requests without a route.
    routes: Vec<RouteCounts>,
    /// The number of open streams.
    pub streams: ActiveCount,
    /// The number of requests whose answer or stream is being prepared on a separate thread.
    pub waits: ActiveCount,
}

struct RouteCounts {
    method: &'static str,
    /// The path pattern of the route.
    route: &'static str,
    /// The number of answers by their method and status.
    answers: Mutex<BTreeMap<(&'static str, u16), u64>>,
    durations: DurationHistogram,
}

/// A request that is being counted.
#[derive(Debug, Clone, Copy)]
pub struct CountedRequest {
    place: usize,
    method: &'static str,
    began: Instant,
}

impl Traffic {
    /// Creates counts for these routes, each a method and a path pattern. Requests without a route are counted under
    /// the name `none`.
    pub fn new(routes: impl IntoIterator<Item = (&'static str, &'static str)>, none: &'static str) -> Self {
        let counts = |(method, route)| {
            // The rate of a counter needs its first value.
            let usual = (method != OTHER).then_some(((method, 200), 0));
            let answers = Mutex::new(usual.into_iter().collect());
            RouteCounts { method, route, answers, durations: DurationHistogram::default() }
        };
        let routes = routes.into_iter().chain([(OTHER, none)]).map(counts).collect();
        Self { routes, streams: ActiveCount::default(), waits: ActiveCount::default() }
    }

    /// Starts counting a request. `place` is the index of its route.
    pub fn begin(&self, request: Option<&Request>, place: Option<usize>) -> CountedRequest {
        let known = request.and_then(|request| METHODS.into_iter().find(|known| *known == request.method));
        let (none, method) = (self.routes.len() - 1, known.unwrap_or(OTHER));
        CountedRequest { place: place.unwrap_or(none).min(none), method, began: Instant::now() }
    }

    /// Counts an answer that is about to be sent, and logs it at `debug` with its route, status, duration, request id
    /// and account.
    pub fn answered(
        &self,
        request: &CountedRequest,
        status: u16,
        request_id: &str,
        account: Option<AccountId>,
    ) {
        let place = &self.routes[request.place];
        *place.answers.lock().entry((request.method, status)).or_default() += 1;
        let duration = request.began.elapsed();
        place.durations.note(duration);
        log::debug!(
            request_id,
            status,
            duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            account_id = account.map(|account| account.to_string()).unwrap_or_default();
            "{} {}", request.method, place.route
        );
    }

    /// Returns the route, the method (or `other`) and the status of answers with their number. The count of status 200 of
    /// each route is there even if it is 0.
    pub fn answers(&self) -> impl Iterator<Item = (&'static str, &'static str, u16, u64)> {
        self.routes.iter().flat_map(|figures| {
            let counts = figures.answers.lock().clone().into_iter();
            counts.map(|((method, status), count)| (figures.route, method, status, count))
        })
    }

    /// Returns the durations of answers by the path pattern and the method of their route. A duration lasts from the
    /// moment when a request was read to the moment when its answer, or the first byte of its stream, is about to be
    /// sent.
    pub fn durations(&self) -> impl Iterator<Item = (&'static str, &'static str, &DurationHistogram)> {
        self.routes.iter().map(|figures| (figures.route, figures.method, &figures.durations))
    }
}
