//! Errors as pages.

use std::borrow::Cow;
use std::time::Duration;

use askama::Template;
use log::{Level, log};
use serde_json::Value;

use super::frame::{Frame, render_as};
use super::show::sentence;
use crate::account::service::AccountError;
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::HashingError;
use crate::base::ids::RequestId;
use crate::base::storage::StorageError;
use crate::http::{Refusal, Response, RouteError};
use crate::model::watch::WatchError;
use crate::model::webhook::WebhookError;
use crate::service::refusal::{self, Code};

/// The time in seconds after which an unavailable store or an overload may be over.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// An error, or a text that describes it.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// An error that becomes a page: its status and its text.
#[derive(Debug)]
pub struct WebError {
    status: u16,
    title: &'static str,
    text: Cow<'static, str>,
    retry_after: Option<Duration>,
    allow: Option<String>,
    /// The cause, for the log.
    cause: Option<Cause>,
}

#[derive(Template)]
#[template(path = "error.html", config = "src/web/askama.toml")]
struct ErrorPage<'a> {
    frame: &'a Frame,
    title: &'static str,
    text: &'a str,
    request_id: &'a str,
}

impl WebError {
    /// Creates an error with this status, title and text. Both texts are sentences for readers of the page.
    pub fn new(status: u16, title: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, title, text: text.into(), retry_after: None, allow: None, cause: None }
    }

    /// Returns 404: the address is unknown or belongs to another account.
    pub fn no_such_page() -> Self {
        Self::new(404, "Page not found", "This page does not exist, or it was deleted.")
    }

    /// Returns 400: the request is not valid.
    pub fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, "Invalid request", text)
    }

    /// Returns 401, for requests of scripts. Browsers are redirected to the sign-in page instead.
    pub fn not_signed_in() -> Self {
        Self::new(401, "You are not signed in", "Your session has ended. Sign in to continue.")
    }

    /// Returns 403: the account has no permission for this.
    pub fn not_allowed(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(403, "Not allowed", text)
    }

    /// Returns 403: the change was not sent by a page of the app.
    pub fn forged() -> Self {
        let text = "Nothing was done: the form is too old, or was not sent from this site. Load the page again, \
                    and allow cookies for it.";
        Self::new(403, "This form is no longer valid", text)
    }

    /// Returns 405 with the methods that the address supports.
    pub fn other_methods(allow: String) -> Self {
        let text = "This address does not support this kind of request.";
        Self { allow: Some(allow), ..Self::new(405, "Invalid request", text) }
    }

    /// Returns 429: too many attempts.
    pub fn too_many(text: impl Into<Cow<'static, str>>, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..Self::new(429, "Too many attempts", text) }
    }

    /// Returns 429: too many requests of the account in the last minute, over pages and API together.
    pub fn rate_limited(reset_secs: u64) -> Self {
        let text = format!(
            "Requests are limited per minute, over these pages and the API together. Try again in {reset_secs} seconds."
        );
        Self {
            retry_after: Some(Duration::from_secs(reset_secs)),
            ..Self::new(429, "Too many requests", text)
        }
    }

    /// Returns 503: temporarily unavailable.
    pub fn unavailable() -> Self {
        let text = "The service cannot do this at the moment. Try again in a few seconds.";
        Self { retry_after: Some(RETRY_AFTER), ..Self::new(503, "Not available right now", text) }
    }

    /// Returns 503: no browser prints reports.
    pub fn cannot_print() -> Self {
        let text = "No browser is available that prints a PDF. The other formats need none.";
        Self { retry_after: Some(Duration::from_secs(60)), ..Self::new(503, "Not available right now", text) }
    }

    /// Returns 500: a defect of the service. The log shows `cause`, which must contain no secret.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        let text = "The service failed, and its log has the cause. It may not have done what you asked for.";
        Self { cause: Some(cause.into()), ..Self::new(500, "Something went wrong", text) }
    }

    /// Adds the cause for the log, which must contain no secret.
    pub fn with_cause(self, cause: impl Into<Cause>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// Returns the status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the page.
    pub fn into_response(self, frame: &Frame, request_id: &RequestId) -> Response {
        if let Some(cause) = &self.cause {
            // The store itself logs that it is unavailable, once for all requests.
            let level = if self.status == 503 { Level::Debug } else { Level::Warn };
            log!(level, request_id = request_id.as_str(); "{} {}: {cause}", self.status, frame.here);
        }
        let page = ErrorPage { frame, title: self.title, text: &self.text, request_id: request_id.as_str() };
        let mut response = render_as(self.status, &page);
        if let Some(wait) = self.retry_after {
            response = response.with_header("Retry-After", whole_secs(wait).to_string());
        }
        if let Some(allow) = self.allow {
            response = response.with_header("Allow", allow);
        }
        response
    }
}

/// Rounds up to whole seconds, at least 1.
pub(super) fn whole_secs(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

impl From<StorageError> for WebError {
    fn from(error: StorageError) -> Self {
        match error.is_unavailable() {
            true => Self { cause: Some(error.into()), ..Self::unavailable() },
            false => Self::internal(error),
        }
    }
}

impl From<refusal::Refusal> for WebError {
    fn from(refusal: refusal::Refusal) -> Self {
        let mut text = format!("{}.", sentence(refusal.message()));
        if let Some(allowed) = refusal.facts().get("allowed").and_then(Value::as_str) {
            text.push_str(&format!(" Allowed: {allowed}."));
        }
        let page = match refusal.code() {
            Code::InvalidApiKey => Self::not_signed_in(),
            Code::NotFound => Self::no_such_page(),
            Code::Unavailable => Self::unavailable(),
            Code::InternalError => Self::internal(text),
            Code::InvalidRequest => Self::invalid(text),
            _ => Self::new(refusal.status(), "Not possible", text),
        };
        Self { cause: refusal.cause().map(Cause::from).or(page.cause), ..page }
    }
}

impl From<AccountError> for WebError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::InvalidLabel => {
                Self::invalid("A label has at most 100 characters, and no control characters.")
            }
            AccountError::UnknownKey => Self::no_such_page(),
            AccountError::UnknownAccount | AccountError::BeingDeleted => Self::not_signed_in(),
            AccountError::Storage(error) | AccountError::Unfinished(error) => error.into(),
            error => refusal::Refusal::from(error).into(),
        }
    }
}

impl From<WebhookError> for WebError {
    fn from(error: WebhookError) -> Self {
        refusal::Refusal::from(error).into()
    }
}

impl From<WatchError> for WebError {
    fn from(error: WatchError) -> Self {
        refusal::Refusal::from(error).into()
    }
}

impl From<SignInError> for WebError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Storage(error) => error.into(),
            SignInError::Hashing(HashingError::Busy) => Self::unavailable(),
            SignInError::Hashing(_) => Self::internal(error),
            SignInError::UnknownAccount => Self::not_signed_in(),
            SignInError::UnknownSession | SignInError::LinkOver => Self::no_such_page(),
            SignInError::TooMany(wait) => Self::too_many(too_many(wait), wait),
            SignInError::Wrong => Self::not_allowed("The password is wrong."),
            SignInError::Weak(why) => Self::invalid(why.to_string()),
        }
    }
}

/// Returns the text about too many attempts.
pub(super) fn too_many(wait: Duration) -> String {
    let (minutes, seconds) = (whole_secs(wait).div_ceil(60), whole_secs(wait));
    let wait = if seconds > 90 { format!("{minutes} minutes") } else { format!("{seconds} seconds") };
    format!("There were too many attempts. Try again in {wait}.")
}

impl From<RouteError> for WebError {
    fn from(error: RouteError) -> Self {
        match error {
            RouteError::NotFound => Self::no_such_page(),
            RouteError::MethodNotAllowed(allow) => Self::other_methods(allow),
        }
    }
}

impl From<Refusal> for WebError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed(what) => Self::invalid(format!("The request is malformed: {what}.")),
            Refusal::BodyTimeout => Self::new(408, "Too slow", "The form did not arrive in time."),
            Refusal::LengthRequired => Self::new(411, "No length", "Send the form with a Content-Length."),
            Refusal::BodyTooLarge => Self::new(413, "Too large", "The form is too large."),
            Refusal::TargetTooLong => Self::new(414, "Too long", "The address is too long."),
            Refusal::HeadTooLarge => Self::new(431, "Too large", "The request headers are too large."),
            Refusal::Overloaded { retry_after } => {
                Self { retry_after: Some(retry_after), ..Self::unavailable() }
            }
            Refusal::ShuttingDown => Self::unavailable(),
            Refusal::Internal => Self::internal("a handler panicked"),
        }
    }
}
