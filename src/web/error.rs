//! Failures, as pages.

use std::borrow::Cow;
use std::time::Duration;

use askama::Template;
use log::warn;

use super::frame::{Frame, render_as};
use crate::account::service::AccountError;
use crate::account::sign_in::SignInError;
use crate::base::ids::RequestId;
use crate::base::storage::{StorageError, StorageErrorKind};
use crate::http::{Refusal, Response};

/// When a store that is away, or a crowd, may have gone.
const COME_BACK: Duration = Duration::from_secs(5);

/// Why there is no such page, or nothing was done: the status and the words.
#[derive(Debug)]
pub struct WebError {
    status: u16,
    title: &'static str,
    text: Cow<'static, str>,
    retry_after: Option<Duration>,
    allow: Option<String>,
    /// For the log.
    cause: Option<String>,
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
    /// With that status, title and text, both sentences for people.
    pub fn new(status: u16, title: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { status, title, text: text.into(), retry_after: None, allow: None, cause: None }
    }

    /// 404: nothing has this address, or it is somebody else's.
    pub fn no_such_page() -> Self {
        Self::new(404, "Page not found", "There is nothing at this address, or it was deleted.")
    }

    /// 400: something in the request makes no sense.
    pub fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, "This cannot be done", text)
    }

    /// 401: for what a script asks for; people are sent to the sign-in page.
    pub fn not_signed_in() -> Self {
        Self::new(401, "You are not signed in", "Your session is over. Sign in to go on.")
    }

    /// 403: others may.
    pub fn not_allowed(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(403, "Not allowed", text)
    }

    /// 403: a change that did not come from a page of ours.
    pub fn forged() -> Self {
        let text = "Nothing was done: the form is too old, or was not sent from this site. Load the page again, \
                    and allow cookies for it.";
        Self::new(403, "This form is not valid any more", text)
    }

    /// 405, with the methods that there are.
    pub fn other_methods(allow: String) -> Self {
        let text = "This address does not take such a request.";
        Self { allow: Some(allow), ..Self::new(405, "This cannot be done", text) }
    }

    /// 429: too often.
    pub fn too_many(text: impl Into<Cow<'static, str>>, wait: Duration) -> Self {
        Self { retry_after: Some(wait), ..Self::new(429, "Too many attempts", text) }
    }

    /// 429: the account's requests of the last minute, of pages and of the API together.
    pub fn rate_limited(reset_secs: u64) -> Self {
        let text = format!(
            "Requests are limited per minute, over these pages and the API together. Try again in {reset_secs} seconds."
        );
        Self {
            retry_after: Some(Duration::from_secs(reset_secs)),
            ..Self::new(429, "Too many requests", text)
        }
    }

    /// 503: come back soon.
    pub fn unavailable() -> Self {
        let text = "The service cannot do this at the moment. Try again in a few seconds.";
        Self { retry_after: Some(COME_BACK), ..Self::new(503, "Not available right now", text) }
    }

    /// 500: our mistake; the log has `cause`, which holds nothing secret.
    pub fn internal(cause: impl Into<String>) -> Self {
        let text = "The service has made a mistake, which is in its log. Nothing of what you asked for may have been done.";
        Self { cause: Some(cause.into()), ..Self::new(500, "Something went wrong", text) }
    }

    /// The status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The page.
    pub fn into_response(self, frame: &Frame, request_id: &RequestId) -> Response {
        if let Some(cause) = &self.cause {
            warn!(request_id = request_id.as_str(); "{} {}: {cause}", self.status, frame.here);
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

/// Whole seconds, at least 1.
pub(super) fn whole_secs(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

impl From<StorageError> for WebError {
    fn from(error: StorageError) -> Self {
        let cause = Some(error.to_string());
        match error.kind() {
            StorageErrorKind::Unavailable => Self { cause, ..Self::unavailable() },
            StorageErrorKind::Broken => Self { cause, ..Self::internal("") },
        }
    }
}

impl From<AccountError> for WebError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Storage(error) | AccountError::Unfinished(error) => error.into(),
            AccountError::InvalidLabel => {
                Self::invalid("A label has at most 100 characters, and no control characters.")
            }
            AccountError::UnknownKey => Self::no_such_page(),
            AccountError::UnknownAccount | AccountError::BeingDeleted | AccountError::InvalidKey => {
                Self::not_signed_in()
            }
            AccountError::EmailTaken
            | AccountError::InvalidEmail
            | AccountError::UnknownPlan(_)
            | AccountError::Random(_) => Self::internal(error.to_string()),
        }
    }
}

impl From<SignInError> for WebError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Storage(error) => error.into(),
            SignInError::Busy => Self::unavailable(),
            SignInError::Random(_) | SignInError::Hashing => Self::internal(error.to_string()),
            SignInError::UnknownAccount => Self::not_signed_in(),
            SignInError::UnknownSession | SignInError::LinkOver => Self::no_such_page(),
            SignInError::TooMany(wait) => Self::too_many(too_many(wait), wait),
            SignInError::Wrong => Self::not_allowed("The password is wrong."),
            SignInError::Weak(why) => Self::invalid(why.to_string()),
        }
    }
}

/// What somebody is told who has tried too often.
pub(super) fn too_many(wait: Duration) -> String {
    let (minutes, seconds) = (whole_secs(wait).div_ceil(60), whole_secs(wait));
    let wait = if seconds > 90 { format!("{minutes} minutes") } else { format!("{seconds} seconds") };
    format!("There were too many attempts. Try again in {wait}.")
}

impl From<Refusal> for WebError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed(what) => Self::invalid(format!("The request is malformed: {what}.")),
            Refusal::BodyTimeout => Self::new(408, "Too slow", "The form did not arrive in time."),
            Refusal::BodyTooLarge => Self::new(413, "Too large", "What was sent is too large."),
            Refusal::TargetTooLong => Self::new(414, "Too long", "The address is too long."),
            Refusal::HeadTooLarge => Self::new(431, "Too large", "The request's head is too large."),
            Refusal::Overloaded { retry_after } => {
                Self { retry_after: Some(retry_after), ..Self::unavailable() }
            }
            Refusal::ShuttingDown => Self::unavailable(),
            Refusal::Internal => Self::internal("a handler panicked"),
        }
    }
}
