//! Routing, and the middleware that the JSON API and the web app share.
//!
//! A [`Service`] has one static table of [`Route`]s. A [`Router`] serves it: it finds the route of a request, answers
//! `OPTIONS`, unknown paths and unknown methods by itself, gives each request an id, adds the common headers to every
//! answer, and counts and logs the answers.

use std::io::Write;
use std::sync::Arc;

use super::handler::{Handler, Refusal, Reply};
use super::request::Request;
use super::response::Response;
use super::traffic::{CountedRequest, Traffic};
use crate::base::ids::{AccountId, RequestId};

/// A row of a route table. `E` is the endpoint, which includes the handler and the access rule.
#[derive(Debug, Clone, Copy)]
pub struct Route<E> {
    /// The method in upper case. `GET` answers `HEAD`, too.
    pub method: &'static str,
    /// The path pattern. Segments in braces, such as `{run_id}`, match any segment that is not empty. Their names differ.
    pub path: &'static str,
    /// The endpoint.
    pub endpoint: E,
}

/// The routes of one product, and the common parts of their answers. The API and the web app implement it.
pub trait Service: Send + Sync + 'static {
    /// The endpoint of a route.
    type Endpoint: Sync + 'static;
    /// The state of a request on which its error page or the headers of its answer depend.
    type State: Send + 'static;
    /// A failed request.
    type Error: From<Refusal>;

    /// Creates the state of a request. There is no request if its head could not be parsed.
    fn state(&self, request: Option<&Request>) -> Self::State;

    /// Answers a request that has a route. `segments` are the parts of the path that match the pattern's `{…}`.
    ///
    /// # Errors
    /// Returns any failure. [`Service::error_response`] turns it into the answer.
    fn call(
        self: &Arc<Self>,
        route: &'static Route<Self::Endpoint>,
        segments: Segments,
        request: Request,
        context: &mut ResponseContext<Self::State>,
    ) -> Result<Reply, Self::Error>;

    /// Renders an error.
    fn error_response(&self, error: Self::Error, context: &ResponseContext<Self::State>) -> Response;

    /// Adds the headers that every answer of this service has.
    fn with_headers(&self, response: Response, context: &ResponseContext<Self::State>) -> Response;
}

/// A request's id and state, from its arrival to its answer.
pub struct ResponseContext<S> {
    /// The id of the request, in logs and in the answer.
    pub request_id: RequestId,
    /// The account that made the request, once it is known.
    pub account: Option<AccountId>,
    /// The state of the request that the service has created.
    pub state: S,
    counted: CountedRequest,
}

/// A router that serves the routes of a [`Service`].
pub struct Router<S: Service> {
    service: Arc<S>,
    routes: &'static [Route<S::Endpoint>],
    traffic: Arc<Traffic>,
}

impl<S: Service> Clone for Router<S> {
    fn clone(&self) -> Self {
        Self { service: Arc::clone(&self.service), routes: self.routes, traffic: Arc::clone(&self.traffic) }
    }
}

impl<S: Service> Router<S> {
    /// Creates a router. Requests without a route are counted under the name `unrouted`.
    pub fn new(service: Arc<S>, routes: &'static [Route<S::Endpoint>], unrouted: &'static str) -> Self {
        let counted = routes.iter().map(|route| (route.method, route.path));
        Self { service, routes, traffic: Arc::new(Traffic::new(counted, unrouted)) }
    }

    /// Returns the counts of requests and answers.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// Returns whether a route has the path, with any method.
    pub fn has_path(&self, path: &str) -> bool {
        find(self.routes, "GET", path) != Err(Refusal::NotFound)
    }

    fn context(&self, request: Option<&Request>, route: Option<usize>) -> ResponseContext<S::State> {
        ResponseContext {
            request_id: RequestId::accept(request.and_then(|request| request.header("x-request-id"))),
            account: None,
            state: self.service.state(request),
            counted: self.traffic.begin(request, route),
        }
    }

    fn finish(&self, reply: Reply, context: ResponseContext<S::State>) -> Reply {
        match reply {
            Reply::Now(response) => Reply::Now(self.answer(response, &context)),
            Reply::Stream(head, body) => {
                // A stream is counted when it begins. If it exceeds the limit, `refuse` answers and counts it.
                let (status, head, traffic) =
                    (head.status, self.with_headers(head, &context), Arc::clone(&self.traffic));
                let counted = move |sink: &mut dyn Write| {
                    let _open = traffic.streams.enter();
                    context.count(&traffic, status);
                    body(sink)
                };
                Reply::Stream(head, Box::new(counted))
            }
            Reply::Later(work) => {
                let router = self.clone();
                Reply::Later(Box::new(move || {
                    let _waiting = router.traffic.waits.enter();
                    router.finish(work(), context)
                }))
            }
        }
    }

    /// Counts an answer and adds its headers. This is called once for each answer that is not a stream.
    fn answer(&self, response: Response, context: &ResponseContext<S::State>) -> Response {
        context.count(&self.traffic, response.status);
        self.with_headers(response, context)
    }

    fn with_headers(&self, response: Response, context: &ResponseContext<S::State>) -> Response {
        let response = response
            .with_header("X-Request-Id", context.request_id.as_str().to_owned())
            .with_header("X-Content-Type-Options", "nosniff");
        let response = self.service.with_headers(response, context);
        if response.header("Cache-Control").is_some() {
            return response;
        }
        response.with_header("Cache-Control", "no-store")
    }
}

impl<S: Service> Handler for Router<S> {
    fn handle(&self, request: Request) -> Reply {
        let found = find(self.routes, &request.method, &request.path);
        let mut context = self.context(Some(&request), found.as_ref().ok().map(|(index, _)| *index));
        let outcome = match found {
            Ok((index, segments)) => self.service.call(&self.routes[index], segments, request, &mut context),
            Err(Refusal::MethodNotAllowed(allow)) if request.method == "OPTIONS" => {
                Ok(Reply::Now(Response::empty(204).with_header("Allow", allow)))
            }
            Err(refusal) => Err(refusal.into()),
        };
        let failed = |error| Reply::Now(self.service.error_response(error, &context));
        let reply = outcome.unwrap_or_else(failed);
        self.finish(reply, context)
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        let found = request.and_then(|request| find(self.routes, &request.method, &request.path).ok());
        let context = self.context(request, found.map(|(index, _)| index));
        let response = self.service.error_response(refusal.into(), &context);
        self.answer(response, &context)
    }
}

impl<S> ResponseContext<S> {
    fn count(&self, traffic: &Traffic, status: u16) {
        traffic.answered(&self.counted, status, self.request_id.as_str(), self.account);
    }
}

/// The segments of a path that match the `{…}` of its route's pattern, as they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segments(Vec<(&'static str, String)>);

impl Segments {
    /// Returns the segment with this name: `run_id` for `{run_id}`. `None` if the pattern has no such segment.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| *own == name).map(|(_, segment)| segment.as_str())
    }
}

/// Returns the index of a request's route, and the segments that match its pattern's `{…}`. One trailing slash is ignored.
fn find<E>(routes: &[Route<E>], method: &str, path: &str) -> Result<(usize, Segments), Refusal> {
    let path = path.strip_suffix('/').filter(|path| !matches!(*path, "" | "/")).unwrap_or(path);
    let mut others = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        let Some(segments) = match_pattern(route.path, path) else { continue };
        if route.method == method || (route.method == "GET" && method == "HEAD") {
            return Ok((index, segments));
        }
        others.push(route.method);
    }
    Err(if others.is_empty() { Refusal::NotFound } else { Refusal::MethodNotAllowed(allow(others)) })
}

/// Returns the value of `Allow` for a path whose routes have these methods.
pub fn allow(methods: impl IntoIterator<Item = &'static str>) -> String {
    let methods = methods.into_iter().flat_map(|method| match method {
        "GET" => vec!["GET", "HEAD"],
        other => vec![other],
    });
    methods.chain(["OPTIONS"]).collect::<Vec<_>>().join(", ")
}

/// Returns the segments that match the pattern's `{…}`, or `None` if the path does not match the pattern.
fn match_pattern(pattern: &'static str, path: &str) -> Option<Segments> {
    let (mut segments, mut given) = (Vec::new(), path.split('/'));
    for want in pattern.split('/') {
        let segment = given.next()?;
        match want.strip_prefix('{').and_then(|want| want.strip_suffix('}')) {
            Some(name) if !segment.is_empty() => segments.push((name, segment.to_owned())),
            None if want == segment => {}
            _ => return None,
        }
    }
    given.next().is_none().then_some(Segments(segments))
}
