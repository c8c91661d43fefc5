//! [`Accounts`]: the accounts of runs, collected from results and links.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use md5::Md5;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::account::{Account, Held, Naming, Sign};
use crate::base::encoding::hex;
use crate::base::ids::RunId;
use crate::model::entity::identified::Entity;
use crate::model::entity::{EntityKey, folded, merge};
use crate::model::follow::Class;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::query::SearchType;
use crate::runs::leads::links::{Link, is_found_account, links};
use crate::runs::pictures::likeness::Likeness;
use crate::runs::record::{Findings, ResultRef};

/// A link that cannot mean the account: it was last changed before the account was created.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImpossibleLink {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) at: ResultRef,
}

/// The accounts of runs, by platform and value.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    pub(super) all: Vec<Account>,
    pub(super) impossible: Vec<ImpossibleLink>,
}

impl Accounts {
    /// Collects the accounts that the runs have found, and those that their results name.
    pub(super) fn of(runs: &[Findings<'_>], profiles: &ProfileIndex) -> Self {
        let mut found = Collector::default();
        for run in runs {
            found.add_run(run, profiles);
        }
        let sources = Sources::of(runs);
        for link in &links(runs, profiles).all {
            found.add_link(link, &sources);
        }
        for run in runs {
            found.add_keys(run);
        }
        found.resolve_hashes(runs);
        found.join_likenesses();
        found.into_accounts()
    }
}

fn result(run_id: RunId, result_id: u32) -> ResultRef {
    ResultRef { run_id, result_id }
}

/// Returns the form in which an address is compared and hashed.
fn address(text: &str) -> String {
    text.trim().to_lowercase()
}

/// The queries of email searches, and the platforms of the results that they list.
#[derive(Default)]
struct Sources<'a> {
    emails: HashMap<RunId, String>,
    platforms: BTreeMap<ResultRef, &'a str>,
}

impl<'a> Sources<'a> {
    fn of(runs: &[Findings<'a>]) -> Self {
        let mut sources = Self::default();
        for run in runs.iter().filter(|run| run.query.search_type() == SearchType::Email) {
            sources.emails.insert(run.run_id, address(run.query.normal()));
            for record in run.results {
                let platform = record.platform.as_deref().unwrap_or_default();
                sources.platforms.insert(result(run.run_id, record.id), platform);
            }
        }
        sources
    }

    /// Returns the address for which an email search has found the account that a link leads to. An account on the
    /// platform that answered is the platform's own statement, others are only links in a profile.
    fn email_of(&self, link: &Link) -> Option<&String> {
        let at = result(link.run_id, link.result_id);
        let is_own =
            |platform: &&str| link.to.platform.as_deref().is_some_and(|own| folded(own) == folded(platform));
        let is_answer = link.from.kind == ResultType::Email || self.platforms.get(&at).is_some_and(is_own);
        self.emails.get(&link.run_id).filter(|_| is_answer && link.is_listed())
    }
}

#[derive(Default)]
struct Collector {
    positions: HashMap<Uuid, usize>,
    all: Vec<Account>,
    /// The accounts that each module of a run has found.
    of_module: HashMap<(RunId, String), BTreeSet<usize>>,
}

impl Collector {
    fn position(&mut self, entity: &Entity) -> usize {
        let all = &mut self.all;
        let at = *self.positions.entry(entity.id).or_insert_with(|| {
            all.push(Account::new(entity.clone()));
            all.len() - 1
        });
        // One of several spellings, so that the order of results does not matter.
        let known = &mut all[at].entity;
        if (&entity.value, &entity.platform) < (&known.value, &known.platform) {
            *known = entity.clone();
        }
        at
    }

    fn add_run(&mut self, run: &Findings<'_>, profiles: &ProfileIndex) {
        let is_email = run.query.search_type() == SearchType::Email;
        for record in run.results.iter().filter(|record| is_found_account(record, &run.query)) {
            let position = self.position(&Entity::of_result(record, profiles));
            let at = result(run.run_id, record.id);
            let account = &mut self.all[position];
            account.add_result(at, record.confidence, &record.metadata);
            if is_email {
                account.hold(Sign::Email(address(run.query.normal())), Held { is_stated: false, at });
            }
            for source in merge::sources(record) {
                self.of_module.entry((run.run_id, source.module)).or_default().insert(position);
            }
        }
    }

    fn add_link(&mut self, link: &Link, sources: &Sources<'_>) {
        let at = result(link.run_id, link.result_id);
        let from = self.positions.get(&link.from.id).copied();
        match (from, link.to.kind) {
            (_, ResultType::Account) => self.add_link_to_account(link, from, sources),
            (Some(from), ResultType::Email) => {
                let held = Held { is_stated: !link.is_checked, at };
                self.all[from].hold(Sign::Email(address(&link.to.value)), held);
            }
            (Some(from), ResultType::Domain) => {
                let held = Held { is_stated: link.class != Class::Verified, at };
                self.all[from].hold(Sign::Site(link.to.value.clone()), held);
            }
            _ => {}
        }
    }

    fn add_link_to_account(&mut self, link: &Link, from: Option<usize>, sources: &Sources<'_>) {
        let at = result(link.run_id, link.result_id);
        let to = self.position(&link.to);
        let account = &mut self.all[to];
        if link.is_listed() {
            account.results.insert(at);
            account.confidence = account.confidence.max(link.confidence);
        }
        account.named_with = account.named_with.max(link.confidence);
        if let Some(email) = sources.email_of(link) {
            account.hold(Sign::Email(email.clone()), Held { is_stated: false, at });
        }
        if link.from.kind == ResultType::Domain {
            let held = Held { is_stated: link.class != Class::Verified, at };
            account.hold(Sign::Site(link.from.value.clone()), held);
        }
        if let Some(from) = from {
            self.all[from].name(to, Naming { is_stated: !link.is_checked, at });
        }
    }

    /// Gives the public keys of a run to the accounts that have the address it asked for, or that the same module has
    /// found.
    fn add_keys(&mut self, run: &Findings<'_>) {
        let is_key = |record: &&ResultRecord| record.result_type == ResultType::PublicKey.as_str();
        let email =
            (run.query.search_type() == SearchType::Email).then(|| Sign::Email(address(run.query.normal())));
        for record in run.results.iter().filter(is_key) {
            let EntityKey(key) = EntityKey::of(record);
            let sign = Sign::Key(hex(&key));
            let held = Held { is_stated: true, at: result(run.run_id, record.id) };
            for source in merge::sources(record) {
                // A module that has found several accounts does not say whose key it is.
                if let Some(found) = self.of_module.get(&(run.run_id, source.module))
                    && let (1, Some(position)) = (found.len(), found.first())
                {
                    self.all[*position].hold(sign.clone(), held);
                }
            }
            let Some(email) = &email else { continue };
            for account in self.all.iter_mut().filter(|account| account.signs.contains_key(email)) {
                account.hold(sign.clone(), held);
            }
        }
    }

    /// Replaces the hashes of addresses that the runs name.
    fn resolve_hashes(&mut self, runs: &[Findings<'_>]) {
        let asked = runs.iter().filter(|run| run.query.search_type() == SearchType::Email);
        let stated = self.all.iter().flat_map(|account| account.signs.keys());
        let stated = stated.filter_map(|sign| match sign {
            Sign::Email(email) => Some(email.clone()),
            _ => None,
        });
        let mut known: HashMap<String, String> = HashMap::new();
        for email in asked.map(|run| address(run.query.normal())).chain(stated) {
            known.insert(hex(&Md5::digest(&email)), email.clone());
            known.insert(hex(&Sha256::digest(&email)), email);
        }
        for account in &mut self.all {
            for (sign, held) in std::mem::take(&mut account.signs) {
                let sign = match sign {
                    Sign::EmailHash(hash) => match known.get(&hash) {
                        Some(email) => Sign::Email(email.clone()),
                        None => Sign::EmailHash(hash),
                    },
                    other => other,
                };
                account.hold(sign, held);
            }
        }
    }

    /// Replaces the perceptual hashes of pictures that are nearly the same by the first of them.
    fn join_likenesses(&mut self) {
        let signs = self.all.iter().flat_map(|account| account.signs.keys());
        let found =
            signs.filter_map(|sign| if let Sign::Likeness(likeness) = sign { Some(*likeness) } else { None });
        let first = first_likenesses(&found.collect::<BTreeSet<_>>());
        for account in &mut self.all {
            for (sign, held) in std::mem::take(&mut account.signs) {
                let sign = match sign {
                    Sign::Likeness(likeness) => Sign::Likeness(*first.get(&likeness).unwrap_or(&likeness)),
                    other => other,
                };
                account.hold(sign, held);
            }
            account.limit_signs();
        }
    }

    fn into_accounts(self) -> Accounts {
        let mut order: Vec<usize> = (0..self.all.len()).collect();
        order.sort_by_cached_key(|at| {
            let entity = &self.all[*at].entity;
            (entity.platform.clone(), entity.value.to_lowercase(), entity.id)
        });
        let mut new_positions = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| new_positions[*old] = new);
        let mut slots: Vec<Option<Account>> = self.all.into_iter().map(Some).collect();
        let mut all: Vec<Account> = order.iter().filter_map(|old| slots[*old].take()).collect();
        for account in &mut all {
            let named = std::mem::take(&mut account.named);
            account.named = named.into_iter().map(|(old, naming)| (new_positions[old], naming)).collect();
            if account.results.is_empty() {
                account.confidence = account.named_with;
            }
        }
        let impossible = drop_impossible(&mut all);
        Accounts { all, impossible }
    }
}

/// Returns for each perceptual hash the least one that is connected with it by hashes of nearly the same picture.
fn first_likenesses(all: &BTreeSet<Likeness>) -> BTreeMap<Likeness, Likeness> {
    let mut left: Vec<Likeness> = all.iter().copied().collect();
    let mut first = BTreeMap::new();
    for start in all {
        if first.contains_key(start) {
            continue;
        }
        let mut reached = vec![*start];
        while let Some(at) = reached.pop() {
            first.insert(at, *start);
            reached.extend(left.extract_if(.., |other| at.is_near(*other)).filter(|other| *other != at));
        }
    }
    first
}

/// Removes the links that cannot mean the account at their other end, and returns them. A platform gives a name that has
/// become free to somebody else, and old links stay.
fn drop_impossible(all: &mut [Account]) -> Vec<ImpossibleLink> {
    let created: Vec<_> = all.iter().map(|account| account.created).collect();
    let mut impossible = Vec::new();
    for (from, account) in all.iter_mut().enumerate() {
        let Some(used) = account.used else { continue };
        account.named.retain(|to, naming| {
            let is_possible = created[*to].is_none_or(|created| created <= used);
            if !is_possible {
                impossible.push(ImpossibleLink { from, to: *to, at: naming.at });
            }
            is_possible
        });
    }
    impossible
}
