//! What was asked and how it was answered, counted: by route, method and status, never by anything that a client
//! chose. Three additions a request, no lock.

use std::time::Instant;

use super::handler::{Reply, StreamBody};
use super::request::Request;
use crate::base::count::{Counter, Durations, Level, Spread};

/// Methods that are told apart; the last stands for all others, which are a client's own invention.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"];
/// Statuses that are told apart; the last (0) stands for all others.
const STATUSES: [u16; 24] = [
    200, 204, 303, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 413, 414, 415, 416, 422, 428, 429, 431,
    500, 503, 0,
];

/// All that was counted since the start.
pub struct Traffic {
    /// The last one is for requests that met no route.
    places: Vec<PlaceFigures>,
    /// Streams that are open now.
    pub streams: Level,
    /// Requests that wait for the end of a search now, or whose stream is about to begin.
    pub waits: Level,
}

struct PlaceFigures {
    /// Pattern of the route.
    route: &'static str,
    method: &'static str,
    answers: [[Counter; STATUSES.len()]; METHODS.len()],
    durations: Durations,
}

/// A request on its way, for its count.
#[derive(Debug, Clone, Copy)]
pub struct Visit {
    place: usize,
    method: usize,
    began: Instant,
}

/// One figure: so many answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    /// Pattern of the route, `none` for a request that met none.
    pub route: &'static str,
    /// Method, `other` for one that HTTP does not know.
    pub method: &'static str,
    /// Status, `other` for one that this service does not use.
    pub status: String,
    /// How many.
    pub count: u64,
}

impl PlaceFigures {
    fn new((method, route): (&'static str, &'static str)) -> Self {
        Self {
            route,
            method,
            answers: std::array::from_fn(|_| std::array::from_fn(|_| Counter::default())),
            durations: Durations::default(),
        }
    }
}

impl Traffic {
    /// For these routes, each a method and a pattern; what meets none of them is counted under `none`.
    pub fn new(routes: impl IntoIterator<Item = (&'static str, &'static str)>, none: &'static str) -> Self {
        let places = routes.into_iter().chain([("other", none)]).map(PlaceFigures::new).collect();
        Self { places, streams: Level::default(), waits: Level::default() }
    }

    /// Begins to count a request that met the route at that place, or none.
    pub fn begin(&self, request: Option<&Request>, place: Option<usize>) -> Visit {
        let method = request.and_then(|request| METHODS.iter().position(|known| *known == request.method));
        let none = self.places.len() - 1;
        Visit {
            place: place.unwrap_or(none).min(none),
            method: method.unwrap_or(METHODS.len() - 1),
            began: Instant::now(),
        }
    }

    /// Counts an answer that is about to be sent.
    pub fn answered(&self, visit: &Visit, status: u16) {
        let column = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len() - 1);
        let place = &self.places[visit.place];
        place.answers[visit.method][column].one();
        place.durations.note(visit.began.elapsed());
    }

    /// The work of a reply that takes a thread of its own, counted while it is done.
    pub fn waiting(
        &self,
        work: impl FnOnce() -> Reply + Send + 'static,
    ) -> Box<dyn FnOnce() -> Reply + Send> {
        let waits = self.waits.clone();
        Box::new(move || {
            let _present = waits.enter();
            work()
        })
    }

    /// A stream's body, counted while it is open.
    pub fn streaming(&self, body: StreamBody) -> StreamBody {
        let streams = self.streams.clone();
        Box::new(move |sink| {
            let _present = streams.enter();
            body(sink)
        })
    }

    /// Every figure that is not 0, and the successes of each route in any case: a rate needs its zero.
    pub fn answers(&self) -> impl Iterator<Item = Answers> {
        let none = self.places.len() - 1;
        self.places.iter().enumerate().flat_map(move |(place, figures)| {
            let (route, own_method) = (figures.route, figures.method);
            let cells = METHODS.iter().zip(&figures.answers);
            cells.flat_map(move |(method, statuses)| {
                STATUSES.iter().zip(statuses).filter_map(move |(status, count)| {
                    let is_usual = place != none && *method == own_method && *status == 200;
                    (is_usual || count.get() > 0).then(|| Answers {
                        route,
                        method,
                        status: if *status == 0 { "other".to_owned() } else { status.to_string() },
                        count: count.get(),
                    })
                })
            })
        })
    }

    /// How long answers took, by route and its own method: from the moment that a request was read to the moment
    /// that its answer, or its stream's first byte, is about to be sent.
    pub fn durations(&self) -> impl Iterator<Item = (&'static str, &'static str, Spread)> {
        self.places.iter().map(|figures| (figures.route, figures.method, figures.durations.spread()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str) -> Request {
        Request {
            method: method.into(),
            path: "/".into(),
            query: String::new(),
            headers: vec![],
            body: vec![],
            client: None,
        }
    }

    fn traffic() -> Traffic {
        Traffic::new([("GET", "/a"), ("POST", "/a"), ("GET", "/b/{id}")], "none")
    }

    #[test]
    fn what_a_client_makes_up_never_becomes_a_label() {
        let traffic = traffic();
        for (method, place, status) in [
            ("GET", Some(0), 200),
            ("HEAD", Some(2), 304),
            ("BREW", Some(1), 405),
            ("GET", None, 404),
            ("GET", Some(2), 206),
            ("GET", Some(99), 404),
        ] {
            traffic.answered(&traffic.begin(Some(&request(method)), place), status);
        }
        traffic.answered(&traffic.begin(None, None), 400);
        let mut seen: Vec<_> = traffic.answers().filter(|answers| answers.count > 0).collect();
        seen.sort_by(|one, other| (one.route, one.method).cmp(&(other.route, other.method)));
        let seen: Vec<String> =
            seen.iter().map(|of| format!("{} {} {} {}", of.method, of.route, of.status, of.count)).collect();
        assert_eq!(
            seen,
            [
                "GET /a 200 1",
                "other /a 405 1",
                "GET /b/{id} other 1",
                "HEAD /b/{id} 304 1",
                "GET none 404 2",
                "other none 400 1",
            ]
        );
        assert_eq!(traffic.durations().map(|(_, _, spread)| spread.count).sum::<u64>(), 7);
    }

    #[test]
    fn every_route_begins_with_a_zero() {
        let traffic = traffic();
        let answers: Vec<_> = traffic.answers().collect();
        assert_eq!(answers.len(), 3);
        assert!(answers.iter().all(|answers| answers.count == 0 && answers.status == "200"));
    }
}
