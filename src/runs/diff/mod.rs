//! What changed between two runs of one query.
//!
//! A difference is stated only if the runs prove it. A site that was blocked in one run says nothing about what it has,
//! so its results are `unknown`, and never `removed` or `added`.
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

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use uuid::Uuid;

use super::record::Findings;
use crate::model::diff::{Cause, ComparedRun, Diff, DiffCounts, Difference, RunSide, Undecided};
use crate::model::entity::identified::Entity;
use crate::model::entity::merge::{self, MAX_SOURCES};
use crate::model::entity::{EntityKey, folded};
use crate::model::run::{ModuleReport, ResultRecord, Status};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::rules_version::RulesVersion;
use crate::runs::leads::lead::FOUND_BY;
use fields::differences;

/// Why two runs cannot be compared. The display text is meant for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// A run has not ended.
    #[error("a run has not ended; only runs that have ended can be compared")]
    Running,
    /// The queries have different types or normal forms.
    #[error("the runs have different queries; only runs of one type and query can be compared")]
    OtherQuery,
    /// Only one of the runs asked the real web.
    #[error("only one of the runs is of the simulated web; two runs of the same web can be compared")]
    OtherWeb,
}

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
        let sides = [before, after].map(|run| Side::of(run, after.modules, profiles));
        let modules: BTreeSet<&str> = sides.iter().flat_map(|side| side.reports.keys().copied()).collect();
        let is_compared = |module: &&&str| sides.iter().all(|side| side.is_conclusive(module));
        let modules_compared = modules.iter().filter(is_compared).count();
        let mut diff = Self {
            search_type: after.query.search_type(),
            query: after.query.normal().to_owned(),
            before: sides[0].head(before),
            after: sides[1].head(after),
            counts: DiffCounts::default(),
            modules_compared,
            modules_not_compared: modules.len() - modules_compared,
            added: Vec::new(),
            removed: Vec::new(),
            changed: Vec::new(),
            unknown: Vec::new(),
        };
        let [before, after] = &sides;
        for (one, other) in paired(before, after) {
            diff.add(one, other, before, after);
        }
        diff.sort_and_count();
        Ok(diff)
    }

    /// Adds what the runs show about a result that one of them has, or both.
    fn add(&mut self, one: Option<&Entry>, other: Option<&Entry>, before: &Side<'_>, after: &Side<'_>) {
        let Some(record) = other.or(one).map(|entry| &entry.record) else { return };
        let (list, fields, mut undecided) = match (one, other) {
            (Some(one), Some(other)) => {
                let fields = differences(&one.record, &other.record, one.key != other.key);
                if fields.is_empty() {
                    self.counts.unchanged += 1;
                    return;
                }
                (&mut self.changed, fields, why_not_compared(one, other, before, after))
            }
            (Some(gone), None) => {
                (&mut self.removed, Vec::new(), after.why_undecided(gone, before, RunSide::After))
            }
            (None, new) => {
                let undecided = new.map(|new| before.why_undecided(new, after, RunSide::Before));
                (&mut self.added, Vec::new(), undecided.unwrap_or_default())
            }
        };
        undecided.sort_by_cached_key(|it| (it.module.clone(), it.run, it.cause));
        let list = if undecided.is_empty() { list } else { &mut self.unknown };
        list.push(Difference {
            result_type: record.result_type.clone(),
            platform: record.platform.clone(),
            value: record.value.clone(),
            profile_url: record.metadata.get("profile_url").and_then(|url| url.as_str()).map(str::to_owned),
            before_id: one.map(|entry| entry.record.id),
            after_id: other.map(|entry| entry.record.id),
            fields,
            undecided,
        });
    }

    /// Puts the differences into the order in which people read them.
    fn sort_and_count(&mut self) {
        let folded = |text: &Option<String>| text.as_deref().unwrap_or_default().to_lowercase();
        for list in [&mut self.added, &mut self.removed, &mut self.changed, &mut self.unknown] {
            list.sort_by_cached_key(|it| {
                (it.result_type.clone(), folded(&it.platform), folded(&it.value), it.value.clone())
            });
        }
        self.counts = DiffCounts {
            added: self.added.len(),
            removed: self.removed.len(),
            changed: self.changed.len(),
            unknown: self.unknown.len(),
            unchanged: self.counts.unchanged,
        };
    }
}

/// Returns the results that are the same in both runs, and those that only one run has.
fn paired<'a>(before: &'a Side<'_>, after: &'a Side<'_>) -> Vec<(Option<&'a Entry>, Option<&'a Entry>)> {
    let mut only_after: BTreeMap<Option<Uuid>, VecDeque<&Entry>> = BTreeMap::new();
    for new in after.entries.values().filter(|new| !before.entries.contains_key(&new.key)) {
        only_after.entry(new.account).or_default().push_back(new);
    }
    let mut same_account =
        |one: &Entry| one.account.and_then(|account| only_after.get_mut(&Some(account))?.pop_front());
    let of_before = before.entries.values().map(|one| {
        let other = after.entries.get(&one.key).or_else(|| same_account(one));
        (Some(one), other)
    });
    let mut pairs: Vec<_> = of_before.collect();
    pairs.extend(only_after.into_values().flatten().map(|new| (None, Some(new))));
    pairs
}

/// Returns why a difference between the data of a result may lie in the runs. It is empty if it lies in the site.
fn why_not_compared(one: &Entry, other: &Entry, before: &Side<'_>, after: &Side<'_>) -> Vec<Undecided> {
    let modules: BTreeSet<&String> = one.sources.iter().chain(&other.sources).collect();
    let mut undecided = Vec::new();
    for module in &modules {
        for (side, run) in [(before, RunSide::Before), (after, RunSide::After)] {
            undecided.extend(side.why_not_read(module).map(|cause| side.undecided(module, run, cause)));
        }
        if before.rules(module) != after.rules(module) {
            undecided.push(after.undecided(module, RunSide::After, Cause::OtherRules));
        }
        if one.is_looked_up || other.is_looked_up {
            undecided.push(after.undecided(module, RunSide::After, Cause::LookedUp));
        }
    }
    if undecided.is_empty()
        && (one.sources != other.sources || one.has_all_sources() || other.has_all_sources())
    {
        let cause = |module: &&String| after.undecided(module, RunSide::After, Cause::OtherSources);
        undecided.extend(modules.iter().map(cause));
    }
    undecided
}

/// A result of a run.
struct Entry {
    key: EntityKey,
    /// The result, with the platform's name of the later run.
    record: ResultRecord,
    /// The entity of an account or profile.
    account: Option<Uuid>,
    /// The value by which a module would find it again, if it is compared only within its platform.
    name: Option<String>,
    /// Whether it was found by following a link, so that a module asks for it only if the link is there.
    is_looked_up: bool,
    /// The ids of the modules that found the result, in the order in which they did.
    sources: Vec<String>,
}

impl Entry {
    fn of(key: EntityKey, record: ResultRecord, sources: Vec<String>, profiles: &ProfileIndex) -> Self {
        let kind = ResultType::from_name(&record.result_type);
        let is_account = matches!(kind, Some(ResultType::Account | ResultType::Profile));
        let is_named = is_account || kind == Some(ResultType::Tenant);
        Self {
            key,
            account: is_account.then(|| Entity::of_result(&record, profiles).id),
            name: record.value.as_deref().filter(|_| is_named).map(folded),
            is_looked_up: record.metadata.contains_key(FOUND_BY),
            sources,
            record,
        }
    }

    /// Returns the modules that found something on a platform, with its name.
    fn names(&self) -> impl Iterator<Item = (String, String)> {
        let name = self.name.iter();
        name.flat_map(|name| self.sources.iter().map(|module| (module.clone(), name.clone())))
    }

    /// Returns whether there may be further sources, which are not listed.
    fn has_all_sources(&self) -> bool {
        self.sources.len() >= MAX_SOURCES
    }
}

/// One of the two runs, and what its modules prove.
struct Side<'a> {
    entries: BTreeMap<EntityKey, Entry>,
    accounts: BTreeSet<Uuid>,
    /// The modules that found something on a platform, with its name.
    names: BTreeSet<(String, String)>,
    reports: BTreeMap<&'a str, &'a ModuleReport>,
    has_failed: bool,
}

impl<'a> Side<'a> {
    /// Prepares a run. `later` are the modules of the later run, which may call their platforms by other names.
    fn of(run: &Findings<'a>, later: &[ModuleReport], profiles: &ProfileIndex) -> Self {
        let reports: BTreeMap<&str, &ModuleReport> =
            run.modules.iter().map(|report| (report.module.as_str(), report)).collect();
        let names = later.iter().filter_map(|report| {
            let old = reports.get(report.module.as_str()).map(|own| own.platform.as_str())?;
            (old != report.platform).then_some((report.module.as_str(), (old, &report.platform)))
        });
        let renamed: BTreeMap<&str, (&str, &String)> = names.collect();
        let mut entries: BTreeMap<EntityKey, Entry> = BTreeMap::new();
        let mut results: Vec<&ResultRecord> = run.results.iter().collect();
        results.sort_by_key(|record| record.id);
        for record in results {
            let mut record = record.clone();
            let sources = merge::modules(&record);
            if let Some((old, new)) = sources.iter().find_map(|module| renamed.get(module.as_str()))
                && record.platform.as_deref() == Some(*old)
            {
                record.platform = Some((*new).clone());
            }
            let key = EntityKey::of(&record);
            // An earlier version stored equal entities as separate results.
            if let Some(known) = entries.get_mut(&key) {
                merge::merge(&mut known.record, &record);
                known.sources = merge::modules(&known.record);
            } else {
                entries.insert(key, Entry::of(key, record, sources, profiles));
            }
        }
        Self {
            accounts: entries.values().filter_map(|entry| entry.account).collect(),
            names: entries.values().flat_map(Entry::names).collect(),
            entries,
            reports,
            has_failed: run.status != Status::Completed,
        }
    }

    /// Returns the run as the diff shows it.
    fn head(&self, run: &Findings<'_>) -> ComparedRun {
        let Findings { run_id, status, created_at, .. } = *run;
        ComparedRun { run_id, status, created_at, total_results: self.entries.len() }
    }

    fn is_conclusive(&self, module: &str) -> bool {
        !self.has_failed && self.reports.get(module).is_some_and(|report| report.status.is_conclusive())
    }

    /// Returns the rules by which a module came to its conclusion.
    fn rules(&self, module: &str) -> Option<RulesVersion> {
        self.reports.get(module)?.rules
    }

    /// Returns why nobody can say that a result of the other run is missing in this one. It is empty if every module that
    /// found the result there looked for it here and did not find it.
    fn why_undecided(&self, entry: &Entry, other: &Side<'_>, run: RunSide) -> Vec<Undecided> {
        let is_found = entry.account.is_some_and(|account| self.accounts.contains(&account))
            || entry.names().any(|name| self.names.contains(&name));
        let cause = |module: &str| match () {
            () if is_found => Some(Cause::StillFound),
            () if entry.is_looked_up => Some(Cause::LookedUp),
            () if entry.has_all_sources() => Some(Cause::OtherSources),
            () => self.why_no_absence(module, other.rules(module)),
        };
        let sources = entry.sources.iter();
        sources.filter_map(|module| Some(self.undecided(module, run, cause(module)?))).collect()
    }

    /// Returns why a module's outcome does not prove that something is missing which it found in the other run by
    /// `rules`.
    fn why_no_absence(&self, module: &str, rules: Option<RulesVersion>) -> Option<Cause> {
        let report = self.reports.get(module);
        let miss = report.filter(|report| report.status == Outcome::Miss && !self.has_failed);
        let cause = match miss {
            Some(report) => report.reason.map(|_| Cause::WeakMiss),
            None => self.why_not_read(module),
        };
        cause.or_else(|| match (self.rules(module), rules) {
            (Some(own), Some(rules)) => {
                let is_same = if miss.is_some() { rules.is_of_same_entry(own) } else { rules == own };
                (!is_same).then_some(Cause::OtherRules)
            }
            _ => Some(Cause::RulesUnknown),
        })
    }

    /// Returns why a module may not have read everything that its site has about the query.
    fn why_not_read(&self, module: &str) -> Option<Cause> {
        let Some(report) = self.reports.get(module) else { return Some(Cause::NotAsked) };
        match (report.status, report.reason, report.rules) {
            _ if self.has_failed => Some(Cause::RunFailed),
            (Outcome::Hit, reason, _) if reason.is_some() || report.partial => Some(Cause::Incomplete),
            (Outcome::Hit, _, None) => Some(Cause::RulesUnknown),
            (Outcome::Hit, _, Some(_)) => None,
            // Another module found the result here.
            (Outcome::Miss, ..) => Some(Cause::OtherSources),
            _ => Some(Cause::NoConclusion),
        }
    }

    /// Returns the entry of a module for `undecided`.
    fn undecided(&self, module: &str, run: RunSide, cause: Cause) -> Undecided {
        let report = self.reports.get(module);
        Undecided {
            module: module.to_owned(),
            run,
            cause,
            status: report.map(|report| report.status),
            reason: report.and_then(|report| report.reason),
        }
    }
}
