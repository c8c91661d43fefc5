//! The web app as a [`Service`]: sessions, protection from forged requests, rate limits, and the headers of every
//! answer.

use std::sync::Arc;

use super::cookies::Cookie;
use super::error::WebError;
use super::frame::Frame;
use super::guard;
use super::notice::Notice;
use super::routes::{Access, Endpoint, ROUTES, Route};
use super::service::Web;
use super::visit::{SignedIn, Visit, csrf_of, masked};
use crate::account::rate_limit::RateLimitError;
use crate::account::service::Caller;
use crate::account::sign_in::token::Token;
use crate::http::{Reply, Request, Response, ResponseContext, Router, Segments, Service};
use crate::model::audit::Actor;

/// The content security policy of pages. It allows only files of the app, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
/// The time for which a form stays valid in a browser that is not signed in. Tabs can stay open for days.
const FORM_TTL: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 60 * 60);

/// The state of a request on which its error page and the headers of its answer depend.
pub struct RequestState {
    frame: Frame,
    /// The `Set-Cookie` headers of pages.
    cookies: Vec<String>,
    /// Whether the address has a query, of which pages may repeat text.
    has_query: bool,
}

type Context = ResponseContext<RequestState>;

/// Returns whether a path belongs to the web app.
pub fn is_app_path(path: &str) -> bool {
    path.strip_prefix("/app").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether a browser asks for a page, rather than a script in a page for anything.
fn accepts_pages(request: &Request) -> bool {
    request.header("accept").is_some_and(|accept| accept.contains("text/html"))
}

impl Service for Web {
    type Endpoint = Endpoint;
    type State = RequestState;
    type Error = WebError;

    fn state(&self, _: Option<&Request>) -> RequestState {
        let frame = Frame {
            root: self.root.clone(),
            here: "",
            who: None,
            csrf: String::new(),
            notice: None,
            sandbox: self.config.sandbox,
        };
        RequestState { frame, cookies: Vec::new(), has_query: false }
    }

    fn call(
        self: &Arc<Self>,
        route: &'static Route,
        segments: Segments,
        request: Request,
        context: &mut Context,
    ) -> Result<Reply, WebError> {
        context.state.frame.here = route.path;
        context.state.has_query = !request.query.is_empty();
        let visit = self.visit(&route.endpoint, segments, request, context)?;
        if let Some(answer) = self.access_refusal(route, &visit)? {
            return Ok(Reply::Now(answer));
        }
        if route.method != "GET" {
            guard::check(&visit, &self.tokens_for(&route.endpoint, &visit), &self.origin)?;
        }
        self.count(&route.endpoint, &visit)?;
        (route.endpoint.handler)(self, visit)
    }

    fn error_response(&self, error: WebError, context: &Context) -> Response {
        error.into_response(&context.state.frame, &context.request_id)
    }

    fn with_headers(&self, mut response: Response, context: &Context) -> Response {
        let is_page = response.header("Content-Type").is_some_and(|kind| kind.starts_with("text/html"));
        if is_page {
            for cookie in &context.state.cookies {
                response = response.with_header("Set-Cookie", cookie.clone());
            }
        }
        if context.state.has_query {
            response = response.uncompressed();
        }
        if response.header("Content-Security-Policy").is_none() {
            response = response.with_header("Content-Security-Policy", POLICY);
        }
        if self.config.sandbox {
            response = response.with_header("X-Sightline-Sandbox", "true");
        }
        response
            .with_header("X-Frame-Options", "DENY")
            .with_header("Referrer-Policy", "no-referrer")
            .with_header("Cross-Origin-Opener-Policy", "same-origin")
            .with_header("Cross-Origin-Resource-Policy", "same-origin")
    }
}

impl Web {
    /// Returns the handler that serves the web app.
    pub fn router(self: Arc<Self>) -> Router<Self> {
        Router::new(self, ROUTES, "/app none")
    }

    /// Finds the session of the request. Also fills in the frame, which error pages need too.
    fn visit(
        &self,
        endpoint: &Endpoint,
        segments: Segments,
        request: Request,
        context: &mut Context,
    ) -> Result<Visit, WebError> {
        let token = self.cookies.read(&request, Cookie::Session).and_then(Token::parse);
        let signed_in = match &token {
            Some(token) if endpoint.access != Access::File => self.session_of(token, endpoint)?,
            _ => None,
        };
        match &signed_in {
            Some(signed_in) => {
                context.account = Some(signed_in.caller.account.id);
                context.state.frame.who = Some(signed_in.who());
                context.state.frame.csrf = masked(&signed_in.session.csrf);
            }
            None if endpoint.access == Access::Anyone => {
                context.state.frame.csrf = self.form_token(&request, &mut context.state.cookies);
            }
            None => {}
        }
        // Only a page that a person opens shows it, not what a script requests.
        let is_opened = !endpoint.is_unattended && accepts_pages(&request);
        let notice = self.cookies.read(&request, Cookie::Notice).filter(|_| is_opened);
        let notice = notice.and_then(Notice::from_name);
        if notice.is_some() {
            context.state.cookies.push(self.cookies.clear(Cookie::Notice));
        }
        context.state.frame.notice = notice;
        let (request_id, frame) = (context.request_id.clone(), context.state.frame.clone());
        Ok(Visit { request, request_id, frame, segments, signed_in, token })
    }

    fn session_of(&self, token: &Token, endpoint: &Endpoint) -> Result<Option<SignedIn>, WebError> {
        let sign_ins = &self.parts.sign_ins;
        let found =
            if endpoint.is_unattended { sign_ins.peek_session(token) } else { sign_ins.session(token) };
        let Some((session, account)) = found? else { return Ok(None) };
        let plan = self.parts.accounts.plan_of(&account);
        let caller = Caller { actor: Actor::Account(account.id), account, plan, key: None };
        Ok(Some(SignedIn { session, caller }))
    }

    /// Returns the tokens that a form may send back. A form that needs no session may have been opened before
    /// the user signed in in another tab.
    fn tokens_for(&self, endpoint: &Endpoint, visit: &Visit) -> Vec<[u8; 32]> {
        let before = (endpoint.access == Access::Anyone).then(|| self.form_cookie(&visit.request)).flatten();
        let own = visit.signed_in.as_ref().map(|signed_in| signed_in.session.csrf);
        own.into_iter().chain(before.as_ref().map(csrf_of)).collect()
    }

    /// Returns the form token of a browser that is not signed in, and sets its cookie.
    fn form_token(&self, request: &Request, cookies: &mut Vec<String>) -> String {
        let token = match self.form_cookie(request) {
            Some(token) => token,
            None => Token::generate(),
        };
        // The cookie is set again each time, so that its lifetime begins with the newest form.
        cookies.push(self.cookies.set(Cookie::Form, token.expose(), FORM_TTL));
        masked(&csrf_of(&token))
    }

    fn form_cookie(&self, request: &Request) -> Option<Token> {
        self.cookies.read(request, Cookie::Form).and_then(Token::parse)
    }

    /// Returns the answer for a visitor without access. Browsers are redirected to the sign-in page, and back after
    /// the sign-in.
    fn access_refusal(&self, route: &Route, visit: &Visit) -> Result<Option<Response>, WebError> {
        let is_operator = visit.frame.who.as_ref().is_some_and(|who| who.is_operator);
        match route.endpoint.access {
            Access::File | Access::Anyone => Ok(None),
            Access::SignedIn | Access::Operator if visit.signed_in.is_none() => {
                self.redirect_to_sign_in(route, visit).map(Some)
            }
            Access::Operator if !is_operator => {
                Err(WebError::not_allowed("This page is for operators of the service."))
            }
            Access::SignedIn | Access::Operator => Ok(None),
        }
    }

    fn redirect_to_sign_in(&self, route: &Route, visit: &Visit) -> Result<Response, WebError> {
        if !accepts_pages(&visit.request) {
            return Err(WebError::not_signed_in());
        }
        if route.method != "GET" {
            return Ok(self.redirect_with_notice("/app/sign-in", Notice::SessionOver));
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

    fn count(&self, endpoint: &Endpoint, visit: &Visit) -> Result<(), WebError> {
        let (Some(policy), Some(signed_in)) = (endpoint.counts, &visit.signed_in) else { return Ok(()) };
        match self.parts.limiter.count(signed_in.caller.account.id, &[policy]) {
            Ok(_) => Ok(()),
            Err(RateLimitError::UsedUp(state)) => Err(WebError::rate_limited(state.reset_secs)),
            Err(RateLimitError::Storage(error)) => Err(error.into()),
        }
    }
}
