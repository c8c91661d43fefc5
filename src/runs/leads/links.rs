//! [`links`]: what the results of runs point to.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use uuid::Uuid;

use super::lead::LeadReason;
use super::pointer::{Named, Pointer, VALUE, names_itself, pointers};
use crate::base::ids::RunId;
use crate::model::entity::identified::{Entity, web_address};
use crate::model::entity::merge;
use crate::model::follow::Class;
use crate::model::run::ResultRecord;
use crate::modules::profile_index::{NamedAccount, ProfileIndex, is_id};
use crate::modules::query::{Query, SearchType};
use crate::modules::shared_hosts::{SharedHost, shared_host};
use crate::runs::record::Findings;

/// The most links of one run. A run has fewer unless a site shows lists of foreign links.
const MAX_LINKS: usize = 2_000;

/// A link from one entity to another, as a result shows it.
#[derive(Debug, Clone)]
pub struct Link {
    /// The entity that the result is about.
    pub from: Entity,
    /// The entity that it names.
    pub to: Entity,
    /// The module that can look up `to`, for an account.
    pub account: Option<NamedAccount>,
    /// How sure the link is.
    pub class: Class,
    /// Whether the platform itself has checked it.
    pub is_checked: bool,
    /// The member of the metadata, or `value`.
    pub field: String,
    /// The run of the result.
    pub run_id: RunId,
    /// The number of the result in its run.
    pub result_id: u32,
    /// The confidence of the result.
    pub confidence: f64,
    /// The time of the result.
    pub at: Timestamp,
    /// Why `to` is never followed.
    pub barred: Option<LeadReason>,
}

/// The links of runs.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// The links, by the order of their runs and results.
    pub all: Vec<Link>,
    /// How many more there were than are kept of one result and of one run.
    pub omitted: usize,
}

/// Returns the links in all results of the runs. A link whose other end links back is verified.
pub fn links(runs: &[Findings<'_>], profiles: &ProfileIndex) -> Links {
    let mut links = Links::default();
    for run in runs {
        let first = links.all.len();
        let owners = Owners::of(run, profiles);
        for record in run.results {
            let (pointers, more) = pointers(record, &run.query, profiles);
            links.omitted += more;
            for from in owners.of_result(record, &run.query, profiles) {
                let link = |pointer| Link::of(run.run_id, record, &from, pointer, profiles);
                links.all.extend(pointers.iter().filter_map(link));
            }
            // After each result, so that the links of many results are never in memory together.
            links.omitted += (links.all.len() - first).saturating_sub(MAX_LINKS);
            links.all.truncate(first + MAX_LINKS);
        }
    }
    verify_mutual(&mut links.all);
    links
}

/// Marks links between two entities that link to each other as verified.
fn verify_mutual(links: &mut [Link]) {
    let pairs: HashSet<(Uuid, Uuid)> = links.iter().map(|link| (link.from.id, link.to.id)).collect();
    for link in links {
        if pairs.contains(&(link.to.id, link.from.id)) {
            link.class = Class::Verified;
        }
    }
}

/// The entities whose pages list the further results of each module.
pub(in crate::runs) struct Owners {
    query: Entity,
    of_module: HashMap<String, Entity>,
}

impl Owners {
    pub(in crate::runs) fn of(run: &Findings<'_>, profiles: &ProfileIndex) -> Self {
        let mut of_module = HashMap::new();
        for record in run.results.iter().filter(|record| is_found_account(record, &run.query)) {
            let entity = Entity::of_result(record, profiles);
            for source in merge::sources(record) {
                of_module.entry(source.module).or_insert_with(|| entity.clone());
            }
        }
        Self { query: Entity::of_query(&run.query), of_module }
    }

    /// Returns the entities that a result says something about: itself, or the accounts whose pages list it.
    pub(in crate::runs) fn of_result(
        &self,
        record: &ResultRecord,
        query: &Query,
        profiles: &ProfileIndex,
    ) -> Vec<Entity> {
        if !names_itself(record, query) {
            return vec![Entity::of_result(record, profiles)];
        }
        let of_module = |module: &str| self.of_module.get(module).unwrap_or(&self.query).clone();
        let entities: BTreeSet<Entity> =
            merge::sources(record).iter().map(|source| of_module(&source.module)).collect();
        entities.into_iter().collect()
    }
}

/// Returns whether the result is an account for which a module was asked, and not one that is listed there.
pub(in crate::runs) fn is_found_account(record: &ResultRecord, query: &Query) -> bool {
    matches!(record.result_type.as_str(), "account" | "profile") && !names_itself(record, query)
}

impl Link {
    /// Returns whether the result itself is what the link leads to.
    pub(in crate::runs) fn is_listed(&self) -> bool {
        self.field == VALUE
    }

    /// Returns the link that a pointer makes, or `None` if it points to its own source or to nothing.
    fn of(
        run_id: RunId,
        record: &ResultRecord,
        from: &Entity,
        pointer: &Pointer,
        profiles: &ProfileIndex,
    ) -> Option<Self> {
        let Target { entity, account, barred } = Target::of(record, &pointer.named, profiles)?;
        (entity != *from).then(|| Self {
            from: from.clone(),
            to: entity,
            account,
            class: pointer.class,
            is_checked: pointer.class == Class::Verified,
            field: pointer.field.clone(),
            run_id,
            result_id: record.id,
            confidence: record.confidence,
            at: record.created_at,
            barred,
        })
    }
}

/// What a pointer names.
struct Target {
    entity: Entity,
    account: Option<NamedAccount>,
    barred: Option<LeadReason>,
}

impl Target {
    fn of(record: &ResultRecord, named: &Named, profiles: &ProfileIndex) -> Option<Self> {
        match named {
            Named::Link(address) => Self::of_link(address, profiles),
            Named::Handle { service, name } => Self::of_handle(service, name, profiles),
            Named::Email(address) => Some(Self::plain(Entity::email(address))),
            Named::Itself => Self::of_record(record, profiles),
        }
    }

    fn plain(entity: Entity) -> Self {
        Self { entity, account: None, barred: None }
    }

    fn barred(entity: Entity, reason: LeadReason) -> Self {
        Self { entity, account: None, barred: Some(reason) }
    }

    fn of_account(account: NamedAccount) -> Self {
        Self { entity: Entity::named_account(&account), account: Some(account), barred: None }
    }

    fn of_handle(service: &str, name: &str, profiles: &ProfileIndex) -> Option<Self> {
        profiles.account_on(service, name).map(Self::of_account)
    }

    /// Returns the account whose profile has this address, or else the domain of its site. Sites where many people
    /// publish are not domains of anybody.
    fn of_link(address: &str, profiles: &ProfileIndex) -> Option<Self> {
        let url = web_address(address)?;
        if let Some(account) = profiles.account_at(&url) {
            return Some(Self::of_account(account));
        }
        let host = url.host_str()?;
        let page = || Entity::url(address);
        if profiles.is_platform(host) {
            return Some(Self::barred(page(), LeadReason::SharedHost));
        }
        match shared_host(host) {
            Some(SharedHost::Shortener) => Some(Self::barred(page(), LeadReason::Shortener)),
            Some(SharedHost::MailProvider) => Some(Self::barred(page(), LeadReason::MailProvider)),
            Some(SharedHost::Platform) => Some(Self::barred(page(), LeadReason::SharedHost)),
            None => match Query::parse(SearchType::Domain, host) {
                Ok(query) => {
                    let name = query.normal();
                    Some(Self::plain(Entity::domain(name.strip_prefix("www.").unwrap_or(name))))
                }
                Err(_) => Some(Self::barred(page(), LeadReason::Unsupported)),
            },
        }
    }

    fn of_record(record: &ResultRecord, profiles: &ProfileIndex) -> Option<Self> {
        let value = record.value.as_deref()?;
        match record.result_type.as_str() {
            "url" => Self::of_link(value, profiles),
            "account" => Some(Self::of_listed_account(record, value, profiles)),
            "email" => Query::parse(SearchType::Email, value).ok().map(|_| Self::plain(Entity::email(value))),
            "username" => {
                let query = Query::parse(SearchType::Username, value).ok().filter(|it| !is_id(it.normal()));
                query.map(|_| Self::plain(Entity::username(value)))
            }
            _ => None,
        }
    }

    fn of_listed_account(record: &ResultRecord, value: &str, profiles: &ProfileIndex) -> Self {
        let text = |name: &str| record.metadata.get(name).and_then(serde_json::Value::as_str);
        let by_address = web_address(value).and_then(|url| profiles.account_at(&url));
        let by_name = || profiles.account_on(text("service")?, text("username").unwrap_or(value));
        match by_address.or_else(by_name) {
            Some(account) => Self::of_account(account),
            // A site of one's own, such as the one that Keybase has checked.
            None => match web_address(value).and_then(|_| Self::of_link(value, profiles)) {
                Some(target) if target.barred.is_none() => target,
                _ => Self::barred(Entity::of_result(record, profiles), LeadReason::Unsupported),
            },
        }
    }
}
