//! [`SeededPage`]: what the page of an account says.

use serde_json::{Value, json};

use super::group::{SeededAccount, SeededPeople};
use super::names::{FRONT_PAGE, MAIL_MODULES};
use crate::modules::definition::{Entry, METADATA, ResultType};
use crate::modules::query::SearchType;

/// The most links that a page shows in a list. Modules read no more; the others are in the bio.
const MOST_LISTED: usize = 10;

/// An account that a page names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::sandbox) struct Named {
    /// The address of its profile.
    pub(in crate::sandbox) address: String,
    /// The id of its module.
    pub(in crate::sandbox) module: &'static str,
    pub(in crate::sandbox) username: String,
}

/// What the answer to a module's query says about the people of a group.
#[derive(Debug, Clone)]
pub(in crate::sandbox) struct SeededPage {
    /// The account itself; `None` for the front page of a site.
    own: Option<Named>,
    full_name: Option<String>,
    bio: String,
    city: &'static str,
    picture: String,
    /// Links that the platform has checked.
    verified: Vec<String>,
    /// Other links for which the module reads a list.
    stated: Vec<String>,
    /// The site that the module reads from a field of its own.
    website: Option<String>,
    emails: Vec<String>,
    sites: Vec<String>,
    /// The accounts of which the page has a list.
    listed: Vec<Named>,
}

/// Returns whether there is an account of that name on the module's site. Returns `None` for a name of no group.
pub(in crate::sandbox) fn exists(entry: &Entry, query: &str) -> Option<bool> {
    let people = SeededPeople::of_query(entry.search_type, query)?;
    Some(SeededPage::in_group(&people, entry, query).is_some())
}

impl SeededPage {
    /// Returns what the module's answer says, or `None` if the query, in its normal form, is the name of no group or
    /// there is no account of that name.
    pub(in crate::sandbox) fn of(entry: &Entry, query: &str) -> Option<Self> {
        let people = SeededPeople::of_query(entry.search_type, query)?;
        Self::in_group(&people, entry, query)
    }

    fn in_group(people: &SeededPeople, entry: &Entry, query: &str) -> Option<Self> {
        let is = |own: &str| own.eq_ignore_ascii_case(query);
        match entry.search_type {
            SearchType::Username => {
                let mut of_name = people.accounts.iter().filter(|account| is(&account.username));
                of_name
                    .find(|account| account.module == entry.id)
                    .map(|it| Self::of_account(people, it, entry))
            }
            SearchType::Email => {
                let (_, found) = MAIL_MODULES.iter().find(|(module, _)| *module == entry.id)?;
                let mailbox = people.mailboxes.iter().find(|mailbox| is(&mailbox.address))?;
                let mut accounts = mailbox.accounts.iter().map(|at| &people.accounts[*at]);
                let account = accounts.find(|account| account.module == *found)?;
                let mut page = Self::of_account(people, account, entry);
                // A module that lists the accounts of an address finds this one.
                if page.listed.is_empty() {
                    page.listed = vec![Named::of(account)];
                }
                Some(page)
            }
            SearchType::Domain => {
                let site = people.sites.iter().find(|site| is(&site.domain))?;
                (entry.id == FRONT_PAGE).then(|| Self {
                    own: None,
                    full_name: None,
                    bio: format!("The site {}", site.domain),
                    city: "",
                    picture: String::new(),
                    verified: Vec::new(),
                    stated: Vec::new(),
                    website: None,
                    emails: Vec::new(),
                    sites: Vec::new(),
                    listed: site.accounts.iter().map(|at| Named::of(&people.accounts[*at])).collect(),
                })
            }
        }
    }

    fn of_account(people: &SeededPeople, account: &SeededAccount, entry: &Entry) -> Self {
        let reads = |name: &str| entry.result.as_ref().is_some_and(|main| main.metadata.contains_key(name));
        let lists = entry.results.iter().any(|list| list.result_type == ResultType::Account);
        let named = |wanted: bool| {
            let links = account.links.iter().filter(move |(_, is_verified)| *is_verified == wanted);
            links.map(|(at, _)| Named::of(&people.accounts[*at]))
        };
        let addresses = |wanted| named(wanted).map(|named| named.address);
        let strangers = (0..account.strangers).map(|n| format!("https://codeberg.org/nobody{n}"));
        let mut links: Vec<String> = addresses(false).chain(strangers).collect();
        let can_verify = lists || reads("verified_links");
        links.extend(addresses(true).filter(|_| !can_verify));
        let sites: Vec<String> = account.domains.iter().map(|domain| format!("https://{domain}/")).collect();
        let mut bio = vec![format!("{}.", account.bio)];
        let (mut stated, mut website) = (Vec::new(), None);
        if reads("website") {
            website = sites.first().cloned();
        } else {
            links.extend(sites.iter().cloned());
        }
        if reads("links") {
            let rest = links.split_off(links.len().min(MOST_LISTED));
            stated = std::mem::replace(&mut links, rest);
        }
        bio.extend(links);
        if !reads("email") && !reads("emails") {
            bio.extend(account.emails.iter().cloned());
        }
        Self {
            own: Some(Named::of(account)),
            full_name: account.full_name.clone(),
            bio: bio.join("\n"),
            city: account.city,
            picture: account.picture.clone(),
            verified: if reads("verified_links") { addresses(true).collect() } else { Vec::new() },
            stated,
            website,
            emails: account.emails.clone(),
            sites,
            listed: if lists { named(true).collect() } else { Vec::new() },
        }
    }

    /// Returns the values of a member of the metadata, or `None` if people say nothing about it.
    pub(in crate::sandbox) fn values(&self, name: &str) -> Option<Vec<Value>> {
        let all = |texts: &[String]| Some(texts.iter().map(|text| json!(text)).collect());
        let one = |text: Option<&str>| Some(text.into_iter().map(|text| json!(text)).collect());
        let word = |at: usize| self.full_name.as_ref().and_then(|name| name.split(' ').nth(at));
        match name {
            "value" => self.own.as_ref().map(|own| vec![json!(own.address)]),
            "username" => self.own.as_ref().map(|own| vec![json!(own.username)]),
            "display_name" | "real_name" | "full_name" => one(self.full_name.as_deref()),
            "first_name" => one(word(0)),
            "last_name" => one(word(1)),
            "bio" | "description" => one(Some(&self.bio)),
            "location" | "city" => one(Some(self.city)),
            "avatar_url" => one(Some(&self.picture)),
            "links" => all(&self.stated),
            "verified_links" => all(&self.verified),
            "website" => one(self.website.as_deref()),
            "email" => all(&self.emails[..self.emails.len().min(1)]),
            "emails" => all(&self.emails),
            name if METADATA.services.contains(&name) => Some(Vec::new()),
            _ => None,
        }
    }

    /// Returns the elements of a list of results of that type, or `None` if people say nothing about it.
    pub(in crate::sandbox) fn elements(&self, kind: ResultType) -> Option<Vec<Named>> {
        let named =
            |address: &String| Named { address: address.clone(), module: "", username: address.clone() };
        match kind {
            ResultType::Account | ResultType::Profile => Some(self.listed.clone()),
            ResultType::Username => Some(self.own.iter().cloned().collect()),
            ResultType::PersonName => Some(self.full_name.iter().map(named).collect()),
            ResultType::Url => Some(self.sites.iter().map(named).collect()),
            ResultType::Email => Some(self.emails.iter().map(named).collect()),
            _ => None,
        }
    }
}

impl Named {
    fn of(account: &SeededAccount) -> Self {
        Self { address: account.address(), module: account.module, username: account.username.clone() }
    }
}
