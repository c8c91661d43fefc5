//! [`Refusal`]: why a search was not started, or a form not taken.

use std::borrow::Cow;

use serde_json::Value;

use crate::service::refusal::{self as service, Code};
pub(super) use crate::web::show::sentence;

/// The time in seconds after which a refused search can be tried again.
const OVERLOADED_RETRY_SECS: u64 = 5;
/// The refusal of a search. Nothing was charged, unless the start could not be confirmed.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The CSS class of its notice.
    pub(super) tone: &'static str,
    pub(super) title: &'static str,
    pub(super) text: Cow<'static, str>,
    /// The number of seconds to wait before a retry.
    pub(super) retry_after: Option<u64>,
    pub(super) is_of_query: bool,
    /// Whether the form's token is used or missing. The form then gets a new one.
    pub(super) is_of_form: bool,
    /// Whether the search may have started. Only the same form may then be sent again.
    pub(super) is_unconfirmed: bool,
}

impl Refusal {
    pub(super) fn new(status: u16, title: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        let tone = if status >= 429 { "warn" } else { "bad" };
        Self {
            status,
            tone,
            title,
            text: text.into(),
            retry_after: None,
            is_of_query: false,
            is_of_form: false,
            is_unconfirmed: false,
        }
    }

    pub(super) fn unconfirmed() -> Self {
        let refusal = Self::new(503, "Did it start?", "The service lost the connection to its database.");
        Self { retry_after: Some(OVERLOADED_RETRY_SECS), is_unconfirmed: true, ..refusal }
    }

    /// Returns the refusal of the service.
    pub(super) fn of(why: &service::Refusal) -> Self {
        let fact = |name: &str| why.facts().get(name);
        let is_of_query = fact("field").is_some_and(|field| field == "query");
        let title = match why.code() {
            Code::InvalidRequest if is_of_query => "",
            Code::InvalidRequest => "Invalid choice of sites.",
            Code::Suppressed => "Not searched.",
            Code::PlanRequired => "Another plan is needed.",
            Code::InsufficientCredits => "Not enough credits.",
            Code::PremiumUnavailable => "Premium is not available right now.",
            Code::Overloaded => "The service is busy.",
            Code::IdempotencyMismatch => return Self::form_used(),
            _ => "Not started.",
        };
        let mut text = sentence(why.message());
        text.push('.');
        if let Some(allowed) = fact("allowed").and_then(Value::as_str) {
            text.push_str(&format!(" Allowed: {allowed}."));
        }
        if let Some(plans) = fact("plans").and_then(Value::as_array) {
            let plans = plans.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
            text.push_str(&format!(" These plans do: {plans}. Nothing was charged."));
        }
        if let (Some(cost), Some(left)) = (fact("cost"), fact("remaining")) {
            text.push_str(&format!(" It costs {cost}, and {left} are left."));
        }
        let retry_after = fact("retry_after").and_then(Value::as_u64);
        Self { is_of_query, retry_after, ..Self::new(why.status(), title, text) }
    }

    pub(super) fn too_many(secs: u64) -> Self {
        let text = format!(
            "Searches are limited per minute, over this page and the API together. Nothing was charged; try again in \
             {secs} seconds."
        );
        Self { retry_after: Some(secs), ..Self::new(429, "Too many searches.", text) }
    }

    /// Returns the refusal that the form was already used for another search.
    fn form_used() -> Self {
        let text = "This form has started another search already. Press Search again to start this one too.";
        Self { is_of_form: true, ..Self::new(409, "Not started yet.", text) }
    }

    pub(super) fn form_incomplete() -> Self {
        let text = "The form was incomplete. Nothing was charged; press Search again.";
        Self { is_of_form: true, ..Self::new(400, "Not started yet.", text) }
    }
}
