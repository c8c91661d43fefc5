//! People: the accounts of runs, grouped by who they probably belong to.
//!
//! Evidence joins accounts two by two, the strongest first, unless something contradicts. Neither the same username
//! nor the same location is evidence.
//!
//! | file | holds |
//! |---|---|
//! | [`person`] | the people as they are shown |
//! | [`evidence`] | the kinds of evidence and their weights |
//! | `accounts` | what the results and links say about each account, with names and sentences as they are compared |
//! | `pairs` | two accounts, and what joins them |
//! | `groups` | accounts joined pair by pair, and what keeps them apart |

mod accounts;
pub mod evidence;
mod groups;
mod pairs;
pub mod person;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::modules::profile_index::ProfileIndex;
use crate::runs::record::Findings;
use accounts::{Account, Sign, accounts};
use evidence::Band;
use groups::{Group, Groups};
use pairs::{is_team, pairs};
use person::{Conflict, Evidence, People, Person, PersonAccount};

/// Returns the people to whom the accounts in the results of runs probably belong.
pub fn people(runs: &[Findings<'_>], profiles: &ProfileIndex) -> People {
    let (accounts, impossible) = accounts(runs, profiles);
    let groups = Groups::of(&accounts, pairs(&accounts), impossible);
    let mut found = People::default();
    for group in &groups.all {
        let shown = group.members.iter().map(|(at, score)| account(*at, *score, &groups, &accounts));
        match person(group, &accounts, shown.clone().collect()) {
            Some(person) => found.people.push(person),
            // What is only named is shown where something joins it.
            None => found.unattributed.extend(shown.filter(|account| !account.results.is_empty())),
        }
    }
    found.people.sort_by(|one, other| {
        let by_size = other.accounts.len().cmp(&one.accounts.len());
        other.score.total_cmp(&one.score).then(by_size).then_with(|| one.id.cmp(&other.id))
    });
    found
}

fn account(at: usize, score: Option<f64>, groups: &Groups<'_>, accounts: &[Account]) -> PersonAccount {
    let Account { entity, names, confidence, results, .. } = &accounts[at];
    PersonAccount {
        id: entity.id,
        platform: entity.platform.clone(),
        value: entity.value.clone(),
        display_name: names.first().cloned(),
        confidence: *confidence,
        score,
        band: score.and_then(Band::of),
        results: results.iter().copied().collect(),
        conflicts: groups.conflicts.get(&at).into_iter().flatten().cloned().collect(),
    }
}

/// Returns the person of a group, or `None` if it is only one account.
fn person(group: &Group<'_>, accounts: &[Account], shown: Vec<PersonAccount>) -> Option<Person> {
    let score = group.joins.iter().map(|join| join.score).min_by(f64::total_cmp)?;
    let members = || group.members.keys().map(|at| &accounts[*at]);
    let names: BTreeSet<&String> = members().flat_map(|account| &account.names).collect();
    let signs = members().flat_map(|account| account.signs.keys()).filter(|sign| !is_team(sign));
    let emails: BTreeSet<&String> =
        signs.filter_map(|sign| if let Sign::Email(address) = sign { Some(address) } else { None }).collect();
    let conflicts: BTreeSet<&Conflict> = shown.iter().flat_map(|account| &account.conflicts).collect();
    let mut evidence: Vec<Evidence> = group.joins.iter().flat_map(|join| &join.evidence).cloned().collect();
    evidence.sort_by(|one, other| {
        let by_weight = other.weight.total_cmp(&one.weight);
        by_weight.then_with(|| (one.kind, one.accounts).cmp(&(other.kind, other.accounts)))
    });
    Some(Person {
        id: shown.first()?.id,
        score,
        band: Band::of(score)?,
        names: names.into_iter().cloned().collect(),
        emails: emails.into_iter().cloned().collect(),
        evidence,
        conflicts: conflicts.into_iter().cloned().collect(),
        accounts: shown,
    })
}
