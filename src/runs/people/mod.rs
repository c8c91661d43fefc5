//! People: the accounts of runs, grouped by who they probably belong to.
//!
//! Evidence joins accounts two by two, the strongest first, as far as nothing contradicts. Neither the same username
//! nor the same location is evidence.
//!
//! | file | holds |
//! |---|---|
//! | [`person`] | the people as they are shown |
//! | [`evidence`] | the kinds of evidence and their weights |
//! | `accounts` | what the results and links say about each account |
//! | `words` | full names and sentences, as they are compared |
//! | `pairs` | two accounts, and what joins them |
//! | `groups` | accounts joined pair by pair, and what keeps them apart |

mod accounts;
pub mod evidence;
mod groups;
mod pairs;
pub mod person;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use crate::modules::profile_index::ProfileIndex;
use crate::runs::record::Findings;
use accounts::{Account, Sign, accounts, take_impossible};
use evidence::Band;
use groups::{Group, Groups};
use pairs::{is_team, pairs};
use person::{Evidence, People, Person, PersonAccount, Unattributed};

/// Returns the people to whom the accounts in the results of runs probably belong.
pub fn people(runs: &[Findings<'_>], profiles: &ProfileIndex) -> People {
    let mut accounts = accounts(runs, profiles);
    let impossible = take_impossible(&mut accounts);
    let groups = Groups::of(&accounts, pairs(&accounts), &impossible);
    let mut people: Vec<Person> =
        groups.all.iter().filter_map(|group| person(group, &groups, &accounts)).collect();
    people.sort_by(|one, other| {
        let by_size = other.accounts.len().cmp(&one.accounts.len());
        other.score.total_cmp(&one.score).then(by_size).then_with(|| one.id.cmp(&other.id))
    });
    let alone = groups.all.iter().filter(|group| group.members.len() == 1).flat_map(|group| &group.members);
    // What is only named is shown where something joins it.
    let alone = alone.filter(|at| !accounts[**at].results.is_empty());
    let unattributed = alone.map(|at| Unattributed {
        id: accounts[*at].entity.id,
        platform: accounts[*at].entity.platform.clone(),
        value: accounts[*at].entity.value.clone(),
        display_name: accounts[*at].names.first().cloned(),
        confidence: accounts[*at].confidence,
        results: accounts[*at].results.iter().copied().collect(),
        conflicts: groups.conflicts.get(at).into_iter().flatten().cloned().collect(),
    });
    People { unattributed: unattributed.collect(), people }
}

/// Returns the person of a group, or `None` if it is only one account.
fn person(group: &Group<'_>, groups: &Groups<'_>, accounts: &[Account]) -> Option<Person> {
    let score = group.joins.iter().map(|join| join.score).min_by(f64::total_cmp)?;
    let members = || group.members.iter().map(|at| &accounts[*at]);
    let names: BTreeSet<&String> = members().flat_map(|account| &account.names).collect();
    let signs: BTreeSet<&Sign> = members().flat_map(|account| account.signs.keys()).collect();
    let own = signs.into_iter().filter(|sign| !is_team(sign));
    let emails = own.filter_map(|sign| if let Sign::Email(address) = sign { Some(address) } else { None });
    let conflicts: BTreeSet<_> =
        group.members.iter().filter_map(|at| groups.conflicts.get(at)).flatten().collect();
    let mut evidence: Vec<Evidence> = group.joins.iter().flat_map(|join| &join.evidence).cloned().collect();
    evidence.sort_by(|one, other| {
        let by_weight = other.weight.total_cmp(&one.weight);
        by_weight.then_with(|| (one.kind, one.accounts).cmp(&(other.kind, other.accounts)))
    });
    let scores = scores(group);
    let account = |at: &usize| {
        let (account, score) = (&accounts[*at], *scores.get(at)?);
        Some(PersonAccount {
            id: account.entity.id,
            platform: account.entity.platform.clone(),
            value: account.entity.value.clone(),
            display_name: account.names.first().cloned(),
            confidence: account.confidence,
            score,
            band: Band::of(score)?,
            results: account.results.iter().copied().collect(),
        })
    };
    Some(Person {
        id: members().next()?.entity.id,
        score,
        band: Band::of(score)?,
        names: names.into_iter().cloned().collect(),
        accounts: group.members.iter().filter_map(account).collect(),
        emails: emails.cloned().collect(),
        evidence,
        conflicts: conflicts.into_iter().cloned().collect(),
    })
}

/// Returns the score of each account of a group: that of the weakest join between it and the account with the strongest
/// joins.
fn scores(group: &Group<'_>) -> BTreeMap<usize, f64> {
    let mut joins: BTreeMap<usize, Vec<(usize, f64)>> = BTreeMap::new();
    for join in &group.joins {
        let [one, other] = join.accounts;
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
