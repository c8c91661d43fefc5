//! [`Entity`]: what a result or a link is about, with an id that is the same in every run.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

use super::{EntityKey, canonical, text_of};
use crate::base::encoding::hex;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::{NamedAccount, ProfileIndex};
use crate::modules::query::{Query, SearchType};

/// The namespace of entity ids (UUID version 5). It never changes.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f1d_3c5e_8b0a_4f27_9c41_5d0e_7a92_b386);

/// An entity. Two entities are equal if their ids are.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entity {
    /// Identifies the entity: the same entity has the same id in every search.
    pub id: Uuid,
    /// Kind of entity: one of the types of results, with `account` for profiles and `domain` for subdomains and
    /// registrations.
    pub kind: ResultType,
    /// Primary value, such as a username or an address.
    pub value: String,
    /// Name of the platform of an account; null for other kinds.
    pub platform: Option<String>,
}

impl Entity {
    /// Returns the account of that name on a platform. The case of names is ignored, as by most platforms.
    pub fn account(platform: &str, name: &str) -> Self {
        let name = name.trim();
        let name = name.strip_prefix('@').unwrap_or(name);
        let identity = format!("{}\0{}", canonical::folded(platform), canonical::folded(name));
        Self::new(ResultType::Account, &identity, name, Some(platform))
    }

    /// Returns an account of the catalogue's platforms.
    pub fn named_account(account: &NamedAccount) -> Self {
        Self::account(account.module.platform(), account.query.normal())
    }

    /// Returns an email address.
    pub fn email(address: &str) -> Self {
        Self::new(ResultType::Email, &canonical::email(address), address.trim(), None)
    }

    /// Returns a domain.
    pub fn domain(name: &str) -> Self {
        let host = canonical::host(name);
        Self::new(ResultType::Domain, &host, &host, None)
    }

    /// Returns a username without a platform.
    pub fn username(name: &str) -> Self {
        Self::new(ResultType::Username, &canonical::folded(name), name.trim(), None)
    }

    /// Returns the address of a page.
    pub fn url(address: &str) -> Self {
        let form = canonical::url(address);
        Self::new(ResultType::Url, &form, &form, None)
    }

    /// Returns what a search looks for.
    pub fn of_query(query: &Query) -> Self {
        match query.search_type() {
            SearchType::Username => Self::username(query.normal()),
            SearchType::Email => Self::email(query.normal()),
            SearchType::Domain => Self::domain(query.normal()),
        }
    }

    /// Returns what a result is about. An account that is given by the address of its profile is the same entity as the
    /// one that is given by its name.
    pub fn of_result(record: &ResultRecord, profiles: &ProfileIndex) -> Self {
        let value = record.value.as_deref().unwrap_or_default();
        match ResultType::from_name(&record.result_type) {
            Some(ResultType::Account | ResultType::Profile) => Self::of_account(record, value, profiles),
            Some(ResultType::Email) => Self::email(value),
            Some(ResultType::Domain | ResultType::Subdomain | ResultType::Registration) => {
                Self::domain(value)
            }
            Some(ResultType::Username) => Self::username(value),
            Some(ResultType::Url) => Self::url(value),
            other => {
                let EntityKey(key) = EntityKey::of(record);
                Self::new(other.unwrap_or(ResultType::Url), &hex(&key), value, None)
            }
        }
    }

    fn of_account(record: &ResultRecord, value: &str, profiles: &ProfileIndex) -> Self {
        let url = web_address(value);
        if let Some(account) = url.as_ref().and_then(|url| profiles.account_at(url)) {
            return Self::named_account(&account);
        }
        // A list of accounts on other platforms names the platform of each.
        match (text_of(record, "service"), text_of(record, "username"), url) {
            (Some(service), Some(name), _) => Self::on_service(service, name, profiles),
            (Some(service), None, None) => Self::on_service(service, value, profiles),
            (None, _, None) => Self::account(record.platform.as_deref().unwrap_or(&record.source), value),
            (_, _, Some(_)) => Self::url(value),
        }
    }

    /// Returns the account of that name on a service, which may be one of the catalogue's platforms.
    pub fn on_service(service: &str, name: &str, profiles: &ProfileIndex) -> Self {
        match profiles.account_on(service, name) {
            Some(account) => Self::named_account(&account),
            None => Self::account(service, name),
        }
    }

    fn new(kind: ResultType, identity: &str, value: &str, platform: Option<&str>) -> Self {
        let id = Uuid::new_v5(&NAMESPACE, format!("{}\0{identity}", kind.as_str()).as_bytes());
        Self { id, kind, value: value.to_owned(), platform: platform.map(str::to_owned) }
    }
}

impl PartialEq for Entity {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Entity {}

impl PartialOrd for Entity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entity {
    /// Orders by kind, platform and value, for people.
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.kind.as_str(), it.platform.clone(), it.value.to_lowercase(), it.id);
        key(self).cmp(&key(other))
    }
}

/// Parses the address of a web page. Other schemes could run code or open another program.
pub fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}
