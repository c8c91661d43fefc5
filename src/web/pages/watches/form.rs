//! The form of a new watch.

use sha2::{Digest, Sha256};

use crate::account::service::Caller;
use crate::base::ids::{WatchId, WebhookId};
use crate::model::search::Search;
use crate::model::start::Idempotency;
use crate::model::watch::{ChangeKind, Interval, NewWatch, WatchError};
use crate::runs::service::{Found, idempotency_valid_since};
use crate::watches::keeper::kinds;
use crate::web::error::WebError;
use crate::web::pages::form_parts::FormOption;
use crate::web::pages::refusal::Refusal;
use crate::web::pages::search_form::SearchForm;
use crate::web::service::Web;
use crate::web::visit::Form;

/// The intervals that can be chosen. Programs can choose any other one.
const INTERVALS: [(&str, &str); 6] = [
    ("1h", "every hour"),
    ("6h", "every 6 hours"),
    ("12h", "every 12 hours"),
    ("1d", "every day"),
    ("7d", "every 7 days"),
    ("30d", "every 30 days"),
];
const USUAL_INTERVAL: &str = "1d";

/// The fields of the form.
#[derive(Debug, Clone)]
pub(super) struct WatchForm {
    /// The search that is repeated, and the refusal.
    pub(super) search: SearchForm,
    every: String,
    kinds: Vec<String>,
    webhook: String,
}

impl WatchForm {
    /// Returns a form that watches this search.
    pub(super) fn of_search(search: SearchForm) -> Self {
        Self {
            search,
            every: USUAL_INTERVAL.to_owned(),
            kinds: ChangeKind::ALL.map(|kind| kind.as_str().to_owned()).into(),
            webhook: String::new(),
        }
    }

    /// Returns a form that watches the search of a run, with its choice of sites.
    ///
    /// # Errors
    /// Returns the errors of [`SearchForm::of_run`].
    pub(super) fn of_run(web: &Web, found: &Found) -> Result<Self, WebError> {
        Ok(Self::of_search(SearchForm::of_run(web, found)?))
    }

    /// Reads the form that was sent.
    pub(super) fn read(form: &Form) -> Self {
        let all = |name| form.all(name).map(str::to_owned).collect();
        Self {
            search: SearchForm::read(form),
            every: form.get("every").trim().to_owned(),
            kinds: all("notify_on"),
            webhook: form.get("webhook").to_owned(),
        }
    }

    /// Returns the form with the refusal.
    ///
    /// # Errors
    /// Returns 500 if the system gives no random numbers.
    pub(super) fn with(self, refusal: Refusal) -> Result<Self, WebError> {
        Ok(Self { search: self.search.with(refusal)?, ..self })
    }

    /// Returns the watch that the form asks for. It is checked in the same order as by the API.
    ///
    /// # Errors
    /// Returns what is wrong with the form, or why this search is never made for this account.
    pub(super) fn request(&self, web: &Web, caller: &Caller) -> Result<NewWatch, Refusal> {
        let query = self.search.query().map_err(|error| Refusal::of(&error.into()))?;
        let every = self.every.parse::<Interval>().map_err(|error| {
            wrong(format!("{error}. Allowed: {} to {}.", Interval::SHORTEST, Interval::LONGEST))
        })?;
        let notify_on = kinds(self.kinds.iter().map(String::as_str)).map_err(|error| refused(&error))?;
        let webhook = match self.webhook.as_str() {
            "" => None,
            id => Some(id.parse::<WebhookId>().map_err(|_| refused(&WatchError::UnknownWebhook))?),
        };
        let premium = self.search.asks_premium(&query);
        let choice = self.search.choice(&query, &web.parts.runs.catalog());
        let search = Search { premium, choice, options: self.search.options(), ..Search::plain(&query) };
        web.services().check(caller, &query, &search, false).map_err(|why| Refusal::of(&why))?;
        Ok(NewWatch {
            id: WatchId::new(),
            account: caller.account.id,
            search,
            simulated: web.config.sandbox,
            every,
            notify_on,
            webhook,
            idempotency: self.idempotency(web),
        })
    }

    /// Returns the form's token as an idempotency key, or `None` if the form has none.
    fn idempotency(&self, web: &Web) -> Option<Idempotency> {
        let (key, query) = (self.search.once()?, self.search.query().ok()?);
        let hash = Sha256::new()
            .chain_update(self.search.fingerprint(&query))
            .chain_update(format!("{:?}", (&self.every, &self.kinds, &self.webhook)));
        let valid_since = idempotency_valid_since(web.parts.clock.now());
        Some(Idempotency { key, body_hash: hash.finalize().into(), valid_since })
    }

    /// Returns the intervals that can be chosen.
    pub(super) fn intervals(&self) -> Vec<FormOption> {
        INTERVALS.map(|(value, label)| FormOption::new(value, label, self.every == value)).into()
    }

    /// Returns the kinds of changes that can be chosen.
    pub(super) fn notify_on(&self) -> Vec<FormOption> {
        let chosen = |kind: ChangeKind| self.kinds.iter().any(|name| name == kind.as_str());
        ChangeKind::ALL.map(|kind| FormOption::new(kind.as_str(), kind.as_str(), chosen(kind))).into()
    }

    /// Returns whether this webhook is chosen.
    pub(super) fn sends_to(&self, webhook: WebhookId) -> bool {
        self.webhook == webhook.to_string()
    }
}

/// Returns the refusal for a watch that cannot be created. The store must not have failed.
pub(super) fn refused(error: &WatchError) -> Refusal {
    match error {
        WatchError::UnknownWebhook => {
            wrong(format!("{error}: a webhook of this account is allowed, or all webhooks"))
        }
        WatchError::Mismatch => {
            let text = "this form has created another watch already; send it again to create this one too";
            Refusal { is_of_form: true, ..wrong(text.to_owned()) }
        }
        _ => wrong(error.to_string()),
    }
}

fn wrong(text: String) -> Refusal {
    Refusal::new(422, "Not created:", text)
}
