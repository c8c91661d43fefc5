//! [`Web`]: finds the route, says who it is, guards changes, calls the handler, dresses the answer.

use std::sync::Arc;

use log::debug;
use url::Url;

use super::cookies::{Cookie, Cookies};
use super::error::WebError;
use super::frame::Frame;
use super::guard;
use super::notice::Notice;
use super::routes::{self, Access, Match, Route};
use super::visit::{SignedIn, Visit, csrf_of};
use crate::account::audit::Actor;
use crate::account::rate_limit::{RateLimiter, Uncounted};
use crate::account::service::{Accounts, Caller};
use crate::account::sign_in::SignIns;
use crate::account::sign_in::service::Opened;
use crate::account::sign_in::token::Token;
use crate::base::clock::Clock;
use crate::base::ids::RequestId;
use crate::http::{Gauge, Handler, Refusal, Reply, Request, Response, StreamBody, Traffic, Visit as Counted};
use crate::report::account::Archive;
use crate::runs::service::Runs;

/// What a page may load: our own files, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/// How long a notice waits for its page.
const NOTICE_LASTS: std::time::Duration = std::time::Duration::from_secs(60);
/// How long a browser that is not signed in may leave a form open: a tab is left for days.
const FORM_LASTS: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

/// What the operator decides.
#[derive(Debug, Clone)]
pub struct WebConfig {
    /// The address that clients use, without a slash at its end.
    pub base_url: String,
    /// A simulated web answers every search: every page says so.
    pub sandbox: bool,
    /// After this time a stream of a run's events ends, and the page asks for the rest.
    pub stream_timeout: std::time::Duration,
    /// Silence after which such a stream gets a comment.
    pub keep_alive: std::time::Duration,
}

/// The parts that pages are made from.
pub struct Parts {
    /// Accounts, plans, credits.
    pub accounts: Arc<Accounts>,
    /// Who is signed in.
    pub sign_ins: Arc<SignIns>,
    /// Requests a minute.
    pub limiter: Arc<RateLimiter>,
    /// Searches.
    pub runs: Arc<Runs>,
    /// What is kept of an account.
    pub archive: Archive,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How busy the server is.
    pub gauge: Gauge,
}

/// The web app.
pub struct Web {
    pub(super) config: WebConfig,
    pub(super) parts: Parts,
    root: String,
    origin: String,
    cookies: Cookies,
    traffic: Arc<Traffic>,
}

/// What an answer gets on its way out.
#[derive(Clone)]
struct Dress {
    visit: Counted,
    request_id: RequestId,
    /// `Set-Cookie` headers of pages.
    cookies: Vec<String>,
}

impl Web {
    /// The app over these parts.
    pub fn new(config: WebConfig, parts: Parts) -> Self {
        let url = Url::parse(&config.base_url).ok();
        let root = url.as_ref().map_or("", |url| url.path().trim_end_matches('/')).to_owned();
        let origin = url.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        let cookies = Cookies::new(config.base_url.starts_with("https:"), &root);
        let routes = routes::ROUTES.iter().map(|route| (route.method, route.path));
        let traffic = Arc::new(Traffic::new(routes, "/app none"));
        Self { config, parts, root, origin, cookies, traffic }
    }

    /// Requests and answers, counted.
    pub fn traffic(&self) -> &Arc<Traffic> {
        &self.traffic
    }

    /// 303 to another page of the app; `path` begins with `/app`.
    pub fn redirect(&self, path: &str) -> Response {
        Response::empty(303).with_header("Location", format!("{}{path}", self.root))
    }

    /// The same, and that page says something.
    pub fn redirect_saying(&self, path: &str, notice: Notice) -> Response {
        let cookie = self.cookies.set(Cookie::Notice, notice.name(), NOTICE_LASTS);
        self.redirect(path).with_header("Set-Cookie", cookie)
    }

    /// Work that waits (for a password to be hashed, for much to be removed), on a thread of its own. What it fails
    /// with becomes a page, as everywhere.
    pub fn later(
        self: &Arc<Self>,
        visit: Visit,
        work: impl FnOnce(&Arc<Self>, Visit) -> Result<Reply, WebError> + Send + 'static,
    ) -> Reply {
        let web = Arc::clone(self);
        Reply::Later(Box::new(move || {
            let (frame, id) = (visit.frame.clone(), visit.request_id.clone());
            work(&web, visit).unwrap_or_else(|error| Reply::Now(error.into_response(&frame, &id)))
        }))
    }

    /// With the cookie of a session that has just begun.
    pub(super) fn with_session(&self, response: Response, opened: &Opened) -> Response {
        let lasts = self.parts.sign_ins.limits().longest;
        let cookie = self.cookies.set(Cookie::Session, opened.token.expose(), lasts);
        response.with_header("Set-Cookie", cookie)
    }

    /// Without a session's cookie.
    pub(super) fn without_session(&self, response: Response) -> Response {
        response.with_header("Set-Cookie", self.cookies.clear(Cookie::Session))
    }

    fn route(
        self: &Arc<Self>,
        request: Request,
        frame: &mut Frame,
        dress: &mut Dress,
    ) -> Result<Reply, WebError> {
        let path = request.path.clone();
        let (route, segment) = match routes::find(&request.method, &path) {
            Match::Route(route, segment) => (route, segment.map(str::to_owned)),
            Match::OtherMethods(allow) if request.method == "OPTIONS" => {
                return Ok(Reply::Now(Response::empty(204).with_header("Allow", allow)));
            }
            Match::OtherMethods(allow) => return Err(WebError::other_methods(allow)),
            Match::Nothing => return Err(WebError::no_such_page()),
        };
        frame.here = route.path;
        let visit = self.visit(route, segment, request, frame, dress)?;
        if let Some(answer) = self.turned_away(route, &visit)? {
            return Ok(Reply::Now(answer));
        }
        if route.method != "GET" {
            guard::check(&visit, &self.tokens_for(route, &visit), &self.origin)?;
        }
        self.count(route, &visit)?;
        (route.handler)(self, visit)
    }

    /// Finds out who it is. Fills the frame in, which an error's page needs too.
    fn visit(
        &self,
        route: &'static Route,
        segment: Option<String>,
        request: Request,
        frame: &mut Frame,
        dress: &mut Dress,
    ) -> Result<Visit, WebError> {
        let token = self.cookies.read(&request, Cookie::Session).and_then(Token::parse);
        let signed_in = match &token {
            Some(token) if route.access != Access::File => self.who_has(token, route)?,
            _ => None,
        };
        match &signed_in {
            Some(signed_in) => {
                frame.who = Some(signed_in.who());
                frame.csrf = signed_in.csrf();
            }
            None if route.access == Access::Anyone => frame.csrf = self.form_token(&request, dress)?,
            None => {}
        }
        let notice = self.cookies.read(&request, Cookie::Notice).and_then(Notice::named);
        if notice.is_some() {
            dress.cookies.push(self.cookies.clear(Cookie::Notice));
        }
        frame.notice = notice;
        let (request_id, frame) = (dress.request_id.clone(), frame.clone());
        Ok(Visit { request, request_id, frame, segment, signed_in, token })
    }

    fn who_has(&self, token: &Token, route: &Route) -> Result<Option<SignedIn>, WebError> {
        let sign_ins = &self.parts.sign_ins;
        let found =
            if route.is_unattended { sign_ins.session_unused(token) } else { sign_ins.session(token) };
        let Some((session, account)) = found? else { return Ok(None) };
        let plan = self.parts.accounts.plan_of(&account);
        let caller = Caller { actor: Actor::Account(account.id), account, plan };
        Ok(Some(SignedIn { session, caller }))
    }

    /// What the form may bring back. One that anybody may send may have been opened before somebody signed in, in
    /// another tab.
    fn tokens_for(&self, route: &Route, visit: &Visit) -> Vec<String> {
        let before = (route.access == Access::Anyone).then(|| self.form_cookie(&visit.request)).flatten();
        [visit.frame.csrf.clone()].into_iter().chain(before.as_ref().map(csrf_of)).collect()
    }

    /// What forms bring back of a browser that is not signed in; it gets a cookie for that.
    fn form_token(&self, request: &Request, dress: &mut Dress) -> Result<String, WebError> {
        let token = match self.form_cookie(request) {
            Some(token) => token,
            None => Token::generate().map_err(|error| WebError::internal(error.to_string()))?,
        };
        // Anew each time: it lasts from the last form on.
        dress.cookies.push(self.cookies.set(Cookie::Form, token.expose(), FORM_LASTS));
        Ok(csrf_of(&token))
    }

    fn form_cookie(&self, request: &Request) -> Option<Token> {
        self.cookies.read(request, Cookie::Form).and_then(Token::parse)
    }

    /// The answer to whoever may not: people are sent to the sign-in page, and come back from there.
    fn turned_away(&self, route: &Route, visit: &Visit) -> Result<Option<Response>, WebError> {
        let is_operator = visit.frame.who.as_ref().is_some_and(|who| who.is_operator);
        match route.access {
            Access::File | Access::Anyone => Ok(None),
            Access::SignedIn | Access::Operator if visit.signed_in.is_none() => {
                self.to_sign_in(route, visit).map(Some)
            }
            Access::Operator if !is_operator => {
                Err(WebError::not_allowed("This page is for operators of the service."))
            }
            Access::SignedIn | Access::Operator => Ok(None),
        }
    }

    fn to_sign_in(&self, route: &Route, visit: &Visit) -> Result<Response, WebError> {
        let is_page = visit.request.header("accept").is_some_and(|accept| accept.contains("text/html"));
        if !is_page {
            return Err(WebError::not_signed_in());
        }
        if route.method != "GET" {
            return Ok(self.redirect_saying("/app/sign-in", Notice::SessionOver));
        }
        let mut next = visit.request.path.clone();
        if !visit.request.query.is_empty() {
            next = format!("{next}?{}", visit.request.query);
        }
        if next == "/app" {
            return Ok(self.redirect("/app/sign-in"));
        }
        let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        Ok(self.redirect(&format!("/app/sign-in?next={next}")))
    }

    fn count(&self, route: &Route, visit: &Visit) -> Result<(), WebError> {
        let (Some(policy), Some(signed_in)) = (route.counts, &visit.signed_in) else { return Ok(()) };
        let now = self.parts.clock.now();
        match self.parts.limiter.count(signed_in.caller.account.id, &[policy], now) {
            Ok(_) => Ok(()),
            Err(Uncounted::UsedUp(standing)) => Err(WebError::rate_limited(standing.reset_secs)),
            Err(Uncounted::UnknownAccount) => Err(WebError::not_signed_in()),
            Err(Uncounted::Storage(error)) => Err(error.into()),
        }
    }

    fn frame(&self) -> Frame {
        Frame {
            root: self.root.clone(),
            here: "",
            who: None,
            csrf: String::new(),
            notice: None,
            sandbox: self.config.sandbox,
        }
    }

    fn dress_for(&self, request: Option<&Request>) -> Dress {
        let offered = request.and_then(|request| request.header("x-request-id"));
        let place = request.and_then(|request| routes::place_of(&request.method, &request.path));
        let visit = self.traffic.begin(request, place);
        Dress { visit, request_id: RequestId::accept(offered), cookies: Vec::new() }
    }

    /// Every answer comes through here, once.
    fn dress(&self, response: Response, dress: &Dress) -> Response {
        self.traffic.answered(&dress.visit, response.status);
        self.clothed(response, dress)
    }

    fn clothed(&self, mut response: Response, dress: &Dress) -> Response {
        let is_page = response.header("Content-Type").is_some_and(|kind| kind.starts_with("text/html"));
        if is_page {
            for cookie in &dress.cookies {
                response = response.with_header("Set-Cookie", cookie.clone());
            }
        }
        if response.header("Content-Security-Policy").is_none() {
            response = response.with_header("Content-Security-Policy", POLICY);
        }
        if response.header("Cache-Control").is_none() {
            response = response.with_header("Cache-Control", "no-store");
        }
        if self.config.sandbox {
            response = response.with_header("X-Sightline-Sandbox", "true");
        }
        response
            .with_header("X-Request-Id", dress.request_id.as_str().to_owned())
            .with_header("X-Content-Type-Options", "nosniff")
            .with_header("X-Frame-Options", "DENY")
            .with_header("Referrer-Policy", "no-referrer")
            .with_header("Cross-Origin-Opener-Policy", "same-origin")
            .with_header("Cross-Origin-Resource-Policy", "same-origin")
    }

    fn dress_reply(self: &Arc<Self>, reply: Reply, dress: Dress) -> Reply {
        match reply {
            Reply::Now(response) => Reply::Now(self.dress(response, &dress)),
            Reply::Stream(head, body) => {
                // Counted where it begins: one for which there is no place is answered by a refusal, which counts.
                let (status, visit, web) = (head.status, dress.visit, Arc::clone(self));
                let counted: StreamBody = Box::new(move |sink| {
                    web.traffic.answered(&visit, status);
                    body(sink)
                });
                Reply::Stream(self.clothed(head, &dress), self.traffic.streaming(counted))
            }
            Reply::Later(work) => {
                let web = Arc::clone(self);
                Reply::Later(self.traffic.waiting(move || web.dress_reply(work(), dress)))
            }
        }
    }
}

/// The handler that the server calls for what is below `/app`.
#[derive(Clone)]
pub struct WebHandler(pub Arc<Web>);

impl WebHandler {
    /// Whether a path is the app's.
    pub fn has(path: &str) -> bool {
        path.strip_prefix("/app").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Handler for WebHandler {
    fn handle(&self, request: Request) -> Reply {
        let web = &self.0;
        let (mut frame, mut dress) = (web.frame(), web.dress_for(Some(&request)));
        let method = request.method.clone();
        let routed = web.route(request, &mut frame, &mut dress);
        debug!(request_id = dress.request_id.as_str(); "{method} {}", frame.here);
        let reply = routed.unwrap_or_else(|error| Reply::Now(error.into_response(&frame, &dress.request_id)));
        web.dress_reply(reply, dress)
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        let (frame, dress) = (self.0.frame(), self.0.dress_for(request));
        let response = WebError::from(refusal).into_response(&frame, &dress.request_id);
        self.0.dress(response, &dress)
    }
}
