//! [`Shared`]: the signs that several accounts have.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::account::{Account, Sign};
use super::words::contradict;

/// The number of accounts with one sign up to which each is compared with each. The others are compared with one.
const COMPARED_WITH_EACH: usize = 16;
/// The number of usernames with one sign that are too many for one person.
const MANY_USERNAMES: usize = 20;
/// The number of unrelated full names with one sign that are too many for one person.
const MANY_NAMES: usize = 3;

/// Mailboxes that several people read, and those that nobody reads.
const TEAM_MAILBOXES: [&str; 36] = [
    "abuse",
    "accounts",
    "admin",
    "billing",
    "booking",
    "careers",
    "contact",
    "do-not-reply",
    "donotreply",
    "editor",
    "enquiries",
    "feedback",
    "hello",
    "help",
    "helpdesk",
    "hostmaster",
    "hr",
    "info",
    "jobs",
    "kontakt",
    "legal",
    "mail",
    "marketing",
    "media",
    "newsletter",
    "no-reply",
    "noreply",
    "office",
    "postmaster",
    "press",
    "privacy",
    "sales",
    "security",
    "support",
    "team",
    "webmaster",
];

/// The signs that two or more accounts have.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    holders: BTreeMap<&'a Sign, Vec<usize>>,
    crowded: HashSet<&'a Sign>,
}

impl<'a> Shared<'a> {
    pub(super) fn of(accounts: &'a [Account]) -> Self {
        let mut holders: BTreeMap<&Sign, Vec<usize>> = BTreeMap::new();
        for (position, account) in accounts.iter().enumerate() {
            account.signs.keys().for_each(|sign| holders.entry(sign).or_default().push(position));
        }
        holders.retain(|_, holders| holders.len() > 1);
        let is_crowd = |sign: &Sign, holders: &[usize]| {
            is_crowd(holders, accounts) || is_picture(sign) && is_of_strangers(holders, accounts)
        };
        let crowded = holders.iter().filter(|(sign, holders)| is_crowd(sign, holders));
        let crowded = crowded.map(|(sign, _)| *sign).collect();
        Self { holders, crowded }
    }

    /// Returns whether the sign belongs to more people than one. If platforms know both accounts by an address, it does
    /// not matter who else states it.
    pub(super) fn is_crowded(&self, sign: &Sign, is_stated: bool) -> bool {
        let is_address = matches!(sign, Sign::Email(_) | Sign::EmailHash(_));
        is_team(sign) || (is_stated || !is_address) && self.crowded.contains(sign)
    }

    /// Returns the pairs of accounts to compare because of their signs. If many have a sign, each is compared with one
    /// of them, which the platform has checked where there is such a one.
    pub(super) fn pairs(&self, accounts: &[Account]) -> impl Iterator<Item = (usize, usize)> {
        self.holders.iter().flat_map(|(sign, holders)| {
            let is_stated = |at: &&usize| accounts[**at].signs.get(*sign).is_some_and(|held| held.is_stated);
            let is_small = holders.len() <= COMPARED_WITH_EACH && !self.is_crowded(sign, true);
            let center = holders.iter().min_by_key(|at| (is_stated(at), **at));
            let centers: &[usize] = if is_small { holders } else { center.map_or(&[], std::slice::from_ref) };
            let pair = |one: usize, other: usize| (one.min(other), one.max(other));
            centers.iter().flat_map(move |one| {
                holders.iter().filter(move |other| *other != one).map(move |other| pair(*one, *other))
            })
        })
    }
}

fn is_picture(sign: &Sign) -> bool {
    matches!(sign, Sign::Picture(_) | Sign::Likeness(_))
}

/// Returns whether the accounts have too many usernames of which none is part of another: a picture that they share is
/// the one that a platform gives to everybody, or a popular one.
fn is_of_strangers(holders: &[usize], accounts: &[Account]) -> bool {
    let mut unrelated: Vec<String> = Vec::new();
    for name in holders.iter().filter_map(|at| accounts[*at].username()).collect::<BTreeSet<_>>() {
        if unrelated.iter().all(|known| !known.contains(&name) && !name.contains(known)) {
            unrelated.push(name);
        }
    }
    unrelated.len() >= MANY_NAMES
}

pub(super) fn is_team(sign: &Sign) -> bool {
    let Sign::Email(address) = sign else { return false };
    let mailbox = address.split(['@', '+']).next().unwrap_or_default();
    TEAM_MAILBOXES.contains(&mailbox)
}

/// Returns whether the accounts show too many usernames or unrelated names for one person.
fn is_crowd(holders: &[usize], accounts: &[Account]) -> bool {
    let usernames = holders.iter().filter_map(|at| accounts[*at].username());
    if usernames.collect::<BTreeSet<_>>().len() > MANY_USERNAMES {
        return true;
    }
    let mut unrelated: Vec<&String> = Vec::new();
    for name in holders.iter().flat_map(|at| &accounts[*at].full_names).collect::<BTreeSet<_>>() {
        if unrelated.iter().all(|known| contradict(known, name)) {
            unrelated.push(name);
        }
        if unrelated.len() >= MANY_NAMES {
            return true;
        }
    }
    false
}
