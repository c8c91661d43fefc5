//! The search form: its input, and the search that it describes.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::form_parts::FormOption;
use super::form_parts::{new_once, once_key};
use super::refusal::Refusal;
use super::site_choice::SiteChoice;
use crate::model::credits::cost;
use crate::model::follow::{Class, FollowOrder, MAX_DEPTH};
use crate::model::run::{RunOptions, TimeBudget};
use crate::modules::catalog::{Catalog, Choice};
use crate::modules::profile_index::{NamedAccount, ProfileIndex};
use crate::modules::query::{MAX_QUERY_BYTES, Query, QueryError, SearchType};
use crate::runs::service::Found;
use crate::web::error::WebError;
use crate::web::service::Web;
use crate::web::visit::Form;

/// The longest purpose of a search in characters.
const MAX_PURPOSE: usize = 200;

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
    /// The choice of sites.
    pub(super) sites: SiteChoice,
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
        Ok(Self { avatars: true, once: new_once(), ..Self::default() })
    }

    /// Returns a form with the query and the type of an address. Nothing is started.
    ///
    /// # Errors
    /// Returns 500 if the system gives no random numbers.
    pub(super) fn of_address(address: &Form) -> Result<Self, WebError> {
        let query = address.get("query").chars().filter(|c| !c.is_control()).take(MAX_QUERY_BYTES).collect();
        Ok(Self { query, search_type: SearchType::from_name(address.get("type")), ..Self::fresh()? })
    }

    /// Returns the form that asks for the search of a run with the same options. A run of an earlier version has no choice
    /// of sites: if the caller had named its modules, they are those that it has asked.
    ///
    /// # Errors
    /// Returns 409 if they are not known yet, 500 if the system gives no random numbers, 503 if the store is unavailable.
    pub(super) fn of_run(web: &Web, found: &Found) -> Result<Self, WebError> {
        let run = found.summary();
        let RunOptions { patient, time_budget, named, nsfw, passive, avatars } = run.options;
        let sites = match &run.choice {
            Some(choice) => SiteChoice::of(choice, run.search_type),
            None if !named => SiteChoice::default(),
            None if !run.status.is_terminal() => {
                let text =
                    "This search asks only some sites. They are known when it has ended: try again then.";
                return Err(WebError::new(409, "The search has not ended", text));
            }
            None => {
                SiteChoice::named(web.parts.runs.reader.reports(found)?.iter().map(|it| it.module.clone()))
            }
        };
        Ok(Self {
            query: run.query,
            search_type: Some(run.search_type),
            premium: run.premium,
            nsfw,
            passive,
            patient,
            avatars,
            time_budget,
            follow: run.follow.filter(|_| run.family.is_none()).map(|order| order.depth),
            sites,
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
            sites: SiteChoice::read(form),
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
                if meant == Meant::Account {
                    self.sites = SiteChoice::named([module.id().to_string()]);
                }
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
        let once = if refusal.is_of_form { new_once() } else { self.once };
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

    /// Returns what the query is taken for, if the type is recognized from it.
    pub(super) fn guess(&self) -> Option<&'static str> {
        let is_guessed = self.search_type.is_none() && self.offer.is_none() && !self.query.trim().is_empty();
        is_guessed.then(|| match SearchType::recognized(&self.query) {
            SearchType::Domain => "a domain",
            SearchType::Email => "an email address",
            SearchType::Username => "a username",
        })
    }

    /// Returns whether the search is premium. Only usernames have premium searches.
    pub(super) fn asks_premium(&self, query: &Query) -> bool {
        self.premium && query.search_type() == SearchType::Username
    }

    /// Returns the price of the search in credits for an account with or without premium.
    pub(super) fn price(&self, has_premium: bool) -> u64 {
        let is_of_a_name = self.search_type.is_none_or(|chosen| chosen == SearchType::Username);
        cost(self.premium && has_premium && is_of_a_name)
    }

    /// Returns the name of the chosen type.
    pub(super) fn type_name(&self) -> &'static str {
        self.search_type.map_or("auto", SearchType::as_str)
    }

    /// Returns the choice of modules for the query. Names of sites become ids.
    pub(super) fn choice(&self, query: &Query, catalog: &Catalog) -> Choice {
        let sites = self.sites.choice(query.search_type());
        let choice = Choice { nsfw: self.nsfw, passive: self.passive, ..sites };
        catalog.with_ids(query.search_type(), choice)
    }

    pub(super) fn options(&self) -> RunOptions {
        RunOptions {
            patient: self.patient,
            time_budget: self.time_budget,
            avatars: self.avatars,
            ..RunOptions::default()
        }
    }

    /// Returns how leads are followed with this choice of modules, if they are.
    pub(super) fn follow_order(&self, choice: &Choice) -> Option<Arc<FollowOrder>> {
        let (max_searches, links) = (FollowOrder::DEFAULT_SEARCHES, Class::Stated);
        let order = |depth| FollowOrder { depth, max_searches, links, choice: choice.clone() };
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
            .chain_update(self.sites.fingerprint(query.search_type()))
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
            (None, "auto", "Detect automatically"),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::refusal::Refusal as Why;

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
            "query=octocat&modules=github",
            "query=octocat&exclude_modules=github",
            "query=octocat&category=username/coding",
            "query=Octocat",
        ] {
            assert_ne!(usual, print(other), "{other}");
        }
        let email = print("query=a@example.com");
        assert_eq!(email, print("query=a@example.com&premium=yes"), "premium is for usernames");
        assert_eq!(usual, print("query=octocat&category=email/profile"), "a category of another type");
    }

    #[test]
    fn a_refused_form_keeps_its_token_unless_it_is_used_up() {
        let form = SearchForm::fresh().unwrap();
        let of = |why| Refusal::of(&why);
        for refusal in [Refusal::too_many(5), of(Why::overloaded(5)), of(Why::premium_unavailable())] {
            assert_eq!(form.clone().with(refusal).unwrap().once, form.once);
        }
        for refusal in [of(Why::idempotency_mismatch()), Refusal::form_incomplete()] {
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
