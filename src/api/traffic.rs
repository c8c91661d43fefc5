//! What was asked and how it was answered, counted: by route, method and status, never by anything that a client
//! chose. Three additions a request, no lock.

use std::time::Instant;

use super::routes::{Match, PAGES, ROUTES};
use crate::base::count::{Counter, Durations, Level, Spread};
use crate::http::{Reply, Request, StreamBody};

/// What stands for the route of a request that meets none.
const NO_ROUTE: &str = "none";
/// Methods that are told apart; the last stands for all others, which are a client's own invention.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other"];
/// Statuses that are told apart; the last (0) stands for all others.
const STATUSES: [u16; 23] = [
    200, 204, 304, 400, 401, 402, 403, 404, 405, 406, 408, 409, 413, 414, 415, 416, 422, 428, 429, 431, 500,
    503, 0,
];
const PLACES: usize = ROUTES.len() + PAGES.len() + 1;

/// All that was counted since the start.
pub struct Traffic {
    places: [PlaceFigures; PLACES],
    /// Streams that are open now.
    pub streams: Level,
    /// Requests that wait for the end of a search now, or whose stream is about to begin.
    pub waits: Level,
}

struct PlaceFigures {
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

impl Default for Traffic {
    fn default() -> Self {
        Self {
            places: std::array::from_fn(|_| PlaceFigures {
                answers: std::array::from_fn(|_| std::array::from_fn(|_| Counter::default())),
                durations: Durations::default(),
            }),
            streams: Level::default(),
            waits: Level::default(),
        }
    }
}

impl Visit {
    /// Begins to count a request.
    pub fn begin(request: Option<&Request>, found: Option<&Match<'_>>) -> Self {
        let method = request.and_then(|request| METHODS.iter().position(|known| *known == request.method));
        Self {
            place: found.map_or(PLACES - 1, place_of),
            method: method.unwrap_or(METHODS.len() - 1),
            began: Instant::now(),
        }
    }
}

/// Rows of the tables have one place in memory each.
fn place_of(found: &Match<'_>) -> usize {
    let place = match found {
        Match::Route(route, _) => ROUTES.iter().position(|known| std::ptr::eq(known, *route)),
        Match::Page(page, _) => {
            PAGES.iter().position(|known| std::ptr::eq(known, *page)).map(|at| ROUTES.len() + at)
        }
        Match::OtherMethods(_) | Match::Nothing => None,
    };
    place.unwrap_or(PLACES - 1)
}

/// Pattern and method of a place.
fn name_of(place: usize) -> (&'static str, &'static str) {
    if let Some(route) = ROUTES.get(place) {
        return (route.path, route.method);
    }
    PAGES.get(place - ROUTES.len()).map_or((NO_ROUTE, "other"), |page| (page.path, "GET"))
}

impl Traffic {
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
        self.places.iter().enumerate().flat_map(|(place, figures)| {
            let (route, own_method) = name_of(place);
            let cells = METHODS.iter().zip(&figures.answers);
            cells.flat_map(move |(method, statuses)| {
                STATUSES.iter().zip(statuses).filter_map(move |(status, count)| {
                    let is_usual = route != NO_ROUTE && *method == own_method && *status == 200;
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
        self.places.iter().enumerate().map(|(place, figures)| {
            let (route, method) = name_of(place);
            (route, method, figures.durations.spread())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::routes::find;

    fn request(method: &str, path: &str) -> Request {
        Request {
            method: method.into(),
            path: path.into(),
            query: String::new(),
            headers: vec![],
            body: vec![],
            client: None,
        }
    }

    #[test]
    fn what_a_client_makes_up_never_becomes_a_label() {
        let traffic = Traffic::default();
        for (method, path, status) in [
            ("GET", "/v1/searches/0190a1b2", 200),
            ("HEAD", "/v1/searches/0190a1b2", 304),
            ("BREW", "/v1/searches", 405),
            ("GET", "/sl_live_abc", 404),
            ("GET", "/docs/assets/x.js", 206),
        ] {
            let request = request(method, path);
            let found = find(&request.method, &request.path);
            traffic.answered(&Visit::begin(Some(&request), Some(&found)), status);
        }
        traffic.answered(&Visit::begin(None, None), 400);
        let mut seen: Vec<_> = traffic.answers().filter(|answers| answers.count > 0).collect();
        seen.sort_by(|one, other| (one.route, one.method).cmp(&(other.route, other.method)));
        let seen: Vec<String> =
            seen.iter().map(|of| format!("{} {} {} {}", of.method, of.route, of.status, of.count)).collect();
        assert_eq!(
            seen,
            [
                "GET /docs/assets/{file} other 1",
                "GET /v1/searches/{run_id} 200 1",
                "HEAD /v1/searches/{run_id} 304 1",
                "GET none 404 1",
                "other none 400 1",
                "other none 405 1",
            ]
        );
        assert_eq!(traffic.durations().map(|(_, _, spread)| spread.count).sum::<u64>(), 6);
    }

    #[test]
    fn every_route_begins_with_a_zero() {
        let answers: Vec<_> = Traffic::default().answers().collect();
        assert_eq!(answers.len(), ROUTES.len() + PAGES.len());
        assert!(answers.iter().all(|answers| answers.count == 0 && answers.status == "200"));
    }
}
