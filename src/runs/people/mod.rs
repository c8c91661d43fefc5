//! People: the accounts of runs, grouped by who they probably belong to.
//!
//! Evidence joins accounts two by two, the strongest first, as far as nothing contradicts. Neither the same username
//! nor the same location is evidence.
//!
//! | file | holds |
//! |---|---|
//! | [`person`] | the people as they are shown |
//! | [`evidence`] | the kinds of evidence and their weights |
//! | `account` | what the results say about one account |
//! | `accounts` | the accounts, collected from results and links |
//! | `words` | full names and sentences, as they are compared |
//! | `shared` | the signs that several accounts have |
//! | `pairs` | two accounts, and what joins them |
//! | `groups` | accounts joined pair by pair, and what keeps them apart |

mod account;
mod accounts;
pub mod evidence;
mod groups;
mod pairs;
pub mod person;
mod shared;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::profile_index::ProfileIndex;
use crate::runs::record::{Findings, ResultRef};
use account::{Account, Sign};
use accounts::Accounts;
use evidence::{Band, EvidenceKind};
use groups::{Contradiction, Group, Groups};
use pairs::{Reason, pairs};
use person::{Conflict, ConflictKind, Evidence, People, Person, PersonAccount, Unattributed};
use shared::is_team;

/// Returns the people to whom the accounts in the results of runs probably belong.
pub fn people(runs: &[Findings<'_>], profiles: &ProfileIndex) -> People {
    let accounts = Accounts::of(runs, profiles);
    let pairs = pairs(&accounts.all);
    let groups = Groups::of(&accounts, &pairs);
    let view = View { accounts: &accounts.all, conflicts: conflicts(&groups, &accounts.all) };
    let mut people: Vec<Person> = groups.all.iter().filter_map(|group| view.person(group)).collect();
    people.sort_by(|one, other| {
        let by_size = other.accounts.len().cmp(&one.accounts.len());
        other.score.total_cmp(&one.score).then(by_size).then_with(|| one.id.cmp(&other.id))
    });
    let alone = groups.all.iter().filter(|group| group.members.len() == 1);
    let unattributed = alone.filter_map(|group| view.unattributed(*group.members.first()?)).collect();
    People { people, unattributed }
}

/// What the answer is made of.
struct View<'a> {
    accounts: &'a [Account],
    /// The conflicts of each account.
    conflicts: BTreeMap<usize, BTreeSet<Conflict>>,
}

impl View<'_> {
    /// Returns the person of a group, or `None` if it is only one account.
    fn person(&self, group: &Group<'_, '_>) -> Option<Person> {
        let weakest = group.joins.iter().map(|join| join.score).min_by(f64::total_cmp)?;
        let members = || group.members.iter().map(|at| &self.accounts[*at]);
        let names: BTreeSet<&String> = members().flat_map(|account| &account.names).collect();
        let reasons = group.joins.iter().flat_map(|join| &join.pair.reasons);
        let scores = scores(group);
        let account = |at: &usize| self.person_account(*at, *scores.get(at)?);
        let conflicts: BTreeSet<&Conflict> =
            group.members.iter().filter_map(|at| self.conflicts.get(at)).flatten().collect();
        let mut evidence: Vec<Evidence> = reasons.map(|reason| self.evidence(reason)).collect();
        evidence.sort_by(|one, other| {
            other
                .weight
                .total_cmp(&one.weight)
                .then_with(|| (one.kind, one.accounts).cmp(&(other.kind, other.accounts)))
        });
        Some(Person {
            id: members().next()?.entity.id,
            score: weakest,
            band: Band::of(weakest)?,
            names: names.into_iter().cloned().collect(),
            accounts: group.members.iter().filter_map(account).collect(),
            emails: emails(members()),
            evidence,
            conflicts: conflicts.into_iter().cloned().collect(),
        })
    }

    fn person_account(&self, at: usize, score: f64) -> Option<PersonAccount> {
        let account = &self.accounts[at];
        Some(PersonAccount {
            id: account.entity.id,
            platform: account.entity.platform.clone(),
            value: account.entity.value.clone(),
            display_name: account.display_name().cloned(),
            confidence: account.confidence,
            score,
            band: Band::of(score)?,
            results: account.results.iter().copied().collect(),
        })
    }

    /// Returns an account that belongs to no group, or `None` if no result is about it.
    fn unattributed(&self, at: usize) -> Option<Unattributed> {
        let account = &self.accounts[at];
        (!account.results.is_empty()).then(|| Unattributed {
            id: account.entity.id,
            platform: account.entity.platform.clone(),
            value: account.entity.value.clone(),
            display_name: account.display_name().cloned(),
            confidence: account.confidence,
            results: account.results.iter().copied().collect(),
            conflicts: self.conflicts.get(&at).into_iter().flatten().cloned().collect(),
        })
    }

    fn evidence(&self, reason: &Reason<'_>) -> Evidence {
        let [one, other] = reason.accounts.map(|at| &self.accounts[at]);
        let mut results: Vec<ResultRef> = reason.at.into_iter().flatten().collect();
        results.dedup();
        Evidence {
            kind: reason.kind,
            weight: reason.kind.weight(),
            accounts: [one.entity.id, other.entity.id],
            results,
            text: sentence(reason.kind, &one.label(), &other.label(), reason.sign),
        }
    }
}

/// Returns the score of each account of a group: that of the weakest join between it and the account with the strongest
/// joins.
fn scores(group: &Group<'_, '_>) -> BTreeMap<usize, f64> {
    let mut joins: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for join in &group.joins {
        let [one, other] = join.pair.accounts;
        joins.entry(one).or_default().push((other, join.score));
        joins.entry(other).or_default().push((one, join.score));
    }
    let strength = |at: &usize| joins[at].iter().map(|(_, score)| score).sum::<f64>();
    // The first of several that are equal.
    let center = joins.keys().rev().max_by(|one, other| strength(one).total_cmp(&strength(other)));
    let best = |at: &usize| joins[at].iter().map(|(_, score)| *score).fold(0.0, f64::max);
    let mut scores: BTreeMap<usize, f64> = center.map(|at| (*at, best(at))).into_iter().collect();
    let mut left: Vec<usize> = center.copied().into_iter().collect();
    while let Some(at) = left.pop() {
        for (other, score) in &joins[&at] {
            if !scores.contains_key(other) {
                scores.insert(*other, score.min(scores[&at]));
                left.push(*other);
            }
        }
    }
    scores
}

fn emails<'a>(members: impl Iterator<Item = &'a Account>) -> Vec<String> {
    let signs: BTreeSet<&Sign> = members.flat_map(|account| account.signs.keys()).collect();
    let own = signs.into_iter().filter(|sign| !is_team(sign));
    let address = |sign: &Sign| match sign {
        Sign::Email(address) => Some(address.clone()),
        _ => None,
    };
    own.filter_map(address).collect()
}

fn conflicts(groups: &Groups<'_, '_>, accounts: &[Account]) -> BTreeMap<usize, BTreeSet<Conflict>> {
    let mut conflicts: BTreeMap<usize, BTreeSet<Conflict>> = BTreeMap::new();
    for contradiction in &groups.contradictions {
        let conflict = conflict(contradiction, accounts);
        for at in contradiction.accounts {
            conflicts.entry(at).or_default().insert(conflict.clone());
        }
    }
    conflicts
}

fn conflict(contradiction: &Contradiction, accounts: &[Account]) -> Conflict {
    let [one, other] = contradiction.accounts.map(|at| &accounts[at]);
    let (label, other_label) = (one.label(), other.label());
    let text = match contradiction.kind {
        ConflictKind::VerifiedElsewhere => {
            format!("verified links of different sources lead to {label} and {other_label}")
        }
        ConflictKind::OtherName => {
            format!("{label} and {other_label} are verified profiles with different names")
        }
        ConflictKind::CreatedLater => {
            format!(
                "{label} was last used before {other_label} was created, so its link is to an earlier account"
            )
        }
        ConflictKind::NoLinkBack => {
            format!("{label} names {other_label}, but no account of that person names it")
        }
    };
    let first = contradiction.at.or_else(|| one.results.first().copied());
    let mut results: Vec<ResultRef> = first.into_iter().chain(other.results.first().copied()).collect();
    results.dedup();
    Conflict { kind: contradiction.kind, accounts: [one.entity.id, other.entity.id], results, text }
}

/// Returns evidence as a sentence.
fn sentence(kind: EvidenceKind, one: &str, other: &str, sign: Option<&Sign>) -> String {
    let shared = match sign {
        Some(Sign::Email(address)) => format!("the email address {address}"),
        Some(Sign::EmailHash(_)) => "the same hash of an email address".to_owned(),
        Some(Sign::Site(domain)) => format!("the site {domain}"),
        Some(Sign::Key(_)) => "the same public key".to_owned(),
        Some(Sign::Picture(_)) => "the same profile picture".to_owned(),
        Some(Sign::Likeness(_)) => "nearly the same profile picture".to_owned(),
        Some(Sign::Bio(text)) => format!("the sentence \"{text}\" in the bio"),
        None => "a page of links".to_owned(),
    };
    match kind {
        EvidenceKind::VerifiedLink => format!("{one} has a verified link to {other}"),
        EvidenceKind::MutualLink => format!("{one} and {other} name each other"),
        EvidenceKind::LinkCircle => {
            format!("{one} names {other}, from which links lead back over other accounts")
        }
        EvidenceKind::StatedLink => format!("{one} names {other}, which does not name it"),
        EvidenceKind::SameEmail => format!("{one} and {other} both have {shared}"),
        EvidenceKind::StatedEmail | EvidenceKind::SameSite => {
            format!("{one} and {other} both state {shared}")
        }
        EvidenceKind::VerifiedSite => format!("{one} and {other} both have a verified link to {shared}"),
        EvidenceKind::SameKey
        | EvidenceKind::SamePicture
        | EvidenceKind::SameBio
        | EvidenceKind::SimilarPicture => format!("{one} and {other} both have {shared}"),
        EvidenceKind::SameName => format!("{one} and {other} show the same full name"),
        EvidenceKind::SharedByMany => format!("{one} and {other} have {shared}, which many share"),
        EvidenceKind::OtherName => format!("{one} and {other} show different full names"),
    }
}
