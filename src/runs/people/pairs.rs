//! [`Pair`]: two accounts that probably belong together, with the evidence.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::accounts::{Account, Sign, contradict};
use super::evidence::{Band, EvidenceKind as Kind, Grade, filled, score};
use super::person::Evidence;
use crate::runs::record::ResultRef;

/// The most accounts that are visited to find whether links lead back.
const MAX_VISITED: usize = 100;
/// The number of accounts with one sign up to which each is compared with each. The others are compared with one.
const COMPARED_WITH_EACH: usize = 16;
/// The number of usernames with one sign that are too many for one person.
const MANY_USERNAMES: usize = 20;
/// The number of unrelated names with one sign that are too many for one person.
const MANY_NAMES: usize = 3;
/// Mailboxes that several people read, and those that nobody reads.
const TEAM_MAILBOXES: &str = "abuse accounts admin billing booking careers contact do-not-reply donotreply editor \
     enquiries feedback hello help helpdesk hostmaster hr info jobs kontakt legal mail marketing media newsletter \
     no-reply noreply office postmaster press privacy sales security support team webmaster";

/// Two accounts that probably belong together.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) accounts: [usize; 2],
    pub(super) evidence: Vec<Evidence>,
    pub(super) score: f64,
    /// The strongest grade of the evidence.
    pub(super) grade: Grade,
}

/// Returns the pairs of accounts that probably belong together: the highest scores first.
pub(super) fn pairs(accounts: &[Account]) -> Vec<Pair> {
    let compared = Comparison::of(accounts);
    let linked = accounts.iter().enumerate();
    let linked = linked.flat_map(|(from, account)| account.named.keys().map(move |to| ordered([from, *to])));
    let candidates: BTreeSet<[usize; 2]> =
        linked.chain(compared.pairs_by_signs()).filter(|[one, other]| one != other).collect();
    let mut pairs: Vec<Pair> = candidates.into_iter().filter_map(|pair| compared.pair(pair)).collect();
    // The order of pairs that are equal in it is kept.
    pairs.sort_by(|one, other| other.score.total_cmp(&one.score));
    pairs
}

pub(super) fn ordered([one, other]: [usize; 2]) -> [usize; 2] {
    [one.min(other), one.max(other)]
}

pub(super) fn is_team(sign: &Sign) -> bool {
    let Sign::Email(address) = sign else { return false };
    let mailbox = address.split(['@', '+']).next().unwrap_or_default();
    TEAM_MAILBOXES.split(' ').any(|team| team == mailbox)
}

/// The accounts, and the signs that two or more of them have.
struct Comparison<'a> {
    accounts: &'a [Account],
    holders: BTreeMap<&'a Sign, Vec<usize>>,
    /// The signs that too many have for one person.
    crowded: HashSet<&'a Sign>,
}

impl<'a> Comparison<'a> {
    fn of(accounts: &'a [Account]) -> Self {
        let mut holders: BTreeMap<&Sign, Vec<usize>> = BTreeMap::new();
        for (position, account) in accounts.iter().enumerate() {
            account.signs.keys().for_each(|sign| holders.entry(sign).or_default().push(position));
        }
        holders.retain(|_, holders| holders.len() > 1);
        let crowded = holders.iter().filter(|(sign, holders)| {
            let holders = || holders.iter().map(|at| &accounts[*at]);
            ***sign != Sign::Mine && is_crowd(holders(), matches!(sign, Sign::Picture(_) | Sign::Likeness(_)))
        });
        Self { accounts, crowded: crowded.map(|(sign, _)| *sign).collect(), holders }
    }

    /// Returns the pairs of accounts to compare because of their signs. If many have a sign, each is compared with one
    /// of them, which the platform has checked where there is such a one.
    fn pairs_by_signs(&self) -> impl Iterator<Item = [usize; 2]> {
        self.holders.iter().flat_map(|(sign, holders)| {
            let is_stated = |at: usize| self.accounts[at].signs.get(*sign).is_some_and(|it| it.is_stated);
            let is_small = holders.len() <= COMPARED_WITH_EACH && !self.is_crowded(sign, true);
            let center = holders.iter().min_by_key(|at| (is_stated(**at), **at));
            let centers: &[usize] = if is_small { holders } else { center.map_or(&[], std::slice::from_ref) };
            centers.iter().flat_map(|one| holders.iter().map(move |other| ordered([*one, *other])))
        })
    }

    /// Returns whether the sign belongs to more people than one. If platforms know both accounts by an address, it does
    /// not matter who else states it.
    fn is_crowded(&self, sign: &Sign, is_stated: bool) -> bool {
        let is_address = matches!(sign, Sign::Email(_) | Sign::EmailHash(_));
        is_team(sign) || (is_stated || !is_address) && self.crowded.contains(sign)
    }

    /// Compares two accounts. Returns `None` if they do not probably belong together.
    fn pair(&self, accounts: [usize; 2]) -> Option<Pair> {
        // Two ways in which many share something are one reason: a team has both an address and a site.
        let mut evidence: BTreeMap<Kind, Evidence> = BTreeMap::new();
        evidence.extend(self.by_links(accounts).map(|link| (link.kind, link)));
        self.add_signs(accounts, &mut evidence);
        evidence.extend(self.by_names(accounts, &evidence).map(|names| (names.kind, names)));
        let kinds: Vec<Kind> = evidence.keys().copied().collect();
        let score = score(&kinds);
        let grade = kinds.iter().map(|kind| kind.row().0).min()?;
        Band::of(score).map(|_| Pair { accounts, evidence: evidence.into_values().collect(), score, grade })
    }

    /// Returns evidence about two accounts, the first of which names the other, with the results that show it. `shared` is
    /// what both have, in words.
    fn evidence(
        &self,
        kind: Kind,
        accounts: [usize; 2],
        shared: &str,
        at: [Option<ResultRef>; 2],
    ) -> Evidence {
        let [one, other] = accounts.map(|at| &self.accounts[at]);
        let mut results: Vec<ResultRef> = at.into_iter().flatten().collect();
        results.dedup();
        let text = filled(kind.row().2, &one.label(), &other.label(), shared);
        Evidence { kind, weight: kind.row().1, accounts: [one.entity.id, other.entity.id], results, text }
    }

    fn by_links(&self, [one, other]: [usize; 2]) -> Option<Evidence> {
        let naming = |from: usize, to: usize| Some((self.accounts[from].named.get(&to)?, from, to));
        let (forth, back) = (naming(one, other), naming(other, one));
        let (naming, from, to) = forth.into_iter().chain(back).min()?;
        let is_page = |at: usize| self.accounts[at].is_page_of_links();
        let kind = if !naming.is_stated {
            Kind::VerifiedLink
        } else if is_page(from) || is_page(to) {
            Kind::SharedByMany
        } else if forth.is_some() && back.is_some() {
            Kind::MutualLink
        } else if self.leads_back(to, from) {
            Kind::LinkCircle
        } else {
            Kind::StatedLink
        };
        let first = |at: usize| self.accounts[at].results.first().copied();
        // A listed account is its own result. Then the first account has another one.
        let is_listed = self.accounts[to].results.contains(&naming.at);
        let at = if is_listed { [first(from), Some(naming.at)] } else { [Some(naming.at), first(to)] };
        Some(self.evidence(kind, [from, to], "a page of links", at))
    }

    /// Returns whether links lead from one account to another, over few others and no pages of links.
    fn leads_back(&self, from: usize, to: usize) -> bool {
        let (mut visited, mut next) = (vec![from], 0);
        while let Some(account) = visited.get(next).map(|at: &usize| &self.accounts[*at]) {
            next += 1;
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

    fn add_signs(&self, accounts: [usize; 2], evidence: &mut BTreeMap<Kind, Evidence>) {
        let [one, other] = accounts.map(|at| &self.accounts[at]);
        let are_on_one_platform = one.entity.platform == other.entity.platform;
        for (sign, mention) in &one.signs {
            let Some(other_mention) = other.signs.get(sign) else { continue };
            let is_stated = mention.is_stated || other_mention.is_stated;
            let is_crowded = self.is_crowded(sign, is_stated);
            // Platforms write their own texts in the place of a bio, and show their own pictures.
            let is_from_platform = matches!(sign, Sign::Bio(_) | Sign::Picture(_) | Sign::Likeness(_));
            if is_from_platform && (is_crowded || are_on_one_platform) {
                continue;
            }
            let (kind, shared) = meaning(sign, is_stated);
            let kind = if is_crowded { Kind::SharedByMany } else { kind };
            let at = [Some(mention.at), Some(other_mention.at)];
            evidence.entry(kind).or_insert_with(|| self.evidence(kind, accounts, &shared, at));
        }
        // Of two kinds for addresses, for sites or for pictures, only the stronger one counts.
        for (strong, weak) in [
            (Kind::SameEmail, Kind::StatedEmail),
            (Kind::VerifiedSite, Kind::SameSite),
            (Kind::SamePicture, Kind::SimilarPicture),
        ] {
            if evidence.contains_key(&strong) {
                evidence.remove(&weak);
            }
        }
    }

    /// Returns what the names say. Another name says nothing against what the platforms have checked, since people show
    /// different names; but friends, too, link to each other.
    fn by_names(&self, accounts: [usize; 2], evidence: &BTreeMap<Kind, Evidence>) -> Option<Evidence> {
        let [one, other] = accounts.map(|at| &self.accounts[at]);
        let checked = [Kind::VerifiedLink, Kind::SameEmail];
        let kind = if !one.full_names.is_disjoint(&other.full_names) {
            Kind::SameName
        } else if one.has_other_name(other) && !checked.iter().any(|kind| evidence.contains_key(kind)) {
            Kind::OtherName
        } else {
            return None;
        };
        let at = [one, other].map(|account| account.results.first().copied());
        Some(self.evidence(kind, accounts, "", at))
    }
}

/// Returns what it means that two accounts have a sign, and the sign in words.
fn meaning(sign: &Sign, is_stated: bool) -> (Kind, String) {
    let either = |stated, checked| if is_stated { stated } else { checked };
    let (email, site) =
        (either(Kind::StatedEmail, Kind::SameEmail), either(Kind::SameSite, Kind::VerifiedSite));
    match sign {
        Sign::Mine => (Kind::Verdict, String::new()),
        Sign::Email(address) => (email, format!("the email address {address}")),
        Sign::EmailHash(_) => (email, "the same hash of an email address".to_owned()),
        Sign::Site(domain) => (site, format!("the site {domain}")),
        Sign::Key(_) => (Kind::SameKey, "the same public key".to_owned()),
        Sign::Picture(_) => (Kind::SamePicture, "the same profile picture".to_owned()),
        Sign::Likeness(_) => (Kind::SimilarPicture, "nearly the same profile picture".to_owned()),
        Sign::Bio(text) => (Kind::SameBio, format!("the sentence \"{text}\" in the bio")),
    }
}

/// Returns whether the accounts show too many usernames or unrelated full names for one person. A picture that accounts
/// with unrelated usernames share is the one that a platform gives to everybody, or a popular one.
fn is_crowd<'a>(holders: impl Iterator<Item = &'a Account> + Clone, is_picture: bool) -> bool {
    let usernames: BTreeSet<String> = holders.clone().filter_map(Account::username).collect();
    let full_names: BTreeSet<&String> = holders.flat_map(|account| &account.full_names).collect();
    let are_unrelated = |one: &str, other: &str| !one.contains(other) && !other.contains(one);
    usernames.len() > MANY_USERNAMES
        || is_picture && are_many(usernames.iter(), are_unrelated)
        || are_many(full_names.into_iter(), contradict)
}

/// Returns whether too many of the names for one person are unrelated to each other.
fn are_many<'a>(names: impl Iterator<Item = &'a String>, are_unrelated: impl Fn(&str, &str) -> bool) -> bool {
    let mut unrelated: Vec<&String> = Vec::new();
    for name in names {
        if unrelated.iter().all(|known| are_unrelated(known, name)) {
            unrelated.push(name);
        }
    }
    unrelated.len() >= MANY_NAMES
}
