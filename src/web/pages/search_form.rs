//! The search form: its input, and the obstacles to a search.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::once::{new_once, once_key};
use super::option::FormOption;
use crate::account::credits::{Charge, PREMIUM_COST, STANDARD_COST};
use crate::modules::catalog::{Choice, ChoiceError};
use crate::modules::profile_index::{NamedAccount, ProfileIndex};
use crate::modules::query::{Query, QueryError, SearchType};
use crate::runs::family::member::{FollowOrder, MAX_DEPTH};
use crate::runs::leads::class::Class;
use crate::runs::run::RunSummary;
use crate::runs::run_options::{RunOptions, TimeBudget};
use crate::web::error::WebError;
use crate::web::show::Moment;
use crate::web::visit::Form;

/// The time in seconds after which a refused search can be tried again.
const OVERLOADED_RETRY_SECS: u64 = 5;
/// The longest purpose of a search in characters.
const MAX_PURPOSE: usize = 200;
/// The maximum number of characters of a name that a message repeats.
const SHOWN_CHARS: usize = 300;

/// The fields of the form.
#[derive(Debug, Clone, Default)]
pub(super) struct SearchForm {
    pub(super) query: String,
    /// The type, or `None` to recognize it from the query.
    search_type: Option<SearchType>,
    pub(super) premium: bool,
    pub(super) nsfw: bool,
    pub(super) passive: bool,
    pub(super) patient: bool,
    pub(super) avatars: bool,
    pub(super) time_budget: Option<TimeBudget>,
    /// The number of leads between the search and the last one that is followed, if leads are followed.
    pub(super) follow: Option<u8>,
    /// Why the user searches, for the audit.
    pub(super) purpose: String,
    /// The form's token. Each form gets a new one, so that a form that is sent twice starts one search.
    pub(super) once: String,
    pub(super) refusal: Option<Refusal>,
    /// The account whose profile has the address that was pasted, as long as the user has not chosen what to search for.
    pub(super) offer: Option<Offer>,
    /// What the user has chosen to search for, if the address of a profile was pasted.
    meant: Option<Meant>,
    /// The only module that is asked.
    only: Option<String>,
}

/// An account whose profile has the address that was pasted.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) platform: String,
    /// The domain of the address, if it can be searched.
    pub(super) domain: Option<String>,
}

/// What to search for if the address of a profile was pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    /// The account alone.
    Account,
    /// The username on all sites.
    Username,
    /// The domain of the address.
    Domain,
}

impl SearchForm {
    /// Creates an empty form, with profile pictures.
    ///
    /// # Errors
    /// Returns 500 if the system gives no random numbers.
    pub(super) fn fresh() -> Result<Self, WebError> {
        Ok(Self { avatars: true, once: new_once()?, ..Self::default() })
    }

    /// Returns the form that asks for the search of a run.
    ///
    /// # Errors
    /// Returns 500 if the system gives no random numbers.
    pub(super) fn of_run(run: &RunSummary) -> Result<Self, WebError> {
        let RunOptions { patient, time_budget, nsfw, passive, avatars, .. } = run.options;
        Ok(Self {
            query: run.query.clone(),
            search_type: Some(run.search_type),
            premium: run.premium,
            nsfw,
            passive,
            patient,
            avatars,
            time_budget,
            ..Self::fresh()?
        })
    }

    /// Reads the form that was sent.
    pub(super) fn read(form: &Form) -> Self {
        Self {
            query: form.get("query").to_owned(),
            search_type: SearchType::from_name(form.get("type")),
            premium: form.is_checked("premium"),
            nsfw: form.is_checked("nsfw"),
            passive: form.is_checked("passive"),
            patient: form.is_checked("patient"),
            avatars: form.is_checked("avatars"),
            time_budget: form.get("time_budget").parse().ok().and_then(TimeBudget::from_secs),
            follow: form.get("follow").parse().ok().filter(|depth| (1..=MAX_DEPTH).contains(depth)),
            purpose: form
                .get("purpose")
                .trim()
                .chars()
                .filter(|c| !c.is_control())
                .take(MAX_PURPOSE)
                .collect(),
            once: form.get("once").to_owned(),
            meant: match form.get("as") {
                "account" => Some(Meant::Account),
                "username" => Some(Meant::Username),
                "domain" => Some(Meant::Domain),
                _ => None,
            },
            ..Self::default()
        }
    }

    /// Returns the form with what the user has chosen to search for, or with an offer, if the query is the address of a
    /// profile and no type was chosen.
    pub(super) fn with_address_read(mut self, profiles: &ProfileIndex) -> Self {
        let account = self.search_type.is_none().then(|| profiles.account_in(&self.query)).flatten();
        let Some(NamedAccount { module, query }) = account else { return self };
        match self.meant {
            None => {
                let domain = Query::parse(SearchType::Domain, &self.query).ok();
                let domain = domain.map(|domain| domain.normal().to_owned());
                let (name, platform) = (query.raw().to_owned(), module.platform().to_owned());
                self.offer = Some(Offer { name, platform, domain });
            }
            Some(Meant::Domain) => self.search_type = Some(SearchType::Domain),
            Some(meant) => {
                self.only = (meant == Meant::Account).then(|| module.id().to_string());
                self.search_type = Some(SearchType::Username);
                query.raw().clone_into(&mut self.query);
            }
        }
        self
    }

    /// Returns the form with the refusal. The form keeps its token unless that belongs to another search, because the
    /// first attempt may have started a search although its answer was lost.
    ///
    /// Returns 500 if the system gives no random numbers.
    pub(super) fn with(self, refusal: Refusal) -> Result<Self, WebError> {
        let once = if refusal.is_of_form { new_once()? } else { self.once };
        Ok(Self { once, refusal: Some(refusal), ..self })
    }

    /// Returns the token as an idempotency key, or `None` if the app did not create it.
    pub(super) fn once(&self) -> Option<String> {
        once_key(&self.once)
    }

    /// Returns the query.
    ///
    /// # Errors
    /// Returns an error if the query is not valid.
    pub(super) fn query(&self) -> Result<Query, QueryError> {
        Query::parse(self.search_type.unwrap_or_else(|| SearchType::recognized(&self.query)), &self.query)
    }

    /// Returns whether the search is premium. Only usernames have premium searches.
    pub(super) fn asks_premium(&self, query: &Query) -> bool {
        self.premium && query.search_type() == SearchType::Username
    }

    /// Returns the price of the search in credits for an account with or without premium.
    pub(super) fn price(&self, has_premium: bool) -> u64 {
        let is_of_a_name = self.search_type.is_none_or(|chosen| chosen == SearchType::Username);
        if self.premium && has_premium && is_of_a_name { PREMIUM_COST } else { STANDARD_COST }
    }

    /// Returns the name of the chosen type.
    pub(super) fn type_name(&self) -> &'static str {
        self.search_type.map_or("auto", SearchType::as_str)
    }

    pub(super) fn choice(&self) -> Choice {
        let modules = self.only.iter().cloned().collect();
        Choice { modules, nsfw: self.nsfw, passive: self.passive, ..Choice::default() }
    }

    pub(super) fn options(&self) -> RunOptions {
        RunOptions {
            patient: self.patient,
            time_budget: self.time_budget,
            avatars: self.avatars,
            ..RunOptions::default()
        }
    }

    /// Returns how leads are followed, if they are.
    pub(super) fn follow_order(&self) -> Option<Arc<FollowOrder>> {
        let (max_searches, links) = (FollowOrder::DEFAULT_SEARCHES, Class::Stated);
        let order = |depth| FollowOrder { depth, max_searches, links, choice: self.choice() };
        self.follow.map(|depth| Arc::new(order(depth)))
    }

    /// Returns the choices of how far leads are followed.
    pub(super) fn follow_choices(&self) -> Vec<FormOption> {
        let choices = [
            (None, "", "No"),
            (Some(1), "1", "Those of the results"),
            (Some(2), "2", "And those of what they lead to"),
            (Some(3), "3", "And one step further"),
        ];
        choices.map(|(depth, value, label)| FormOption::new(value, label, self.follow == depth)).into()
    }

    /// Returns the SHA-256 of the search that the form describes.
    pub(super) fn fingerprint(&self, query: &Query) -> [u8; 32] {
        Sha256::new()
            .chain_update(self.options().fingerprint())
            .chain_update(self.follow.map(|depth| format!("follow {depth} ")).unwrap_or_default())
            .chain_update(self.only.as_ref().map(|id| format!("only {id} ")).unwrap_or_default())
            .chain_update([self.asks_premium(query), self.nsfw, self.passive].map(u8::from))
            .chain_update(query.search_type().as_str())
            // No name of a type contains a NUL byte, so the query, which comes last, cannot be confused with
            // the choice.
            .chain_update([0])
            .chain_update(query.raw())
            .finalize()
            .into()
    }

    pub(super) fn types(&self) -> Vec<FormOption> {
        let types = [
            (None, "auto", "Automatic"),
            (Some(SearchType::Username), "username", "Username"),
            (Some(SearchType::Email), "email", "Email"),
            (Some(SearchType::Domain), "domain", "Domain"),
        ];
        types.map(|(kind, value, label)| FormOption::new(value, label, self.search_type == kind)).into()
    }

    /// Returns the time budgets that can be chosen.
    pub(super) fn time_budgets(&self) -> Vec<FormOption> {
        let chosen = self.time_budget.map(TimeBudget::secs);
        let budgets = [
            (None, "", "No limit of its own"),
            (Some(5), "5", "5 seconds"),
            (Some(10), "10", "10 seconds"),
            (Some(20), "20", "20 seconds"),
            (Some(60), "60", "1 minute"),
        ];
        budgets.map(|(secs, value, label)| FormOption::new(value, label, chosen == secs)).into()
    }

    /// Returns the error in the query.
    pub(super) fn wrong(&self) -> Option<&str> {
        self.refusal.as_ref().filter(|refusal| refusal.is_of_query).map(|refusal| &*refusal.text)
    }

    /// Returns any other refusal.
    pub(super) fn notice(&self) -> Option<&Refusal> {
        self.refusal.as_ref().filter(|refusal| !refusal.is_of_query)
    }
}

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
    is_of_query: bool,
    /// Whether the form's token is used or missing. The form then gets a new one.
    is_of_form: bool,
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

    pub(super) fn plan_required(plan: &str, plans: &[&str]) -> Self {
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
        let text = "This form has started another search already, which is in your history. Press Search again to \
                    start this one too.";
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
    fn the_same_form_has_the_same_idempotency_key() {
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
            "query=octocat&patient=yes",
            "query=octocat&avatars=yes",
            "query=octocat&time_budget=10",
            "query=Octocat",
        ] {
            assert_ne!(usual, print(other), "{other}");
        }
        let email = print("query=a@example.com");
        assert_eq!(email, print("query=a@example.com&premium=yes"), "premium is for usernames");
    }

    #[test]
    fn a_refused_form_keeps_its_token_unless_it_is_used_up() {
        let form = SearchForm::fresh().unwrap();
        for refusal in [Refusal::too_many(5), Refusal::overloaded(), Refusal::no_browser()] {
            assert_eq!(form.clone().with(refusal).unwrap().once, form.once);
        }
        for refusal in [Refusal::form_used(), Refusal::form_incomplete()] {
            assert_ne!(form.clone().with(refusal).unwrap().once, form.once);
        }
    }

    #[test]
    fn only_a_token_of_the_server_is_an_idempotency_key() {
        let fresh = SearchForm::fresh().unwrap();
        assert_eq!(fresh.once().unwrap(), format!("web-form:{}", fresh.once));
        for bad in ["", "x", &"g".repeat(32), &"a".repeat(33)] {
            assert_eq!(sent(&format!("once={bad}")).once(), None, "{bad}");
        }
    }
}
