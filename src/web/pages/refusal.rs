//! [`Refusal`]: why a search was not started, or a form not taken.

use std::borrow::{Borrow, Cow};

use crate::model::credits::Charge;
use crate::modules::catalog::ChoiceError;
use crate::modules::query::QueryError;
use crate::web::show::Moment;

/// The time in seconds after which a refused search can be tried again.
const OVERLOADED_RETRY_SECS: u64 = 5;
/// The maximum number of characters of a name that a message repeats.
const SHOWN_CHARS: usize = 300;

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

    pub(super) fn query(error: &QueryError) -> Self {
        let text = format!("{}. Allowed: {}.", sentence(&error.message), error.allowed);
        Self { is_of_query: true, ..Self::new(400, "", text) }
    }

    pub(super) fn suppressed() -> Self {
        Self::new(403, "Not searched.", "This identifier is never searched here. Nothing was charged.")
    }

    pub(super) fn plan_required(plan: &str, plans: &[impl Borrow<str>]) -> Self {
        let plans = plans.join(", ");
        let text = format!(
            "The {plan} plan does not include premium searches. These plans do: {plans}. Nothing was charged; without premium \
             it can be searched at once."
        );
        Self::new(403, "Another plan is needed.", text)
    }

    pub(super) fn insufficient_credits(charge: &Charge, used: u64) -> Self {
        let (allowed, cost) = (charge.allowed.unwrap_or_default(), charge.credits);
        let (left, end) = (allowed.saturating_sub(used), Moment(charge.cycle.end));
        let credits = if cost == 1 { "credit" } else { "credits" };
        let text =
            format!("This search costs {cost} {credits}, and {left} of {allowed} are left until {end}.");
        Self::new(402, "Not enough credits.", text)
    }

    pub(super) fn overloaded() -> Self {
        let text = "Too many searches are waiting. Nothing was charged; try again in a few seconds.";
        Self { retry_after: Some(OVERLOADED_RETRY_SECS), ..Self::new(503, "The service is busy.", text) }
    }

    pub(super) fn too_many(secs: u64) -> Self {
        let text = format!(
            "Searches are limited per minute, over this page and the API together. Nothing was charged; try again in \
             {secs} seconds."
        );
        Self { retry_after: Some(secs), ..Self::new(429, "Too many searches.", text) }
    }

    pub(super) fn no_browser() -> Self {
        let text = "Premium searches need a browser, and none answers. Nothing was charged; without premium it can be \
                    searched at once.";
        Self::new(503, "Premium is not available right now.", text)
    }

    pub(super) fn choice(error: &ChoiceError) -> Self {
        let text: String = error.to_string().chars().take(SHOWN_CHARS).collect();
        Self::new(400, "Invalid choice of sites.", format!("{}.", sentence(&text)))
    }

    /// Returns the refusal that the form was already used for another search.
    pub(super) fn form_used() -> Self {
        let text = "This form has started another search already. Press Search again to start this one too.";
        Self { is_of_form: true, ..Self::new(409, "Not started yet.", text) }
    }

    pub(super) fn form_incomplete() -> Self {
        let text = "The form was incomplete. Nothing was charged; press Search again.";
        Self { is_of_form: true, ..Self::new(400, "Not started yet.", text) }
    }
}

/// Returns the text with a capital letter at its beginning.
pub(super) fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
