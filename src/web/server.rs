//! The web app as a [`Service`]: sessions, protection from forged requests, rate limits, redirects, and the headers of
//! every answer.

use std::sync::Arc;

use super::cookies::{Cookie, Notice};
use super::error::{Answer, Shown, WebError};
use super::form::Form;
use super::frame::{Frame, error_page};
use super::routes::{Access, Endpoint, ROUTES, Route};
use super::service::Web;
use super::visit::{SignedIn, Visit, check_origin, csrf_of, masked};
use crate::account::service::Caller;
use crate::account::sign_in::token::Token;
use crate::http::{Reply, Request, Response, ResponseContext, Router, Segments, Service};
use crate::model::audit::Actor;

/// The content security policy of pages. It allows only files of the app, and nothing inline.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// The beginnings of the addresses of pages that show what a request has made, once.
const SHOW_MADE: [&str; 3] = ["/app/keys", "/app/webhooks", "/app/operator/accounts"];

/// The state of a request on which its error page and the headers of its answer depend.
pub struct RequestState {
    frame: Frame,
    /// The `Set-Cookie` headers of a page.
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
            error: None,
            sandbox: self.sandbox,
        };
        RequestState { frame, cookies: Vec::new(), has_query: false }
    }

    fn call(
        self: &Arc<Self>,
        route: &'static Route,
        segments: Segments,
        request: Request,
        context: &mut Context,
    ) -> Answer {
        context.state.frame.here = route.path;
        context.state.has_query = !request.query.is_empty();
        let endpoint = &route.endpoint;
        let visit = self.visit(endpoint, segments, request, context)?;
        if let Some(answer) = self.access_refusal(route, &visit)? {
            return Ok(answer);
        }
        if route.method != "GET" {
            check_origin(&visit, &self.tokens_for(endpoint, &visit), &self.origin)?;
        }
        let form = (route.method != "GET").then(|| visit.form.clone());
        if let (Some(policy), Some(signed_in)) = (endpoint.counts, &visit.signed_in)
            && let Err(error) = self.limiter.count(signed_in.caller.account.id, &[policy], &mut Vec::new())
        {
            return Err(WebError::from(error).at(Shown::Resend).with_form(form));
        }
        if !endpoint.is_slow {
            return (endpoint.handler)(self, visit).map_err(|error| error.with_form(form));
        }
        let web = Arc::clone(self);
        Ok(Reply::Later(Box::new(move || {
            let (frame, id) = (visit.frame.clone(), visit.request_id.clone());
            let answer = (endpoint.handler)(&web, visit);
            answer.unwrap_or_else(|error| Reply::Now(error_page(&error.with_form(form), &frame, &id)))
        })))
    }

    fn error_response(&self, error: WebError, context: &Context) -> Response {
        error_page(&error, &context.state.frame, &context.request_id)
    }

    fn with_headers(&self, mut response: Response, context: &Context) -> Response {
        let is_page = response.header("Content-Type").is_some_and(|kind| kind.starts_with("text/html"));
        // What is shown once, such as a new key, is still there after an error.
        if is_page && response.status == 200 {
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
        if self.sandbox {
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

    /// Finds the session of the request. Also fills in the frame, which error pages also need.
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
        let state = &mut context.state;
        if let Some(signed_in) = &signed_in {
            context.account = Some(signed_in.caller.account.id);
            state.frame.who = Some(signed_in.who());
            state.frame.csrf = masked(&signed_in.session.csrf);
        } else if endpoint.access == Access::Anyone {
            let token = self.form_cookie(&request).unwrap_or_else(Token::generate);
            // The cookie is set again each time, so that its lifetime starts with the newest form.
            state.cookies.push(self.cookies.set(Cookie::Form, token.expose()));
            state.frame.csrf = masked(&csrf_of(&token));
        }
        // Only a page that a person opens shows them, not what a script requests.
        let is_opened = request.method == "GET" && !endpoint.is_unattended && accepts_pages(&request);
        let once = |cookie| self.cookies.read(&request, cookie).filter(|_| is_opened).map(str::to_owned);
        // Another page would lose a new key.
        let shows_made = SHOW_MADE.iter().any(|page| request.path.starts_with(page));
        let (notice, made) = (once(Cookie::Notice), once(Cookie::Made).filter(|_| shows_made));
        for (cookie, _) in
            [(Cookie::Notice, &notice), (Cookie::Made, &made)].iter().filter(|it| it.1.is_some())
        {
            state.cookies.push(self.cookies.set(*cookie, ""));
        }
        state.frame.notice = notice.and_then(|number| Notice::of(&number));
        let (request_id, frame, form) = (context.request_id.clone(), state.frame.clone(), Form::of(&request));
        Ok(Visit { request, request_id, frame, form, segments, signed_in, token, made })
    }

    fn session_of(&self, token: &Token, endpoint: &Endpoint) -> Result<Option<SignedIn>, WebError> {
        let sign_ins = &self.sign_ins;
        let found =
            if endpoint.is_unattended { sign_ins.peek_session(token) } else { sign_ins.session(token) };
        let Some((session, account)) = found? else { return Ok(None) };
        let plan = self.accounts.plan_of(&account);
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

    fn form_cookie(&self, request: &Request) -> Option<Token> {
        self.cookies.read(request, Cookie::Form).and_then(Token::parse)
    }

    /// Returns the answer for a visitor without access. Browsers are redirected to the sign-in page, and back after
    /// the sign-in.
    fn access_refusal(&self, route: &Route, visit: &Visit) -> Result<Option<Reply>, WebError> {
        let (access, who) = (route.endpoint.access, &visit.frame.who);
        match who {
            _ if matches!(access, Access::File | Access::Anyone) => Ok(None),
            Some(who) if access == Access::Operator && !who.is_operator => {
                Err(WebError::not_allowed("This page is for operators of the service."))
            }
            Some(_) => Ok(None),
            None => self.redirect_to_sign_in(route, visit).map(Some),
        }
    }

    fn redirect_to_sign_in(&self, route: &Route, visit: &Visit) -> Answer {
        let Request { path, query, .. } = &visit.request;
        if !accepts_pages(&visit.request) {
            return Err(WebError::not_signed_in());
        }
        if route.method != "GET" {
            return self.redirect_with_notice("/app/sign-in", Notice::SessionOver);
        }
        let next = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        if next == "/app" {
            return self.redirect("/app/sign-in");
        }
        let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
        self.redirect(&format!("/app/sign-in?next={next}"))
    }
}
