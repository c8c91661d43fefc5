//! What is true about the simulated people, from the file that their pages are made from.

use std::sync::LazyLock;

use serde::Deserialize;

use super::people::Key;
use crate::support::modules::builtin;

/// The number of groups.
pub(super) const GROUPS: usize = 10;

static TRUTH: LazyLock<Truth> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../src/sandbox/people.json")).unwrap());

#[derive(Deserialize)]
struct Truth {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
pub(super) struct Group {
    pub(super) accounts: Vec<Account>,
    #[serde(default)]
    pub(super) mailboxes: Vec<Shared>,
    #[serde(default)]
    pub(super) sites: Vec<Shared>,
}

#[derive(Deserialize)]
pub(super) struct Account {
    pub(super) module: String,
    pub(super) username: String,
    /// The number of the person to whom it belongs.
    pub(super) owner: usize,
    /// The role of an account that is made for others than its owner.
    pub(super) role: Option<Role>,
    /// The number of searches that must follow each other before one finds it.
    #[serde(default)]
    pub(super) depth: usize,
    #[serde(default)]
    pub(super) links: Vec<String>,
    #[serde(default)]
    pub(super) verified: Vec<String>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    Impostor,
    LinkFarm,
}

/// An email address or a site, with the accounts that it leads to.
#[derive(Deserialize)]
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) depth: usize,
}

/// Returns the group with this number, from 1.
pub(super) fn group(number: usize) -> &'static Group {
    &TRUTH.groups[number - 1]
}

impl Group {
    pub(super) fn at(&self, module: &str) -> &Account {
        self.accounts.iter().find(|account| account.module == module).unwrap()
    }
}

impl Account {
    /// Returns the account as answers name it.
    pub(super) fn key(&self) -> Key {
        (builtin().get(&self.module).unwrap().platform().to_owned(), self.username.clone())
    }
}
