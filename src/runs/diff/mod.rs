//! What changed between two runs of one query.
//!
//! A difference is stated only if the runs prove it. A site that was blocked in one run says nothing about what it has,
//! so its results are `unknown`, and never `removed` or `added`.
//!
//! | file | holds |
//! |---|---|
//! | [`not_comparable`] | why two runs may not be comparable |
//! | `side` | one of the two runs, and what its modules prove |
//! | `fields` | the data of a result that differs |
//!
//! # Which results are the same
//! Results are the same if their [`EntityKey`](crate::model::entity::EntityKey)s are equal. Of the rest, accounts and profiles
//! are the same if they are the same [`Entity`](crate::model::entity::identified::Entity), so that another spelling of a name is
//! a change of the account. A platform that the catalogue calls by another name in the later run is the same platform.
//! Ids, times, confidences and the order of results count for nothing.
//!
//! # What is proven
//! - A result is missing in a run if **every** module that found it in the other run concluded there without it, by
//!   the same rules. A hit proves this only if the module read all of its answer; a weak miss never does.
//! - The data of a result differs if the same modules found it in both runs, in the same order, by the same rules and from
//!   the same source, and read all of their answers. With other modules, or in another order, a value may be that of
//!   another module.

mod fields;
pub mod not_comparable;
mod side;

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use super::record::Findings;
use crate::model::diff::{Cause, Diff, DiffCounts, Difference, FieldChange, RunSide, Undecided};
use crate::model::run::ModuleReport;
use crate::modules::profile_index::ProfileIndex;
use not_comparable::NotComparable;
use side::{Entry, Side};

impl Diff {
    /// Compares two runs.
    ///
    /// # Errors
    /// Fails if a run has not ended, or if the runs do not have the same query.
    pub fn between(
        before: &Findings<'_>,
        after: &Findings<'_>,
        profiles: &ProfileIndex,
    ) -> Result<Self, NotComparable> {
        if !before.status.is_terminal() || !after.status.is_terminal() {
            return Err(NotComparable::Running);
        }
        let query = |run: &Findings<'_>| (run.query.search_type(), run.query.normal().to_owned());
        if query(before) != query(after) {
            return Err(NotComparable::OtherQuery);
        }
        if before.simulated != after.simulated {
            return Err(NotComparable::OtherWeb);
        }
        let renamed = renamed(before.modules, after.modules);
        let no_names = BTreeMap::new();
        let compared = Comparison {
            before: Side::new(before, &renamed, profiles),
            after: Side::new(after, &no_names, profiles),
        };
        Ok(compared.diff(before, after))
    }
}

/// Returns the platforms that have another name in the later run, with that name, by module.
fn renamed<'a>(
    before: &'a [ModuleReport],
    after: &'a [ModuleReport],
) -> BTreeMap<&'a str, (&'a str, &'a str)> {
    let later: BTreeMap<&str, &str> =
        after.iter().map(|report| (report.module.as_str(), report.platform.as_str())).collect();
    let changed = before.iter().filter_map(|report| {
        let name = *later.get(report.module.as_str())?;
        (name != report.platform).then_some((report.module.as_str(), (report.platform.as_str(), name)))
    });
    changed.collect()
}

/// The two runs, prepared to be compared.
struct Comparison<'a> {
    before: Side<'a>,
    after: Side<'a>,
}

impl Comparison<'_> {
    fn diff(&self, before: &Findings<'_>, after: &Findings<'_>) -> Diff {
        let mut sorter = Sorter::default();
        let pairs = self.pairs();
        for (one, other) in &pairs.both {
            self.compare(one, other, &mut sorter);
        }
        for gone in &pairs.only_before {
            let undecided = self.after.why_undecided(gone, &self.before, RunSide::After);
            sorter.add_single(Some(gone), None, undecided);
        }
        for new in &pairs.only_after {
            let undecided = self.before.why_undecided(new, &self.after, RunSide::Before);
            sorter.add_single(None, Some(new), undecided);
        }
        let (compared, not_compared) = self.modules();
        sorter.finish(Diff {
            search_type: after.query.search_type(),
            query: after.query.normal().to_owned(),
            before: self.before.head(before),
            after: self.after.head(after),
            counts: DiffCounts::default(),
            modules_compared: compared,
            modules_not_compared: not_compared,
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
            unknown: Vec::new(),
        })
    }

    /// Returns the numbers of modules that came to a conclusion in both runs, and of the other ones.
    fn modules(&self) -> (usize, usize) {
        let all: BTreeSet<&str> = self.before.modules().chain(self.after.modules()).collect();
        let compared = all
            .iter()
            .filter(|module| self.before.is_conclusive(module) && self.after.is_conclusive(module))
            .count();
        (compared, all.len() - compared)
    }

    /// Returns the results that are the same in both runs, and those that only one run has.
    fn pairs(&self) -> Pairs<'_> {
        let mut pairs = Pairs::default();
        let (mut gone, mut new) = (Leftover::new(), Leftover::new());
        for (key, one) in &self.before.entries {
            match (self.after.entries.get(key), one.account) {
                (Some(other), _) => pairs.both.push((one, other)),
                (None, None) => pairs.only_before.push(one),
                (None, Some(account)) => gone.entry(account).or_default().push(one),
            }
        }
        for (key, other) in &self.after.entries {
            match (self.before.entries.contains_key(key), other.account) {
                (true, _) => {}
                (false, None) => pairs.only_after.push(other),
                (false, Some(account)) => new.entry(account).or_default().push(other),
            }
        }
        for (account, gone) in gone {
            let mut new = new.remove(&account).unwrap_or_default().into_iter();
            for one in gone {
                match new.next() {
                    Some(other) => pairs.both.push((one, other)),
                    None => pairs.only_before.push(one),
                }
            }
            pairs.only_after.extend(new);
        }
        pairs.only_after.extend(new.into_values().flatten());
        pairs
    }

    /// Compares the data of a result that both runs have.
    fn compare(&self, one: &Entry, other: &Entry, sorter: &mut Sorter) {
        let is_paired_by_name = one.key != other.key;
        let identity =
            if is_paired_by_name { fields::of_identity(&one.record, &other.record) } else { Vec::new() };
        let fields: Vec<FieldChange> =
            identity.into_iter().chain(fields::differences(&one.record, &other.record)).collect();
        if fields.is_empty() {
            sorter.unchanged += 1;
            return;
        }
        let undecided = self.why_not_compared(one, other);
        sorter.add(Some(one), Some(other), fields, undecided);
    }

    /// Returns why a difference between the data of a result may lie in the runs. It is empty if it lies in the site.
    fn why_not_compared(&self, one: &Entry, other: &Entry) -> Vec<Undecided> {
        let modules: BTreeSet<&str> = one.sources().chain(other.sources()).collect();
        let mut undecided = Vec::new();
        for module in modules {
            for (side, run) in [(&self.before, RunSide::Before), (&self.after, RunSide::After)] {
                if let Some(cause) = side.why_not_read(module) {
                    undecided.push(side.undecided(module, run, cause));
                }
            }
            if self.before.rules(module) != self.after.rules(module) {
                undecided.push(self.after.undecided(module, RunSide::After, Cause::OtherRules));
            }
            if one.is_looked_up || other.is_looked_up {
                undecided.push(self.after.undecided(module, RunSide::After, Cause::LookedUp));
            }
        }
        if undecided.is_empty()
            && (!one.sources().eq(other.sources()) || one.has_all_sources() || other.has_all_sources())
        {
            let modules: BTreeSet<&str> = one.sources().chain(other.sources()).collect();
            let cause = |module| self.after.undecided(module, RunSide::After, Cause::OtherSources);
            undecided.extend(modules.into_iter().map(cause));
        }
        undecided
    }
}

/// Accounts without a partner of equal key, by entity.
type Leftover<'a> = BTreeMap<Uuid, Vec<&'a Entry>>;

/// The results of two runs, put side by side.
#[derive(Default)]
struct Pairs<'a> {
    both: Vec<(&'a Entry, &'a Entry)>,
    only_before: Vec<&'a Entry>,
    only_after: Vec<&'a Entry>,
}

/// The differences found so far, by kind.
#[derive(Default)]
struct Sorter {
    added: Vec<Difference>,
    removed: Vec<Difference>,
    changed: Vec<Difference>,
    unknown: Vec<Difference>,
    unchanged: usize,
}

impl Sorter {
    fn add_single(&mut self, before: Option<&Entry>, after: Option<&Entry>, undecided: Vec<Undecided>) {
        self.add(before, after, Vec::new(), undecided);
    }

    fn add(
        &mut self,
        before: Option<&Entry>,
        after: Option<&Entry>,
        fields: Vec<FieldChange>,
        mut undecided: Vec<Undecided>,
    ) {
        let Some(record) = after.or(before).map(|entry| &entry.record) else { return };
        undecided.sort_by(|one, other| {
            let key = |it: &Undecided| (it.module.clone(), it.run, it.cause);
            key(one).cmp(&key(other))
        });
        let list = match (before, after) {
            _ if !undecided.is_empty() => &mut self.unknown,
            (Some(_), Some(_)) => &mut self.changed,
            (Some(_), None) => &mut self.removed,
            (None, _) => &mut self.added,
        };
        list.push(Difference {
            result_type: record.result_type.clone(),
            platform: record.platform.clone(),
            value: record.value.clone(),
            profile_url: record.metadata.get("profile_url").and_then(|url| url.as_str()).map(str::to_owned),
            before_id: before.map(|entry| entry.record.id),
            after_id: after.map(|entry| entry.record.id),
            fields,
            undecided,
        });
    }

    /// Puts the differences into the diff, in the order in which people read them.
    fn finish(self, diff: Diff) -> Diff {
        let sorted = |mut list: Vec<Difference>| {
            list.sort_by_cached_key(|it| {
                let folded = |text: &Option<String>| text.as_deref().unwrap_or_default().to_lowercase();
                (it.result_type.clone(), folded(&it.platform), folded(&it.value), it.value.clone())
            });
            list
        };
        let Self { added, removed, changed, unknown, unchanged } = self;
        let counts = DiffCounts {
            added: added.len(),
            removed: removed.len(),
            changed: changed.len(),
            unknown: unknown.len(),
            unchanged,
        };
        Diff {
            counts,
            added: sorted(added),
            removed: sorted(removed),
            changed: sorted(changed),
            unknown: sorted(unknown),
            ..diff
        }
    }
}
