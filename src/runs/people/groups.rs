//! [`Groups`]: accounts joined pair by pair, unless something contradicts.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::accounts::{Account, Impossible};
use super::evidence::{Band, Grade, MOST_UNANSWERED, filled};
use super::pairs::{Pair, ordered};
use super::person::{Conflict, ConflictKind};
use crate::runs::record::ResultRef;

/// The most verified profiles of a group whose names are compared.
const MAX_NAMES: usize = 8;

/// Accounts that probably belong together.
#[derive(Debug, Default)]
pub(super) struct Group<'a> {
    /// The accounts, each with its score if there are several.
    pub(super) members: BTreeMap<usize, Option<f64>>,
    /// The pairs that have joined them, which form a tree. The score is lowered if one account names the other without
    /// an answer.
    pub(super) joins: Vec<Pair>,
    /// The accounts to which verified links lead, by platform.
    verified: BTreeMap<&'a str, BTreeSet<usize>>,
}

/// The groups of accounts.
#[derive(Debug)]
pub(super) struct Groups<'a> {
    accounts: &'a [Account],
    /// The group of each account.
    group_of: Vec<usize>,
    pub(super) all: Vec<Group<'a>>,
    /// What contradicts, by account.
    pub(super) conflicts: BTreeMap<usize, BTreeSet<Conflict>>,
}

/// What contradicts that two accounts belong together, with the result that shows it if it is one of neither account.
type Contradiction = (ConflictKind, [usize; 2], Option<ResultRef>);

impl<'a> Groups<'a> {
    /// Joins accounts by pairs: the highest scores first.
    pub(super) fn of(accounts: &'a [Account], pairs: Vec<Pair>, impossible: Impossible) -> Self {
        let mut groups = Self::single(accounts);
        let mut refused: HashSet<([usize; 4], Grade)> = HashSet::new();
        for pair in pairs {
            let [one, other] = pair.accounts.map(|at| groups.group_of[at]);
            let size = |group: usize| groups.all[group].members.len();
            let key = ([one, other, size(one), size(other)], pair.grade);
            // What was refused is refused again until one of the groups grows.
            if one == other || refused.contains(&key) {
                continue;
            }
            match groups.score(&pair) {
                Some(score) => groups.join(one, other, Pair { score, ..pair }),
                None => _ = refused.insert(key),
            }
        }
        for (accounts, naming) in impossible {
            groups.note((ConflictKind::CreatedLater, accounts, Some(naming.at)));
        }
        groups
    }

    /// Returns groups of one account each.
    fn single(accounts: &'a [Account]) -> Self {
        let group = |at| Group { members: BTreeMap::from([(at, None)]), ..Group::default() };
        let mut all: Vec<Group<'a>> = (0..accounts.len()).map(group).collect();
        for (from, account) in accounts.iter().enumerate() {
            let mut by_platform: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
            for (to, _) in account.named.iter().filter(|(_, naming)| !naming.is_stated) {
                if let Some(platform) = accounts[*to].entity.platform.as_deref() {
                    by_platform.entry(platform).or_default().insert(*to);
                }
            }
            for (platform, targets) in by_platform {
                for at in targets.iter().chain([&from]) {
                    all[*at].verified.entry(platform).or_default().extend(&targets);
                }
            }
        }
        Self { accounts, group_of: (0..accounts.len()).collect(), all, conflicts: BTreeMap::new() }
    }

    /// Returns the score with which a pair joins its groups, or `None` if something contradicts.
    fn score(&mut self, pair: &Pair) -> Option<f64> {
        let [one, other] = pair.accounts.map(|at| &self.all[self.group_of[at]]);
        if let Some(contradiction) =
            self.verified_elsewhere(one, other).or_else(|| self.other_name(one, other))
        {
            self.note(contradiction);
            // The owner of the runs, who has looked at the accounts, knows more.
            return (pair.grade == Grade::Verdict).then_some(pair.score);
        }
        if pair.grade <= Grade::Proof {
            return Some(pair.score);
        }
        let unanswered = self.no_link_back(one, other).or_else(|| self.no_link_back(other, one));
        let Some(contradiction) = unanswered else { return Some(pair.score) };
        self.note(contradiction);
        let score = pair.score.min(MOST_UNANSWERED);
        (pair.grade == Grade::Claim && Band::of(score).is_some()).then_some(score)
    }

    /// Returns two accounts of one platform to which verified links of the two groups lead.
    fn verified_elsewhere(&self, one: &Group<'_>, other: &Group<'_>) -> Option<Contradiction> {
        let accounts = one.verified.iter().find_map(|(platform, targets)| {
            let others = other.verified.get(platform).filter(|others| targets.is_disjoint(others))?;
            Some([*targets.first()?, *others.first()?])
        })?;
        Some((ConflictKind::VerifiedElsewhere, ordered(accounts), None))
    }

    /// Returns two verified profiles of the groups with names that contradict each other.
    fn other_name(&self, one: &Group<'_>, other: &Group<'_>) -> Option<Contradiction> {
        let is_named =
            |at: &usize| self.accounts[*at].is_verified && !self.accounts[*at].full_names.is_empty();
        let named = |group: &Group<'_>| -> Vec<usize> {
            group.members.keys().copied().filter(is_named).take(MAX_NAMES).collect()
        };
        let others = named(other);
        let accounts = named(one).into_iter().find_map(|at| {
            let is_other = |it: &&usize| self.accounts[at].has_other_name(&self.accounts[**it]);
            Some([at, *others.iter().find(is_other)?])
        })?;
        Some((ConflictKind::OtherName, ordered(accounts), None))
    }

    /// Returns a link from one group to the other that has no link back, though the other group links to accounts or has
    /// several: then one of the first could be expected among them.
    fn no_link_back(&self, from: &Group<'_>, to: &Group<'_>) -> Option<Contradiction> {
        let named = |group: &'_ Group<'_>| {
            let members: Vec<usize> = group.members.keys().copied().collect();
            members.into_iter().flat_map(|from| self.accounts[from].named.iter().map(move |it| (from, it)))
        };
        let (one, (other, naming)) = named(from).find(|(_, (at, _))| to.members.contains_key(*at))?;
        let is_known = to.members.len() > 1 || named(to).next().is_some();
        let answers = named(to).any(|(_, (at, _))| from.members.contains_key(at));
        (is_known && !answers).then_some((ConflictKind::NoLinkBack, [one, *other], Some(naming.at)))
    }

    fn note(&mut self, (kind, accounts, at): Contradiction) {
        let [one, other] = accounts.map(|at| &self.accounts[at]);
        let first = at.or_else(|| one.results.first().copied());
        let mut results: Vec<ResultRef> = first.into_iter().chain(other.results.first().copied()).collect();
        results.dedup();
        let text = filled(kind.sentence(), &one.label(), &other.label(), "");
        let conflict = Conflict { kind, accounts: [one.entity.id, other.entity.id], results, text };
        for at in accounts {
            self.conflicts.entry(at).or_default().insert(conflict.clone());
        }
    }

    /// Joins two groups. The accounts of the smaller one are at most as sure as what joins it to the other.
    fn join(&mut self, one: usize, other: usize, join: Pair) {
        let (kept, gone) = (one.min(other), one.max(other));
        let mut gone = std::mem::take(&mut self.all[gone]);
        gone.members.keys().for_each(|at| self.group_of[*at] = kept);
        let group = &mut self.all[kept];
        let is_smaller = gone.members.len() <= group.members.len();
        let smaller = if is_smaller { &mut gone.members } else { &mut group.members };
        smaller.values_mut().for_each(|score| *score = Some(score.unwrap_or(1.0).min(join.score)));
        group.members.append(&mut gone.members);
        group.members.values_mut().for_each(|score| *score = score.or(Some(join.score)));
        group.joins.extend(gone.joins);
        group.joins.push(join);
        for (platform, targets) in gone.verified {
            group.verified.entry(platform).or_default().extend(targets);
        }
    }
}
