//! The search form: what was typed, and what stands in the way of a search.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::option::FormOption;
use crate::account::credits::{Charge, PREMIUM_COST, STANDARD_COST};
use crate::modules::catalog::{Choice, ChoiceError};
use crate::modules::query::{Query, QueryError, SearchType};
use crate::web::error::WebError;
use crate::web::show::Moment;
use crate::web::visit::Form;

/// What is put before the form's own word, so that it never is a key that the account's programs use.
const ONCE: &str = "web-form:";
/// Seconds after which a refused search may be tried again.
const OVERLOADED_RETRY_SECS: u64 = 5;
/// The most characters of a name that a message repeats.
const SHOWN_CHARS: usize = 300;

/// The fields.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchForm {
    pub(super) query: String,
    /// `None`: it is recognized.
    search_type: Option<SearchType>,
    pub(super) premium: bool,
    pub(super) nsfw: bool,
    pub(super) passive: bool,
    /// Made anew for each form: what is sent twice is one search.
    pub(super) once: String,
    pub(super) trouble: Option<Trouble>,
}

impl SearchForm {
    /// An empty one.
    ///
    /// # Errors
    /// 500: the system gives no random numbers.
    pub(super) fn fresh() -> Result<Self, WebError> {
        Ok(Self { once: new_once()?, ..Self::default() })
    }

    /// What was sent.
    pub(super) fn read(form: &Form) -> Self {
        Self {
            query: form.get("query").to_owned(),
            search_type: SearchType::from_name(form.get("type")),
            premium: form.is_checked("premium"),
            nsfw: form.is_checked("nsfw"),
            passive: form.is_checked("passive"),
            once: form.get("once").to_owned(),
            trouble: None,
        }
    }

    /// The same, with what stood in the way. Unless another search is wanted by now it stays the same one: its first
    /// sending may have been taken, whatever became of the answer.
    ///
    /// # Errors
    /// 500: the system gives no random numbers.
    pub(super) fn with(self, trouble: Trouble) -> Result<Self, WebError> {
        let once = if trouble.is_of_form { new_once()? } else { self.once };
        Ok(Self { once, trouble: Some(trouble), ..self })
    }

    /// The form's word as an idempotency key. `None`: it is not one that we make.
    pub(super) fn once(&self) -> Option<String> {
        let is_ours = self.once.len() == 32 && self.once.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_ours.then(|| format!("{ONCE}{}", self.once))
    }

    /// What is searched.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn query(&self) -> Result<Query, QueryError> {
        Query::parse(self.search_type.unwrap_or_else(|| SearchType::recognized(&self.query)), &self.query)
    }

    /// Premium counts for usernames alone.
    pub(super) fn asks_premium(&self, query: &Query) -> bool {
        self.premium && query.search_type() == SearchType::Username
    }

    /// Credits that it costs as it stands, for an account that may have premium or not.
    pub(super) fn price(&self, has_premium: bool) -> u64 {
        let is_of_a_name = self.search_type.is_none_or(|chosen| chosen == SearchType::Username);
        if self.premium && has_premium && is_of_a_name { PREMIUM_COST } else { STANDARD_COST }
    }

    /// Of the type that was chosen.
    pub(super) fn type_name(&self) -> &'static str {
        self.search_type.map_or("auto", SearchType::as_str)
    }

    pub(super) fn choice(&self) -> Choice {
        Choice { nsfw: self.nsfw, passive: self.passive, ..Choice::default() }
    }

    /// SHA-256 of what the form asks for.
    pub(super) fn fingerprint(&self, query: &Query) -> [u8; 32] {
        Sha256::new()
            .chain_update([self.asks_premium(query), self.nsfw, self.passive].map(u8::from))
            .chain_update(query.search_type().as_str())
            // No type's name holds a NUL: the query, which comes last, cannot pass for a part of it.
            .chain_update([0])
            .chain_update(query.raw())
            .finalize()
            .into()
    }

    pub(super) fn types(&self) -> Vec<FormOption> {
        let types = [
            (None, "auto", "Recognise"),
            (Some(SearchType::Username), "username", "Username"),
            (Some(SearchType::Email), "email", "Email"),
            (Some(SearchType::Domain), "domain", "Domain"),
        ];
        types.map(|(kind, value, label)| FormOption::new(value, label, self.search_type == kind)).into()
    }

    /// What is wrong with the query.
    pub(super) fn wrong(&self) -> Option<&str> {
        self.trouble.as_ref().filter(|trouble| trouble.is_of_query).map(|trouble| &*trouble.text)
    }

    /// What else stands in the way.
    pub(super) fn notice(&self) -> Option<&Trouble> {
        self.trouble.as_ref().filter(|trouble| !trouble.is_of_query)
    }
}

fn new_once() -> Result<String, WebError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| WebError::internal(error.to_string()))?;
    Ok(Uuid::from_bytes(bytes).simple().to_string())
}

/// Why a search was not started: nothing was charged, unless it is in doubt.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    pub(super) status: u16,
    /// The class of its notice.
    pub(super) tone: &'static str,
    pub(super) title: &'static str,
    pub(super) text: Cow<'static, str>,
    /// Seconds.
    pub(super) retry_after: Option<u64>,
    is_of_query: bool,
    /// Its word is used up, or none: sent again, it is another search.
    is_of_form: bool,
    /// It may have been started all the same: nothing but the same form may be sent again.
    pub(super) is_in_doubt: bool,
}

impl Trouble {
    fn new(status: u16, title: &'static str, text: impl Into<Cow<'static, str>>) -> Self {
        let tone = if status >= 429 { "warn" } else { "bad" };
        Self {
            status,
            tone,
            title,
            text: text.into(),
            retry_after: None,
            is_of_query: false,
            is_of_form: false,
            is_in_doubt: false,
        }
    }

    pub(super) fn in_doubt() -> Self {
        let trouble = Self::new(503, "Was it taken?", "The service lost touch with its database.");
        Self { retry_after: Some(OVERLOADED_RETRY_SECS), is_in_doubt: true, ..trouble }
    }

    pub(super) fn query(error: &QueryError) -> Self {
        let text = format!("{}. Allowed: {}.", sentence(&error.message), error.allowed);
        Self { is_of_query: true, ..Self::new(400, "", text) }
    }

    pub(super) fn suppressed() -> Self {
        Self::new(403, "Not searched.", "This is never searched here. Nothing was charged.")
    }

    pub(super) fn plan_required(plan: &str, plans: &[&str]) -> Self {
        let plans = plans.join(", ");
        let text = format!(
            "Premium searches are not part of the {plan} plan, but of: {plans}. Nothing was charged; without premium \
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
        let text = "Too many searches wait already. Nothing was charged; try again in a few seconds.";
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
        let text = "No browser answers, which premium searches need. Nothing was charged; without premium it can be \
                    searched at once.";
        Self::new(503, "Premium is not available right now.", text)
    }

    pub(super) fn choice(error: &ChoiceError) -> Self {
        let text: String = error.to_string().chars().take(SHOWN_CHARS).collect();
        Self::new(400, "This cannot be searched so.", format!("{}.", sentence(&text)))
    }

    /// The same form was sent with something else in it.
    pub(super) fn form_used() -> Self {
        let text = "This form has started another search already, which is in your history. Press Search again to \
                    start this one too.";
        Self { is_of_form: true, ..Self::new(409, "Not started yet.", text) }
    }

    pub(super) fn form_over() -> Self {
        let text = "The form was not whole. Nothing was charged; press Search again.";
        Self { is_of_form: true, ..Self::new(400, "Not started yet.", text) }
    }
}

/// With a capital at its beginning.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> SearchForm {
        SearchForm::read(&Form::parse(text.as_bytes()))
    }

    #[test]
    fn a_type_is_recognized_unless_it_is_set() {
        for (text, want) in [
            ("query=octocat&type=auto", SearchType::Username),
            ("query=example.com", SearchType::Domain),
            ("query=example.com&type=username", SearchType::Username),
        ] {
            assert_eq!(sent(text).query().unwrap().search_type(), want, "{text}");
        }
        assert!(sent("query=octocat&type=email").query().is_err());
    }

    #[test]
    fn the_same_form_means_the_same_and_another_does_not() {
        let print = |text: &str| {
            let form = sent(text);
            form.fingerprint(&form.query().unwrap())
        };
        let usual = print("query=octocat&type=auto&once=1");
        assert_eq!(usual, print("query=octocat&type=username&once=2"));
        for other in [
            "query=octocat&premium=yes",
            "query=octocat&nsfw=yes",
            "query=octocat&passive=yes",
            "query=Octocat",
        ] {
            assert_ne!(usual, print(other), "{other}");
        }
        let email = print("query=a@example.com");
        assert_eq!(email, print("query=a@example.com&premium=yes"), "premium is for usernames");
    }

    #[test]
    fn a_form_that_is_refused_stays_the_same_search_unless_its_word_is_used_up() {
        let form = SearchForm::fresh().unwrap();
        for trouble in [Trouble::too_many(5), Trouble::overloaded(), Trouble::no_browser()] {
            assert_eq!(form.clone().with(trouble).unwrap().once, form.once);
        }
        for trouble in [Trouble::form_used(), Trouble::form_over()] {
            assert_ne!(form.clone().with(trouble).unwrap().once, form.once);
        }
    }

    #[test]
    fn only_a_word_of_ours_makes_a_form_one_search() {
        let fresh = SearchForm::fresh().unwrap();
        assert_eq!(fresh.once().unwrap(), format!("web-form:{}", fresh.once));
        for bad in ["", "x", &"g".repeat(32), &"a".repeat(33)] {
            assert_eq!(sent(&format!("once={bad}")).once(), None, "{bad}");
        }
    }
}
