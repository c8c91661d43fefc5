//! Errors: shown on the form that was sent, or as separate pages.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

use super::form::Form;
use crate::account::sign_in::SignInError;
use crate::account::sign_in::password::HashingError;
use crate::base::storage::StorageError;
use crate::http::{self, Reply, Response};
use crate::model::refusal::{Code, Refusal};

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

    /// Returns 422: a field of the form that was sent is wrong.
    pub(super) fn field(name: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        Self::new(422, "Invalid request", text).at(Shown::Field(name))
    }

    /// Returns 404: the address is unknown or belongs to another account.
    pub fn no_such_page() -> Self {
        Self::new(404, "Page not found", "This page does not exist, or it was deleted.")
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

    /// Adds the form that was sent, if it can be sent again: it does its work only once, and the database may have lost the
    /// answer.
    pub(super) fn with_form(self, form: Option<Form>) -> Self {
        let is_repeatable = |form: &Form| {
            self.cause.is_some() && self.status == 503 && self.shown == Shown::Page && form.once().is_some()
        };
        if form.as_ref().is_some_and(is_repeatable) {
            let text = "The service lost the connection to its database. Send the form again with this button: what was done \
                        already, is neither done nor charged again.";
            let title = "Your request may have been carried out";
            return Self { form, title, text: text.into(), shown: Shown::Resend, ..self };
        }
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
        Refusal::from(error).into()
    }
}

/// The fields at which pages show what is wrong with them.
const FIELDS: [&str; 5] = ["query", "email", "label", "name", "url"];

/// The labels of other fields of forms, by their names in the API.
const LABELS: [(&str, &str); 14] = [
    ("every", "Interval"),
    ("notify_on", "Notify of results that were"),
    ("events", "Events"),
    ("webhook_id", "Webhook"),
    ("modules", "Only these sites"),
    ("exclude_modules", "Not these sites"),
    ("categories", "Categories"),
    ("plan", "Plan"),
    ("tags", "Tags"),
    ("note", "Note"),
    ("time_budget", "Time for the search"),
    ("follow", "Follow leads"),
    ("purpose", "Purpose"),
    ("type", "Type of search"),
];

/// Returns the text of a refusal, which continues the label of its field if that has one.
fn text_of(refusal: &Refusal, field: &str, has_label: bool) -> String {
    let allowed = refusal.allowed();
    // A label or the place names the field already.
    let beginnings = [format!("invalid `{field}`: "), format!("{field} "), format!("{field}: ")];
    let mistake = beginnings.iter().find_map(|beginning| refusal.message.strip_prefix(beginning));
    let is_of_sites = matches!(field, "modules" | "exclude_modules");
    let mut text = match mistake {
        Some(mistake) if is_of_sites => sentence(mistake).replacen("modules", "sites", 1),
        Some(mistake) if has_label => mistake.to_owned(),
        mistake => sentence(mistake.unwrap_or(&refusal.message)),
    };
    if !text.ends_with('?') {
        text.push('.');
    }
    // What the API and the shell show is of no use here.
    if !text.contains(&allowed) && !is_of_sites {
        text.push_str(&format!(" Allowed: {allowed}."));
    }
    if let Some(plans) = refusal.facts.get("plans").and_then(Value::as_array) {
        let plans: Vec<&str> = plans.iter().filter_map(Value::as_str).collect();
        text.push_str(&format!(" These plans do: {}. Nothing was charged.", plans.join(", ")));
    }
    if let (Some(cost), Some(left)) = (refusal.facts.get("cost"), refusal.facts.get("remaining")) {
        text.push_str(&format!(" It costs {cost}, and {left} are left."));
    }
    text
}

impl From<Refusal> for WebError {
    fn from(refusal: Refusal) -> Self {
        let name = refusal.fact("field");
        let label = LABELS.iter().find(|(field, _)| *field == name).map(|(_, label)| *label);
        let mut text = text_of(&refusal, name, label.is_some());
        let wait = refusal.facts.get("retry_after").and_then(Value::as_u64).map(Duration::from_secs);
        let title = match refusal.code {
            Code::InvalidApiKey => return Self::not_signed_in(),
            Code::NotFound => return Self::no_such_page(),
            Code::InternalError => return Self::internal(refusal.cause.clone().unwrap_or_default()),
            Code::Unavailable => {
                return Self { cause: refusal.cause.clone().map(Into::into), ..Self::unavailable() };
            }
            Code::IdempotencyMismatch => {
                let text =
                    "This form was sent before, with other values. Send it again if you also want this.";
                return Self::new(409, "Not done yet.", text).at(Shown::NewForm);
            }
            Code::RateLimited => {
                let secs = wait.unwrap_or_default().as_secs();
                text = format!(
                    "Requests are limited per minute, over these pages and the API together. Nothing was charged; try again \
                     in {secs} seconds."
                );
                "Too many requests"
            }
            Code::InvalidRequest => label.unwrap_or("Invalid request."),
            Code::Suppressed => "Not searched.",
            Code::PlanRequired => "Another plan is needed.",
            Code::InsufficientCredits => "Not enough credits.",
            Code::PremiumUnavailable => "Premium is not available right now.",
            Code::Overloaded => "The service is busy.",
            _ => "Not done.",
        };
        let field = FIELDS.into_iter().find(|field| *field == name);
        let error = Self::new(refusal.status, title, text).at(field.map_or(Shown::Form, Shown::Field));
        match wait {
            Some(wait) => error.retry_after(wait),
            None if refusal.code == Code::MethodNotAllowed => {
                Self { header: Some(Box::new(("Allow", refusal.allowed()))), ..error }
            }
            None => error,
        }
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
                            Ask the operator of this service for a new one.";
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
            SignInError::Weak(why) => Self::field("password", why),
        }
    }
}

impl From<http::Refusal> for WebError {
    fn from(refusal: http::Refusal) -> Self {
        Refusal::from(refusal).into()
    }
}
