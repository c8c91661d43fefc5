//! [`Groups`]: accounts joined pair by pair, as far as nothing contradicts.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::account::Account;
use super::accounts::Accounts;
use super::evidence::{Band, Grade, MOST_UNANSWERED};
use super::pairs::Pair;
use super::person::ConflictKind;
use crate::runs::record::ResultRef;

/// The most verified profiles of a group whose names are compared.
const MAX_NAMES: usize = 8;

/// Two accounts that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Contradiction {
    pub(super) kind: ConflictKind,
    pub(super) accounts: [usize; 2],
    /// The result that shows it, if it is one of neither account.
    pub(super) at: Option<ResultRef>,
}

/// The join of two accounts in a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct Join<'p, 'a> {
    pub(super) pair: &'p Pair<'a>,
    /// The score of the pair, lowered if one account names the other without an answer.
    pub(super) score: f64,
}

/// Accounts that probably belong together. The joins form a tree.
#[derive(Debug, Default)]
pub(super) struct Group<'p, 'a> {
    pub(super) members: Vec<usize>,
    pub(super) joins: Vec<Join<'p, 'a>>,
    /// The verified profiles with full names.
    named: Vec<usize>,
    /// The accounts to which verified links lead, by platform.
    verified: BTreeMap<&'a str, BTreeSet<usize>>,
}

/// The groups of accounts.
#[derive(Debug)]
pub(super) struct Groups<'p, 'a> {
    accounts: &'a [Account],
    /// The group of each account.
    group_of: Vec<usize>,
    pub(super) all: Vec<Group<'p, 'a>>,
    pub(super) contradictions: BTreeSet<Contradiction>,
}

impl<'p, 'a> Groups<'p, 'a> {
    /// Joins accounts by pairs: the highest scores first.
    pub(super) fn of(accounts: &'a Accounts, pairs: &'p [Pair<'a>]) -> Self {
        let mut groups = Self::single(&accounts.all);
        let mut refused: HashSet<([usize; 4], Grade)> = HashSet::new();
        for pair in pairs {
            let [one, other] = pair.accounts.map(|at| groups.group_of[at]);
            let size = |group: usize| groups.all[group].members.len();
            let key = ([one, other, size(one), size(other)], pair.grade);
            // What was refused is refused again until one of the groups grows.
            if one == other || refused.contains(&key) {
                continue;
            }
            match groups.score(pair) {
                Some(score) => groups.join(one, other, Join { pair, score }),
                None => _ = refused.insert(key),
            }
        }
        for link in &accounts.impossible {
            let accounts = [link.from, link.to];
            let at = Some(link.at);
            groups.contradictions.insert(Contradiction { kind: ConflictKind::CreatedLater, accounts, at });
        }
        groups
    }

    /// Returns groups of one account each.
    fn single(accounts: &'a [Account]) -> Self {
        let group = |(at, account): (usize, &'a Account)| {
            let is_named = account.is_verified && !account.full_names.is_empty();
            let named = if is_named { vec![at] } else { Vec::new() };
            Group { members: vec![at], named, ..Group::default() }
        };
        let mut all: Vec<Group<'p, 'a>> = accounts.iter().enumerate().map(group).collect();
        for (at, verified) in verified_links(accounts) {
            all[at].verified = verified;
        }
        let group_of = (0..accounts.len()).collect();
        Self { accounts, group_of, all, contradictions: BTreeSet::new() }
    }

    /// Returns the score with which a pair joins its groups, or `None` if something contradicts.
    fn score(&mut self, pair: &Pair<'_>) -> Option<f64> {
        let [one, other] = pair.accounts.map(|at| &self.all[self.group_of[at]]);
        if let Some(contradiction) =
            self.verified_elsewhere(one, other).or_else(|| self.other_name(one, other))
        {
            self.contradictions.insert(contradiction);
            return None;
        }
        if pair.grade == Grade::Proof {
            return Some(pair.score);
        }
        let unanswered = self.no_link_back(one, other).or_else(|| self.no_link_back(other, one));
        let Some(contradiction) = unanswered else { return Some(pair.score) };
        self.contradictions.insert(contradiction);
        let score = pair.score.min(MOST_UNANSWERED);
        (pair.grade == Grade::Claim && Band::of(score).is_some()).then_some(score)
    }

    /// Returns two accounts of one platform to which verified links of the two groups lead.
    fn verified_elsewhere(&self, one: &Group<'_, '_>, other: &Group<'_, '_>) -> Option<Contradiction> {
        let accounts = one.verified.iter().find_map(|(platform, targets)| {
            let others = other.verified.get(platform).filter(|others| targets.is_disjoint(others))?;
            Some([*targets.first()?, *others.first()?])
        })?;
        Some(Contradiction { kind: ConflictKind::VerifiedElsewhere, accounts: ordered(accounts), at: None })
    }

    /// Returns two verified profiles of the groups with names that contradict each other.
    fn other_name(&self, one: &Group<'_, '_>, other: &Group<'_, '_>) -> Option<Contradiction> {
        let accounts = one.named.iter().find_map(|at| {
            let is_other = |it: &&usize| self.accounts[*at].has_other_name(&self.accounts[**it]);
            Some([*at, *other.named.iter().find(is_other)?])
        })?;
        Some(Contradiction { kind: ConflictKind::OtherName, accounts: ordered(accounts), at: None })
    }

    /// Returns a link from one group to the other that has no link back, though the other group links to accounts or has
    /// several: then one of the first could be expected among them.
    fn no_link_back(&self, from: &Group<'_, '_>, to: &Group<'_, '_>) -> Option<Contradiction> {
        let is_in = |at: usize, group: &Group<'_, '_>| self.group_of[at] == self.group_of[group.members[0]];
        let named = |group: &Group<'_, '_>| {
            let members = group.members.clone();
            members.into_iter().flat_map(|from| self.accounts[from].named.iter().map(move |it| (from, it)))
        };
        let (from_account, (to_account, naming)) = named(from).find(|(_, (named, _))| is_in(**named, to))?;
        let is_known = to.members.len() > 1 || named(to).next().is_some();
        let answers = named(to).any(|(_, (named, _))| is_in(*named, from));
        let accounts = [from_account, *to_account];
        let kind = ConflictKind::NoLinkBack;
        (is_known && !answers).then_some(Contradiction { kind, accounts, at: Some(naming.at) })
    }

    fn join(&mut self, one: usize, other: usize, join: Join<'p, 'a>) {
        let (kept, gone) = (one.min(other), one.max(other));
        let gone = std::mem::take(&mut self.all[gone]);
        gone.members.iter().for_each(|at| self.group_of[*at] = kept);
        let group = &mut self.all[kept];
        group.members.extend(gone.members);
        group.members.sort_unstable();
        group.joins.extend(gone.joins);
        group.joins.push(join);
        group.named.extend(gone.named);
        group.named.sort_unstable();
        group.named.truncate(MAX_NAMES);
        for (platform, targets) in gone.verified {
            group.verified.entry(platform).or_default().extend(targets);
        }
    }
}

fn ordered([one, other]: [usize; 2]) -> [usize; 2] {
    [one.min(other), one.max(other)]
}

/// Returns for each account with verified links, and for each to which they lead, the accounts by platform to which
/// verified links of the same sources lead.
fn verified_links(accounts: &[Account]) -> BTreeMap<usize, BTreeMap<&str, BTreeSet<usize>>> {
    let mut links: BTreeMap<usize, BTreeMap<&str, BTreeSet<usize>>> = BTreeMap::new();
    for (from, account) in accounts.iter().enumerate() {
        let mut by_platform: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (to, _) in account.named.iter().filter(|(_, naming)| !naming.is_stated) {
            if let Some(platform) = accounts[*to].entity.platform.as_deref() {
                by_platform.entry(platform).or_default().insert(*to);
            }
        }
        for (platform, targets) in by_platform {
            for at in targets.iter().chain([&from]) {
                links.entry(*at).or_default().entry(platform).or_default().extend(&targets);
            }
        }
    }
    links
}
