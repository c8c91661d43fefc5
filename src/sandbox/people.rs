//! Simulated people: accounts on several sites that name each other, and what their pages say.
//!
//! `people.json` has ten groups of accounts, `person1` to `person10`. They exist on exactly the sites that it lists, in
//! every simulated web. What is true about an account but on no page (its `owner`, its `role`, and the `depth` of
//! searches that find it) serves tests. Addresses and domains end in `example.org`, and links lead only to these and to
//! the addresses of profiles in the catalogue.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::modules::definition::{Entry, METADATA, ResultType};
use crate::modules::query::SearchType;
use crate::modules::tables;

/// The most links that a page shows in a list. Modules read no more; the others are in the bio.
const MOST_LISTED: usize = 10;
/// The module that reads the front page of a domain.
const FRONT_PAGE: &str = "front_page";

static PEOPLE: LazyLock<People> = LazyLock::new(|| tables::read(include_str!("people.json")));

#[derive(Deserialize)]
struct People {
    /// The address of a profile before the username, by the module that looks it up.
    profiles: BTreeMap<String, String>,
    /// The modules that look up email addresses, each with the module of the accounts that it finds.
    mail_modules: BTreeMap<String, String>,
    groups: Vec<Group>,
}

/// A group of people. Each of their accounts is on another site, so its module identifies it.
#[derive(Deserialize)]
struct Group {
    accounts: Vec<Account>,
    /// Email addresses, with the accounts that a search finds.
    #[serde(default)]
    mailboxes: Vec<Shared>,
    /// Their own sites, with the accounts that the front page names.
    #[serde(default)]
    sites: Vec<Shared>,
}

/// An account, with what its page says.
#[derive(Deserialize)]
struct Account {
    module: String,
    username: String,
    name: Option<String>,
    bio: String,
    city: String,
    picture: String,
    #[serde(default)]
    links: Vec<String>,
    /// Links that the platform has checked.
    #[serde(default)]
    verified: Vec<String>,
    #[serde(default)]
    emails: Vec<String>,
    #[serde(default)]
    sites: Vec<String>,
    /// The number of strangers to whom it links.
    #[serde(default)]
    strangers: u32,
}

#[derive(Deserialize)]
struct Shared {
    name: String,
    accounts: Vec<String>,
}

/// An account that a page names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// The address of its profile.
    pub(super) address: String,
    /// The id of its module.
    pub(super) module: String,
    pub(super) username: String,
}

/// What the answer to a module's query says about people.
#[derive(Debug, Clone, Default)]
pub(super) struct PeoplePage {
    metadata: BTreeMap<&'static str, Vec<String>>,
    /// The account itself; `None` for the front page of a site.
    own: Option<Named>,
    /// The accounts of which the page has a list.
    listed: Vec<Named>,
}

/// Returns whether there is an account of that name on the module's site. Returns `None` for a name of no group.
pub(super) fn exists(entry: &Entry, query: &str) -> Option<bool> {
    group(entry.search_type, query).map(|_| PeoplePage::of(entry, query).is_some())
}

fn group(search_type: SearchType, query: &str) -> Option<&'static Group> {
    let is = |name: &String| name.eq_ignore_ascii_case(query);
    PEOPLE.groups.iter().find(|group| match search_type {
        SearchType::Username => group.accounts.iter().any(|account| is(&account.username)),
        SearchType::Email => group.mailboxes.iter().any(|mailbox| is(&mailbox.name)),
        SearchType::Domain => group.sites.iter().any(|site| is(&site.name)),
    })
}

impl Group {
    /// Returns the account at the module.
    fn at(&self, module: &str) -> Option<&Account> {
        self.accounts.iter().find(|account| account.module == module)
    }

    fn named(&self, modules: &[String]) -> Vec<Named> {
        modules.iter().filter_map(|module| self.at(module)).map(Account::named).collect()
    }
}

impl Account {
    fn named(&self) -> Named {
        let profile = PEOPLE.profiles.get(&self.module).map_or("", String::as_str);
        let address = format!("{profile}{}", self.username);
        Named { address, module: self.module.clone(), username: self.username.clone() }
    }
}

impl PeoplePage {
    /// Returns what the module's answer says, or `None` if the query, in its normal form, is the name of no group or
    /// there is no account of that name.
    pub(super) fn of(entry: &Entry, query: &str) -> Option<Self> {
        let group = group(entry.search_type, query)?;
        let is = |name: &str| name.eq_ignore_ascii_case(query);
        Some(match entry.search_type {
            SearchType::Username => {
                let account = group.at(&entry.id).filter(|account| is(&account.username))?;
                Self::of_account(group, account, entry)
            }
            SearchType::Email => {
                let module = PEOPLE.mail_modules.get(&entry.id)?;
                let mailbox = group.mailboxes.iter().find(|mailbox| is(&mailbox.name))?;
                let account = group.at(module).filter(|_| mailbox.accounts.contains(module))?;
                let mut page = Self::of_account(group, account, entry);
                // A module that lists the accounts of an address finds this one.
                if page.listed.is_empty() {
                    page.listed.push(account.named());
                }
                page
            }
            SearchType::Domain => {
                let site = group.sites.iter().find(|site| is(&site.name) && entry.id == FRONT_PAGE)?;
                let metadata = [("bio", vec![format!("The site {}", site.name)])].into();
                Self { metadata, own: None, listed: group.named(&site.accounts) }
            }
        })
    }

    fn of_account(group: &Group, account: &Account, entry: &Entry) -> Self {
        let reads = |name: &str| entry.result.as_ref().is_some_and(|main| main.metadata.contains_key(name));
        let lists = entry.results.iter().any(|list| list.result_type == ResultType::Account);
        let addresses =
            |modules: &[String]| group.named(modules).into_iter().map(|it| it.address).collect::<Vec<_>>();
        let sites: Vec<String> = account.sites.iter().map(|site| format!("https://{site}/")).collect();
        let (own, verified) = (account.named(), addresses(&account.verified));
        // What the module does not read from its own field is in the bio.
        let mut links = addresses(&account.links);
        links.extend((0..account.strangers).map(|number| format!("https://codeberg.org/nobody{number}")));
        links.extend(verified.iter().filter(|_| !lists && !reads("verified_links")).cloned());
        links.extend(sites.iter().filter(|_| !reads("website")).cloned());
        let in_bio =
            if reads("links") { links.split_off(links.len().min(MOST_LISTED)) } else { links.split_off(0) };
        let emails = account.emails.iter().filter(|_| !reads("email") && !reads("emails")).cloned();
        let bio: Vec<String> =
            [format!("{}.", account.bio)].into_iter().chain(in_bio).chain(emails).collect();
        let word = |at: usize| {
            let words = account.name.iter().filter_map(|name| name.split(' ').nth(at));
            words.map(str::to_owned).collect()
        };
        let bio = vec![bio.join("\n")];
        let name: Vec<String> = account.name.iter().cloned().collect();
        let metadata = [
            ("value", vec![own.address.clone()]),
            ("username", vec![own.username.clone()]),
            ("first_name", word(0)),
            ("last_name", word(1)),
            ("display_name", name.clone()),
            ("real_name", name.clone()),
            ("full_name", name),
            ("description", bio.clone()),
            ("bio", bio),
            ("location", vec![account.city.clone()]),
            ("city", vec![account.city.clone()]),
            ("avatar_url", vec![account.picture.clone()]),
            ("links", links),
            ("verified_links", verified),
            ("website", sites.into_iter().take(1).collect()),
            ("email", account.emails.iter().take(1).cloned().collect()),
            ("emails", account.emails.clone()),
        ];
        let listed = if lists { group.named(&account.verified) } else { Vec::new() };
        Self { metadata: metadata.into(), own: Some(own), listed }
    }

    /// Returns the values of a member of the metadata, or `None` if people say nothing about it.
    pub(super) fn values(&self, name: &str) -> Option<Vec<Value>> {
        match self.metadata.get(name) {
            Some(texts) => Some(texts.iter().map(|text| json!(text)).collect()),
            None => METADATA.services.contains(&name).then(Vec::new),
        }
    }

    /// Returns the elements of a list of results of that type, or `None` if people say nothing about it.
    pub(super) fn elements(&self, kind: ResultType) -> Option<Vec<Named>> {
        let texts = |name: &str| {
            let texts = self.metadata.get(name).into_iter().flatten();
            let named =
                |text: &String| Named { address: text.clone(), username: text.clone(), ..Named::default() };
            Some(texts.map(named).collect())
        };
        match kind {
            ResultType::Account | ResultType::Profile => Some(self.listed.clone()),
            ResultType::Username => Some(self.own.iter().cloned().collect()),
            ResultType::PersonName => texts("full_name"),
            ResultType::Url => texts("website"),
            ResultType::Email => texts("emails"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;
    use crate::modules::catalog::Catalog;

    #[test]
    fn the_catalogue_knows_each_site() {
        let catalog = Catalog::builtin().unwrap();
        for (module, profile) in &PEOPLE.profiles {
            let url = Url::parse(&format!("{profile}person1")).unwrap();
            let found = catalog.profiles().account_at(&url).unwrap();
            assert_eq!((&**found.module.id(), found.query.normal()), (module.as_str(), "person1"));
            let metadata = &found.module.entry().result.as_ref().unwrap().metadata;
            assert!(metadata.contains_key("bio") && metadata.contains_key("display_name"), "{module}");
        }
        for module in PEOPLE.mail_modules.keys().map(String::as_str).chain([FRONT_PAGE]) {
            assert!(catalog.get(module).is_some(), "{module}");
        }
        let accounts =
            || PEOPLE.groups.iter().flat_map(|group| group.accounts.iter().map(move |it| (group, it)));
        for (group, account) in accounts() {
            assert!(PEOPLE.profiles.contains_key(&account.module));
            for to in account.links.iter().chain(&account.verified) {
                assert!(group.at(to).is_some(), "{} links to {to}", account.module);
            }
        }
    }
}
