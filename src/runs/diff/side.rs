//! [`Side`]: one of the two runs, and what its modules prove.

use std::collections::{BTreeMap, BTreeSet};

use uuid::Uuid;

use crate::model::diff::{Cause, ComparedRun, RunSide, Undecided};
use crate::model::entity::identified::Entity;
use crate::model::entity::merge::{self, MAX_SOURCES};
use crate::model::entity::{EntityKey, folded, kind};
use crate::model::run::{ModuleReport, ResultRecord, Status};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::rules_version::RulesVersion;
use crate::runs::leads::lead::FOUND_BY;
use crate::runs::record::Findings;

/// A result of a run.
pub(super) struct Entry {
    pub(super) key: EntityKey,
    /// The result, with the platform's name of the later run.
    pub(super) record: ResultRecord,
    /// The entity of an account or profile.
    pub(super) account: Option<Uuid>,
    /// The value by which a module would find it again, if it is compared only within its platform.
    name: Option<String>,
    /// Whether it was found by following a link, so that a module asks for it only if the link is there.
    pub(super) is_looked_up: bool,
    sources: Vec<String>,
}

impl Entry {
    /// Returns the ids of the modules that found the result, in the order in which they did.
    pub(super) fn sources(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(String::as_str)
    }

    /// Returns the modules that found something on a platform, with its name.
    fn names(&self) -> impl Iterator<Item = (String, String)> {
        let name = self.name.clone();
        self.sources.iter().filter_map(move |module| Some((module.clone(), name.clone()?)))
    }

    /// Returns whether there may be further sources, which are not listed.
    pub(super) fn has_all_sources(&self) -> bool {
        self.sources.len() >= MAX_SOURCES
    }
}

/// One of the two runs.
pub(super) struct Side<'a> {
    pub(super) entries: BTreeMap<EntityKey, Entry>,
    accounts: BTreeSet<Uuid>,
    /// The modules that found something on a platform, with its name.
    names: BTreeSet<(String, String)>,
    reports: BTreeMap<&'a str, &'a ModuleReport>,
    has_failed: bool,
}

impl<'a> Side<'a> {
    /// Prepares a run. `renamed` has the platforms of modules that have another name now, with that name.
    pub(super) fn new(
        run: &Findings<'a>,
        renamed: &BTreeMap<&str, (&str, &str)>,
        profiles: &ProfileIndex,
    ) -> Self {
        let mut entries: BTreeMap<EntityKey, Entry> = BTreeMap::new();
        let mut results: Vec<&ResultRecord> = run.results.iter().collect();
        results.sort_by_key(|record| record.id);
        for record in results {
            let mut record = record.clone();
            let sources = merge::modules(&record);
            let name = sources.iter().find_map(|module| renamed.get(module.as_str()));
            if let Some((old, new)) = name
                && record.platform.as_deref() == Some(*old)
            {
                record.platform = Some((*new).to_owned());
            }
            let key = EntityKey::of(&record);
            // An earlier version stored equal entities as separate results.
            if let Some(known) = entries.get_mut(&key) {
                merge::merge(&mut known.record, &record);
                known.sources = merge::modules(&known.record);
                continue;
            }
            let kind = kind(&record.result_type);
            let is_account = matches!(kind, Some(ResultType::Account | ResultType::Profile));
            let is_named = is_account || kind == Some(ResultType::Tenant);
            let name = record.value.as_deref().filter(|_| is_named).map(folded);
            let account = is_account.then(|| Entity::of_result(&record, profiles).id);
            let is_looked_up = record.metadata.contains_key(FOUND_BY);
            entries.insert(key, Entry { key, record, account, name, is_looked_up, sources });
        }
        Self {
            names: entries.values().flat_map(Entry::names).collect(),
            accounts: entries.values().filter_map(|entry| entry.account).collect(),
            entries,
            reports: run.modules.iter().map(|report| (report.module.as_str(), report)).collect(),
            has_failed: run.status != Status::Completed,
        }
    }

    /// Returns the run as the diff shows it.
    pub(super) fn head(&self, run: &Findings<'_>) -> ComparedRun {
        ComparedRun {
            run_id: run.run_id,
            status: run.status,
            created_at: run.created_at,
            total_results: self.entries.len(),
        }
    }

    /// Returns the ids of the modules that took part.
    pub(super) fn modules(&self) -> impl Iterator<Item = &'a str> {
        self.reports.keys().copied()
    }

    pub(super) fn is_conclusive(&self, module: &str) -> bool {
        !self.has_failed && self.reports.get(module).is_some_and(|report| report.status.is_conclusive())
    }

    /// Returns the rules by which a module came to its conclusion.
    pub(super) fn rules(&self, module: &str) -> Option<RulesVersion> {
        self.reports.get(module)?.rules
    }

    /// Returns why nobody can say that a result of the other run is missing in this one. It is empty if every module that
    /// found the result there looked for it here and did not find it.
    pub(super) fn why_undecided(&self, entry: &Entry, other: &Self, run: RunSide) -> Vec<Undecided> {
        let is_found = entry.account.is_some_and(|account| self.accounts.contains(&account))
            || entry.names().any(|name| self.names.contains(&name));
        let cause = |module: &str| match () {
            () if is_found => Some(Cause::StillFound),
            () if entry.is_looked_up => Some(Cause::LookedUp),
            () if entry.has_all_sources() => Some(Cause::OtherSources),
            () => self.why_no_absence(module, other.rules(module)),
        };
        let undecided =
            entry.sources().filter_map(|module| Some(self.undecided(module, run, cause(module)?)));
        undecided.collect()
    }

    /// Returns why a module's outcome does not prove that something is missing which it found in the other run by
    /// `rules`.
    fn why_no_absence(&self, module: &str, rules: Option<RulesVersion>) -> Option<Cause> {
        let Some(report) = self.reports.get(module) else { return Some(Cause::NotAsked) };
        if report.status == Outcome::Hit {
            let other = || match rules {
                None => Some(Cause::RulesUnknown),
                rules => (self.rules(module) != rules).then_some(Cause::OtherRules),
            };
            return self.why_not_read(module).or_else(other);
        }
        let is_same = |own: RulesVersion| rules.is_some_and(|rules| rules.is_of_same_entry(own));
        match (report.status, report.reason, report.rules) {
            _ if self.has_failed => Some(Cause::RunFailed),
            (Outcome::Miss, Some(_), _) => Some(Cause::WeakMiss),
            (Outcome::Miss, None, None) => Some(Cause::RulesUnknown),
            (Outcome::Miss, None, Some(_)) if rules.is_none() => Some(Cause::RulesUnknown),
            (Outcome::Miss, None, Some(own)) => (!is_same(own)).then_some(Cause::OtherRules),
            _ => Some(Cause::NoConclusion),
        }
    }

    /// Returns why a module may not have read everything that its site has about the query.
    pub(super) fn why_not_read(&self, module: &str) -> Option<Cause> {
        let Some(report) = self.reports.get(module) else { return Some(Cause::NotAsked) };
        match (report.status, report.reason, report.rules) {
            _ if self.has_failed => Some(Cause::RunFailed),
            (Outcome::Hit, Some(_), _) => Some(Cause::Incomplete),
            (Outcome::Hit, None, _) if report.partial => Some(Cause::Incomplete),
            (Outcome::Hit, None, None) => Some(Cause::RulesUnknown),
            (Outcome::Hit, None, Some(_)) => None,
            // Another module found the result here.
            (Outcome::Miss, ..) => Some(Cause::OtherSources),
            _ => Some(Cause::NoConclusion),
        }
    }

    /// Returns the entry of a module for `undecided`.
    pub(super) fn undecided(&self, module: &str, run: RunSide, cause: Cause) -> Undecided {
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
