//! [`Pair`]: two accounts that probably belong together, with the evidence.

use std::collections::{BTreeMap, BTreeSet};

use super::account::{Account, Naming, Sign};
use super::evidence::{Band, EvidenceKind, Grade, score};
use super::shared::Shared;
use crate::runs::record::ResultRef;

/// The most accounts that are visited to find whether links lead back.
const MAX_VISITED: usize = 100;

/// One reason why two accounts belong together, or why not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reason<'a> {
    pub(super) kind: EvidenceKind,
    /// The two accounts; the first one names the other.
    pub(super) accounts: [usize; 2],
    /// What both have.
    pub(super) sign: Option<&'a Sign>,
    /// The results of the two accounts that show it.
    pub(super) at: [Option<ResultRef>; 2],
}

/// Two accounts that probably belong together.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) accounts: [usize; 2],
    pub(super) reasons: Vec<Reason<'a>>,
    pub(super) score: f64,
    /// The strongest grade of the reasons.
    pub(super) grade: Grade,
}

/// Returns the pairs of accounts that probably belong together: the highest scores first.
pub(super) fn pairs(accounts: &[Account]) -> Vec<Pair<'_>> {
    let shared = Shared::of(accounts);
    let linked = accounts
        .iter()
        .enumerate()
        .flat_map(|(from, account)| account.named.keys().map(move |to| (from.min(*to), from.max(*to))));
    let candidates: BTreeSet<(usize, usize)> =
        linked.chain(shared.pairs(accounts)).filter(|(one, other)| one != other).collect();
    let compare = Comparison { accounts, shared };
    let mut pairs: Vec<Pair<'_>> =
        candidates.into_iter().filter_map(|(one, other)| compare.pair(one, other)).collect();
    pairs.sort_by(|one, other| {
        other.score.total_cmp(&one.score).then_with(|| one.accounts.cmp(&other.accounts))
    });
    pairs
}

struct Comparison<'a> {
    accounts: &'a [Account],
    shared: Shared<'a>,
}

impl<'a> Comparison<'a> {
    /// Compares two accounts. Returns `None` if they do not probably belong together.
    fn pair(&self, one: usize, other: usize) -> Option<Pair<'a>> {
        let mut reasons = self.by_signs(one, other);
        reasons.extend(self.by_links(one, other));
        reasons.extend(self.by_names(one, other, &reasons));
        // Two ways in which many share something are one reason: a team has both an address and a site.
        reasons.sort_by_key(|reason| (reason.kind, reason.sign));
        reasons.dedup_by_key(|reason| reason.kind);
        let kinds: Vec<EvidenceKind> = reasons.iter().map(|reason| reason.kind).collect();
        let score = score(&kinds);
        let grade = kinds.iter().map(|kind| kind.grade()).min()?;
        Band::of(score).map(|_| Pair { accounts: [one, other], reasons, score, grade })
    }

    fn by_links(&self, one: usize, other: usize) -> Option<Reason<'a>> {
        let forth = self.accounts[one].named.get(&other);
        let back = self.accounts[other].named.get(&one);
        let (from, to, naming) = match (forth, back) {
            (Some(forth), Some(back)) if back < forth => (other, one, back),
            (Some(forth), _) => (one, other, forth),
            (None, Some(back)) => (other, one, back),
            (None, None) => return None,
        };
        let is_page = |at: usize| self.accounts[at].is_page_of_links();
        let kind = if !naming.is_stated {
            EvidenceKind::VerifiedLink
        } else if is_page(from) || is_page(to) {
            EvidenceKind::SharedByMany
        } else if forth.is_some() && back.is_some() {
            EvidenceKind::MutualLink
        } else if self.leads_back(to, from) {
            EvidenceKind::LinkCircle
        } else {
            EvidenceKind::StatedLink
        };
        Some(Reason { kind, accounts: [from, to], sign: None, at: self.results(from, to, naming) })
    }

    /// Returns the results that show a link: of each account where there is one.
    fn results(&self, from: usize, to: usize, naming: &Naming) -> [Option<ResultRef>; 2] {
        let of_other = self.accounts[to].results.first().copied();
        // A listed account is a result of its own. Then the first account has another one.
        let is_listed = self.accounts[to].results.contains(&naming.at);
        let of_first = if is_listed { self.accounts[from].results.first().copied() } else { Some(naming.at) };
        [of_first, if is_listed { Some(naming.at) } else { of_other }]
    }

    /// Returns whether links lead from one account to another, over few others and no pages of links.
    fn leads_back(&self, from: usize, to: usize) -> bool {
        let mut visited = vec![from];
        let mut next = 0;
        while let Some(at) = visited.get(next).copied() {
            next += 1;
            let account = &self.accounts[at];
            if account.is_page_of_links() {
                continue;
            }
            if account.named.contains_key(&to) {
                return true;
            }
            for named in account.named.keys() {
                if visited.len() < MAX_VISITED && !visited.contains(named) {
                    visited.push(*named);
                }
            }
        }
        false
    }

    fn by_signs(&self, one: usize, other: usize) -> Vec<Reason<'a>> {
        let (few, many) = (&self.accounts[one].signs, &self.accounts[other].signs);
        let mut reasons: BTreeMap<EvidenceKind, Reason<'a>> = BTreeMap::new();
        for (sign, held) in few {
            let Some(other_held) = many.get(sign) else { continue };
            let is_stated = held.is_stated || other_held.is_stated;
            let Some(kind) = self.kind_of_sign(sign, is_stated, one, other) else { continue };
            let at = [Some(held.at), Some(other_held.at)];
            let reason = Reason { kind, accounts: [one, other], sign: Some(sign), at };
            reasons.entry(kind).or_insert(reason);
        }
        // Of two kinds for addresses, for sites or for pictures, only the stronger one counts.
        for (strong, weak) in [
            (EvidenceKind::SameEmail, EvidenceKind::StatedEmail),
            (EvidenceKind::VerifiedSite, EvidenceKind::SameSite),
            (EvidenceKind::SamePicture, EvidenceKind::SimilarPicture),
        ] {
            if reasons.contains_key(&strong) {
                reasons.remove(&weak);
            }
        }
        reasons.into_values().collect()
    }

    fn kind_of_sign(&self, sign: &Sign, is_stated: bool, one: usize, other: usize) -> Option<EvidenceKind> {
        let is_crowded = self.shared.is_crowded(sign, is_stated);
        Some(match sign {
            // Platforms write texts of their own in the place of a bio.
            Sign::Bio(_) if is_crowded || self.are_on_one_platform(one, other) => return None,
            // They also show pictures of their own.
            Sign::Picture(_) | Sign::Likeness(_) if is_crowded || self.are_on_one_platform(one, other) => {
                return None;
            }
            Sign::Picture(_) => EvidenceKind::SamePicture,
            Sign::Likeness(_) => EvidenceKind::SimilarPicture,
            _ if is_crowded => EvidenceKind::SharedByMany,
            Sign::Email(_) | Sign::EmailHash(_) if is_stated => EvidenceKind::StatedEmail,
            Sign::Email(_) | Sign::EmailHash(_) => EvidenceKind::SameEmail,
            Sign::Site(_) if is_stated => EvidenceKind::SameSite,
            Sign::Site(_) => EvidenceKind::VerifiedSite,
            Sign::Key(_) => EvidenceKind::SameKey,
            Sign::Bio(_) => EvidenceKind::SameBio,
        })
    }

    fn are_on_one_platform(&self, one: usize, other: usize) -> bool {
        self.accounts[one].entity.platform == self.accounts[other].entity.platform
    }

    /// Returns what the names say. Another name says nothing against what the platforms have checked, since people show
    /// different names; but friends, too, link to each other.
    fn by_names(&self, one: usize, other: usize, reasons: &[Reason<'_>]) -> Option<Reason<'a>> {
        let (account, other_account) = (&self.accounts[one], &self.accounts[other]);
        let is_checked =
            |reason: &Reason<'_>| matches!(reason.kind, EvidenceKind::VerifiedLink | EvidenceKind::SameEmail);
        let kind = if !account.full_names.is_disjoint(&other_account.full_names) {
            EvidenceKind::SameName
        } else if account.has_other_name(other_account) && !reasons.iter().any(is_checked) {
            EvidenceKind::OtherName
        } else {
            return None;
        };
        let first = |account: &Account| account.results.first().copied();
        let at = [first(account), first(other_account)];
        Some(Reason { kind, accounts: [one, other], sign: None, at })
    }
}
