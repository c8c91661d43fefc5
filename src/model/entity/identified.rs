//! [`Entity`]: what a result or a link is about, with an id that is the same in every run.

use serde::{Deserialize, Serialize};
use url::Url;
use uuid::Uuid;

use super::{EntityKey, canonical, text_of};
use crate::base::encoding::hex;
use crate::base::ids::named_uuid;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::{NamedAccount, ProfileIndex};
use crate::modules::query::{Query, SearchType};

/// The namespace of entity ids (UUID version 5). It never changes.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f1d_3c5e_8b0a_4f27_9c41_5d0e_7a92_b386);

/// An entity. Two of them are the same if their ids are equal: the value may be written in several ways.
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

    /// Returns an entity that its value identifies on every site: an email address, a domain, a username without a
    /// platform, or the address of a page.
    pub fn of(kind: ResultType, value: &str) -> Self {
        let form = canonical::of(kind, value);
        let is_shown = matches!(kind, ResultType::Domain | ResultType::Url);
        Self::new(kind, &form, if is_shown { &form } else { value.trim() }, None)
    }

    /// Returns what a search looks for.
    pub fn of_query(query: &Query) -> Self {
        Self::of(kind_of(query.search_type()), query.normal())
    }

    /// Returns what a result is about. An account that is given by the address of its profile is the same entity as the
    /// one that is given by its name.
    pub fn of_result(record: &ResultRecord, profiles: &ProfileIndex) -> Self {
        use ResultType::{Account, Domain, Email, Profile, Registration, Subdomain, Url, Username};
        let value = record.value.as_deref().unwrap_or_default();
        match ResultType::from_name(&record.result_type) {
            Some(Account | Profile) => Self::of_account(record, value, profiles),
            Some(Domain | Subdomain | Registration) => Self::of(Domain, value),
            Some(kind @ (Email | Username | Url)) => Self::of(kind, value),
            other => Self::new(other.unwrap_or(Url), &hex(&EntityKey::of(record).0), value, None),
        }
    }

    fn of_account(record: &ResultRecord, value: &str, profiles: &ProfileIndex) -> Self {
        let url = web_address(value);
        if let Some(account) = url.as_ref().and_then(|url| profiles.account_at(url)) {
            return Self::named_account(&account);
        }
        // A list of accounts on other platforms names the platform of each.
        let (service, name) = match (text_of(record, "service"), text_of(record, "username"), url) {
            (Some(service), Some(name), _) => (service, name),
            (Some(service), None, None) => (service, value),
            (None, _, None) => return Self::account(record.site(), value),
            (_, _, Some(_)) => return Self::of(ResultType::Url, value),
        };
        match profiles.account_on(service, name) {
            Some(account) => Self::named_account(&account),
            None => Self::account(service, name),
        }
    }

    fn new(kind: ResultType, identity: &str, value: &str, platform: Option<&str>) -> Self {
        let id = named_uuid(&NAMESPACE, format!("{}\0{identity}", kind.as_str()).as_bytes());
        Self { id, kind, value: value.to_owned(), platform: platform.map(str::to_owned) }
    }
}

/// Returns the kind of what searches of a type look for.
pub fn kind_of(search_type: SearchType) -> ResultType {
    match search_type {
        SearchType::Username => ResultType::Username,
        SearchType::Email => ResultType::Email,
        SearchType::Domain => ResultType::Domain,
    }
}

/// Parses the address of a web page. Other schemes could run code or open another program.
pub fn web_address(text: &str) -> Option<Url> {
    let url = Url::parse(text.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}
