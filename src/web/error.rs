//! Errors: shown on the form that was sent, or as separate pages.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

use super::form::Form;
use crate::account::rate_limit::RateLimitError;
use crate::account::service::AccountError;
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::HashingError;
use crate::base::storage::StorageError;
use crate::http::{self, Reply, Response};
use crate::model::watch::WatchError;
use crate::model::webhook::WebhookError;
use crate::service::refusal::{Code, Refusal};

/// The time in seconds after which an unavailable store or an overload may be over.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// An error, or a text that describes it.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The answer of a handler.
pub(super) type Answer = Result<Reply, WebError>;

/// Where an error is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown<'a> {
    /// As a separate page.
    Page,
    /// As a page with a button that sends the same form again: nothing was done, or what may be done is done once.
    Resend,
    /// Above the form that was sent.
    Form,
    /// At this field of the form.
    Field(&'a str),
    /// Above the form. Its token is used up or missing, so it gets a new one.
    NewForm,
}

/// An error with its status and its text, a sentence.
#[derive(Debug)]
pub struct WebError {
    pub(super) status: u16,
    pub(super) title: &'static str,
    pub(super) text: Cow<'static, str>,
    pub(super) shown: Shown<'static>,
    /// The form that can be sent again.
    pub(super) form: Option<Form>,
    /// `Retry-After` or `Allow`.
    header: Option<Box<(&'static str, String)>>,
    /// The cause, for the log.
    pub(super) cause: Option<Cause>,
}

impl WebError {
    /// Creates an error with this status, title and text, which is shown as a page.
    pub(super) fn new(status: u16, title: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        Self { status, title, text, shown: Shown::Page, form: None, header: None, cause: None }
    }

    /// Creates an error that is shown above the form that was sent.
    pub(super) fn form(status: u16, title: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self { shown: Shown::Form, ..Self::new(status, title, text) }
    }

    /// Returns 422: a field of the form that was sent is wrong.
    pub(super) fn field(name: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(422, "Invalid request", text).at(Shown::Field(name))
    }

    /// Returns 404: the address is unknown or belongs to another account.
    pub fn no_such_page() -> Self {
        Self::new(404, "Page not found", "This page does not exist, or it was deleted.")
    }

    /// Returns 400: the request is not valid.
    pub(super) fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(400, "Invalid request", text)
    }

    /// Returns 401, for requests of scripts. Browsers are redirected to the sign-in page instead.
    pub(super) fn not_signed_in() -> Self {
        Self::new(401, "You are not signed in", "Your session has ended. Sign in to continue.")
    }

    /// Returns 403: the account has no permission for this.
    pub(super) fn not_allowed(text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(403, "Not allowed", text)
    }

    /// Returns 503: temporarily unavailable.
    pub(super) fn unavailable() -> Self {
        let text = "The service cannot do this at the moment. Try again in a few seconds.";
        Self::new(503, "Not available right now", text).retry_after(RETRY_AFTER)
    }

    /// Returns 500: a defect of the service. The log shows `cause`, which must contain no secret.
    pub(super) fn internal(cause: impl Into<Cause>) -> Self {
        let text =
            "The service failed, and its log has the cause. Your request may not have been carried out.";
        Self::new(500, "Something went wrong", text).with_cause(cause)
    }

    /// Returns the refusal of a form without the token that this app has given it.
    pub(super) fn incomplete_form() -> Self {
        let text = "The form was incomplete. Nothing was charged; send it again.";
        Self::new(400, "Not started yet.", text).at(Shown::NewForm)
    }

    /// Changes the status.
    pub(super) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Changes where the error is shown.
    pub(super) fn at(self, shown: Shown<'static>) -> Self {
        Self { shown, ..self }
    }

    /// Adds the cause for the log, which must contain no secret.
    pub(super) fn with_cause(self, cause: impl Into<Cause>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    /// Adds the form that was sent, if it can be sent again.
    pub(super) fn with_form(self, form: Option<Form>) -> Self {
        Self { form: form.filter(|_| self.shown == Shown::Resend), ..self }
    }

    /// Adds the time after which the request can be sent again.
    pub(super) fn retry_after(self, wait: Duration) -> Self {
        Self { header: Some(Box::new(("Retry-After", whole_secs(wait).to_string()))), ..self }
    }

    /// Returns the CSS class of its notice.
    pub(super) fn tone(&self) -> &'static str {
        if self.status >= 429 { "warn" } else { "bad" }
    }

    /// Gives its status and header to the page that shows it.
    pub(super) fn mark(&self, mut response: Response) -> Response {
        response.status = self.status;
        match self.header.as_deref() {
            Some((name, value)) => response.with_header(name, value.clone()),
            None => response,
        }
    }
}

/// Rounds up to whole seconds, at least 1.
fn whole_secs(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

/// Returns the text with a capital letter at its beginning.
pub(super) fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

impl From<StorageError> for WebError {
    fn from(error: StorageError) -> Self {
        if error.is_unavailable() { Self::unavailable().with_cause(error) } else { Self::internal(error) }
    }
}

impl From<RateLimitError> for WebError {
    fn from(error: RateLimitError) -> Self {
        let reset_secs = match error {
            RateLimitError::UsedUp(state) => state.reset_secs,
            RateLimitError::Storage(error) => return error.into(),
        };
        let text = format!(
            "Requests are limited per minute, over these pages and the API together. Nothing was charged; try again in \
             {reset_secs} seconds."
        );
        Self::form(429, "Too many requests", text).retry_after(Duration::from_secs(reset_secs))
    }
}

impl From<Refusal> for WebError {
    fn from(refusal: Refusal) -> Self {
        let fact = |name: &str| refusal.facts().get(name);
        let mut text = format!("{}.", sentence(refusal.message()));
        if let Some(allowed) = fact("allowed").and_then(Value::as_str) {
            text.push_str(&format!(" Allowed: {allowed}."));
        }
        if let Some(plans) = fact("plans").and_then(Value::as_array) {
            let plans: Vec<&str> = plans.iter().filter_map(Value::as_str).collect();
            text.push_str(&format!(" These plans do: {}. Nothing was charged.", plans.join(", ")));
        }
        if let (Some(cost), Some(left)) = (fact("cost"), fact("remaining")) {
            text.push_str(&format!(" It costs {cost}, and {left} are left."));
        }
        let form = |title| Self::form(refusal.status(), title, text.clone());
        match (refusal.code(), refusal.cause()) {
            (Code::InvalidApiKey, _) => Self::not_signed_in(),
            (Code::NotFound, _) => Self::no_such_page(),
            (Code::InternalError, cause) => Self::internal(cause.unwrap_or_default()),
            (Code::Unavailable, None) => Self::unavailable(),
            (Code::Unavailable, Some(cause)) => {
                let text = "The service lost the connection to its database. Send the form again with this button: if \
                            the search has started, you get to its page, and it is charged once.";
                let error = Self::new(503, "The search may have started", text).with_cause(cause);
                error.at(Shown::Resend).retry_after(RETRY_AFTER)
            }
            (Code::IdempotencyMismatch, _) => {
                let text =
                    "This form has started another search already. Press Search again to start this one too.";
                Self::new(409, "Not started yet.", text).at(Shown::NewForm)
            }
            (Code::InvalidRequest, _) if fact("field").is_some_and(|field| field == "query") => {
                Self::invalid(text).at(Shown::Field("query"))
            }
            (Code::InvalidRequest, _) => form("Invalid choice of sites."),
            (Code::Suppressed, _) => form("Not searched."),
            (Code::PlanRequired, _) => form("Another plan is needed."),
            (Code::InsufficientCredits, _) => form("Not enough credits."),
            (Code::PremiumUnavailable, _) => form("Premium is not available right now."),
            (Code::Overloaded, _) => form("The service is busy.").retry_after(RETRY_AFTER),
            _ => form("Not started."),
        }
    }
}

impl From<AccountError> for WebError {
    fn from(error: AccountError) -> Self {
        match error {
            AccountError::Storage(error) | AccountError::Unfinished(error) => error.into(),
            AccountError::InvalidLabel => Self::field("label", format!("{}.", sentence(&error.to_string()))),
            AccountError::EmailTaken | AccountError::InvalidEmail | AccountError::UnknownPlan(_) => {
                Self::field("email", format!("{}.", sentence(&error.to_string())))
            }
            AccountError::UnknownKey => Self::no_such_page(),
            AccountError::UnknownAccount | AccountError::BeingDeleted | AccountError::InvalidKey => {
                Self::not_signed_in()
            }
        }
    }
}

impl From<WebhookError> for WebError {
    fn from(error: WebhookError) -> Self {
        match error {
            WebhookError::Storage(error) => error.into(),
            WebhookError::UnknownAccount => Self::not_signed_in(),
            WebhookError::UnknownWebhook | WebhookError::UnknownDelivery => Self::no_such_page(),
            WebhookError::Disabled => Self::new(409, "The webhook is disabled", "Enable it first."),
            WebhookError::NoKey
            | WebhookError::InvalidUrl(_)
            | WebhookError::InvalidEvents
            | WebhookError::TooMany => Self::field("url", format!("{}.", sentence(&error.to_string()))),
        }
    }
}

impl From<WatchError> for WebError {
    fn from(error: WatchError) -> Self {
        let text = match error {
            WatchError::Storage(error) => return error.into(),
            WatchError::UnknownAccount => return Self::not_signed_in(),
            WatchError::UnknownWatch => return Self::no_such_page(),
            WatchError::Mismatch => {
                let text =
                    "This form has created another watch already. Send it again to create this one too.";
                return Self::new(422, "Not created.", text).at(Shown::NewForm);
            }
            WatchError::UnknownWebhook => {
                format!("{error}: choose a webhook of this account, or all webhooks")
            }
            WatchError::InvalidKinds | WatchError::TooMany | WatchError::InvalidQuery => error.to_string(),
        };
        Self::form(422, "Not created.", format!("{}.", sentence(&text)))
    }
}

impl From<SignInError> for WebError {
    fn from(error: SignInError) -> Self {
        match error {
            SignInError::Storage(error) => error.into(),
            SignInError::Hashing(HashingError::Busy) => Self::unavailable(),
            SignInError::Hashing(_) => Self::internal(error),
            SignInError::UnknownAccount => Self::not_signed_in(),
            SignInError::UnknownSession => Self::no_such_page(),
            SignInError::LinkOver => {
                let text = "It was already used, replaced by a newer one, or is older than three days. \
                            Ask whoever runs this service for a new one.";
                Self::new(404, "This link is no longer valid", text)
            }
            SignInError::TooMany(wait) => {
                let secs = whole_secs(wait);
                let time = if secs > 90 {
                    format!("{} minutes", secs.div_ceil(60))
                } else {
                    format!("{secs} seconds")
                };
                let text = format!("There were too many attempts. Try again in {time}.");
                Self::field("password", text).with_status(429).retry_after(wait)
            }
            SignInError::Wrong => Self::field("password", "The current password is wrong."),
            SignInError::Weak(why) => Self::field("password", why.to_string()),
        }
    }
}

impl From<http::Refusal> for WebError {
    fn from(refusal: http::Refusal) -> Self {
        let (status, _, mistake) = refusal.parts();
        let error = Self::new(status, "Invalid request", format!("{}.", sentence(mistake)));
        match refusal {
            http::Refusal::NotFound => Self::no_such_page(),
            http::Refusal::MethodNotAllowed(methods) => {
                Self { header: Some(Box::new(("Allow", methods))), ..error }
            }
            http::Refusal::Overloaded { retry_after } => Self::unavailable().retry_after(retry_after),
            http::Refusal::ShuttingDown => Self::unavailable(),
            http::Refusal::Internal(cause) => Self::internal(cause),
            _ => error,
        }
    }
}
