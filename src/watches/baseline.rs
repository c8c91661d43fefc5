//! [`Baseline`]: the last conclusion of each module of a watch, with which its next run is compared.
//!
//! A run that a site has blocked says nothing about the site, so the conclusion of an earlier run stays until the module
//! comes to another one. The results are kept here, because the run that found them may be deleted by then.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::base::ids::RunId;
use crate::model::diff::{Diff, Difference};
use crate::model::entity::{EntityKey, merge};
use crate::model::notes::{Annotation, StoredNotes};
use crate::model::refusal::Refusal;
use crate::model::run::{ModuleReport, ResultRecord, Status};
use crate::model::watch::{ChangeKind, FoundChange};
use crate::modules::outcome::Outcome;
use crate::modules::profile_index::ProfileIndex;
use crate::runs::record::Findings;

/// What a run has shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known<T> {
    /// The run.
    pub run: RunId,
    /// The report of a module, or a result.
    pub seen: T,
    /// The run and the result of the owner's verdict on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    judged: Option<(RunId, u32)>,
}

/// The last conclusion of each module, with the results. As JSON, it is stored with the watch. The default value is that
/// of a watch without a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    modules: Vec<Known<ModuleReport>>,
    results: Vec<Known<ResultRecord>>,
}

impl Baseline {
    /// Brings the verdicts up to date that the owner has given on the results of the baseline, or on results in their place
    /// in earlier runs. `notes` reads those of a run that exists. A verdict stays when its run is deleted.
    ///
    /// # Errors
    /// Returns the errors of `notes`.
    pub fn judge<E>(&mut self, notes: impl Fn(RunId) -> Result<Option<StoredNotes>, E>) -> Result<(), E> {
        let mut of_runs = BTreeMap::new();
        for Known { run, seen, judged } in &mut self.results {
            for at in [Some((*run, seen.id)), *judged].into_iter().flatten() {
                let noted = match of_runs.entry(at.0) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(unknown) => unknown.insert(notes(at.0)?),
                };
                let Some(noted) = noted else { continue };
                let verdict = noted.results.get(&at.1).and_then(|annotation| annotation.verdict);
                if verdict.is_some() || *judged == Some(at) {
                    *judged = verdict.map(|_| at);
                    seen.annotation = verdict.map(|_| Annotation { verdict, ..Annotation::default() });
                    break;
                }
            }
        }
        Ok(())
    }

    /// Compares a run that has ended with this baseline. Returns what has changed, and the baseline for the next run.
    /// A run that failed proves nothing and leaves the baseline as it is.
    ///
    /// # Errors
    /// Fails if the run has not ended.
    pub fn compare(
        &self,
        run: &Findings<'_>,
        profiles: &ProfileIndex,
    ) -> Result<(Vec<FoundChange>, Self), Refusal> {
        if run.status == Status::Failed {
            return Ok((Vec::new(), self.clone()));
        }
        let results: Vec<ResultRecord> =
            (1..).zip(&self.results).map(|(id, known)| ResultRecord { id, ..known.seen.clone() }).collect();
        let modules: Vec<ModuleReport> = self.modules.iter().map(|known| known.seen.clone()).collect();
        let before =
            Findings { status: Status::Completed, results: &results, modules: &modules, ..run.clone() };
        let diff = Diff::between(&before, run, profiles)?;
        let next = self.next(run, &diff);
        let kinds = [ChangeKind::Added, ChangeKind::Removed, ChangeKind::Changed];
        let lists = [diff.added, diff.removed, diff.changed];
        let changes = kinds.into_iter().zip(lists).flat_map(|(kind, list)| {
            list.into_iter().map(move |difference| self.change(kind, run, difference))
        });
        Ok((changes.collect(), next))
    }

    /// Returns a difference as a change. The number of a result is that in the run that has shown it.
    fn change(&self, kind: ChangeKind, run: &Findings<'_>, difference: Difference) -> FoundChange {
        let known = difference.before_id.and_then(|id| self.results.get(position(id)));
        let source = |id| run.results.iter().find(|result| Some(result.id) == id);
        let run_before = known.map(|known| known.run).or_else(|| {
            let module = source(difference.after_id).map(|result| result.source.as_str())?;
            self.modules.iter().find(|known| known.seen.module == module).map(|known| known.run)
        });
        let before_id = known.map(|known| known.seen.id);
        let difference = json!(Difference { before_id, ..difference });
        FoundChange { kind, run_before: run_before.unwrap_or(run.run_id), difference }
    }

    /// Returns the baseline after a run.
    ///
    /// The conclusion of a module is replaced if the module read all of its answer, or if there was none. The results of
    /// the modules are replaced with it, and each change that was found is part of the new baseline, so that it is found
    /// only once.
    fn next(&self, run: &Findings<'_>, diff: &Diff) -> Self {
        let concluded = run.modules.iter().filter(|report| self.is_replaced_by(report));
        let concluded: BTreeSet<&str> = concluded.map(|report| report.module.as_str()).collect();
        let is_concluded = |module: &String| concluded.contains(module.as_str());
        let have_all_concluded = |result: &ResultRecord| merge::modules(result).iter().all(is_concluded);
        let changed = diff.added.iter().chain(&diff.changed).filter_map(|it| it.after_id);
        let changed: BTreeSet<u32> = changed.collect();
        // The positions of the results that are no longer there, or are there under another key.
        let replaced = diff.removed.iter().chain(&diff.changed).filter_map(|it| it.before_id);
        let mut replaced: BTreeSet<usize> = replaced.map(position).collect();
        let keys: Vec<EntityKey> = self.results.iter().map(|known| EntityKey::of(&known.seen)).collect();
        let known: BTreeMap<EntityKey, usize> = keys.iter().copied().zip(0..).collect();
        let found: BTreeSet<EntityKey> = run.results.iter().map(EntityKey::of).collect();
        let mut results = Vec::new();
        for result in run.results {
            let old = known.get(&EntityKey::of(result)).copied();
            let is_replaced = || match old {
                Some(index) => have_all_concluded(&self.results[index].seen),
                None => merge::modules(result).iter().any(is_concluded),
            };
            if changed.contains(&result.id) || is_replaced() {
                replaced.extend(old);
                let old = old.map(|old| &self.results[old]);
                let annotation = old.and_then(|old| old.seen.annotation.clone());
                let seen = ResultRecord { annotation, ..result.clone() };
                results.push(Known { run: run.run_id, seen, judged: old.and_then(|old| old.judged) });
            }
        }
        let is_kept = |(index, known): &(usize, &Known<ResultRecord>)| {
            !replaced.contains(index) && (found.contains(&keys[*index]) || !have_all_concluded(&known.seen))
        };
        let kept = self.results.iter().enumerate().filter(is_kept).map(|(_, known)| known.clone());
        let is_open = |known: &&Known<ModuleReport>| !is_concluded(&known.seen.module);
        let new = run.modules.iter().filter(|report| is_concluded(&report.module));
        let new = new.map(|report| Known { run: run.run_id, seen: report.clone(), judged: None });
        Self {
            modules: self.modules.iter().filter(is_open).cloned().chain(new).collect(),
            results: kept.chain(results).collect(),
        }
    }

    /// Returns whether the report of a run replaces what is known of its module. A weak miss, which proves nothing, and a
    /// hit of which only a part was read replace no hit.
    fn is_replaced_by(&self, report: &ModuleReport) -> bool {
        let is_whole = report.reason.is_none() && !report.partial && report.rules.is_some();
        match report.status {
            Outcome::Hit | Outcome::Miss if is_whole => true,
            Outcome::Hit => {
                let known = self.modules.iter().find(|known| known.seen.module == report.module);
                known.is_none_or(|known| known.seen.status != Outcome::Hit)
            }
            _ => false,
        }
    }
}

/// Returns the position of the result that [`Baseline::compare`] has given this number.
fn position(id: u32) -> usize {
    (id as usize).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::modules::catalog::Catalog;
    use crate::modules::query::{Query, SearchType};
    use crate::modules::reason::Reason;

    /// The outcome of the module `github` in one run, with the display name of the account that it found.
    struct Seen(Outcome, Option<Reason>, bool, Option<&'static str>);

    const GONE: Seen = Seen(Outcome::Miss, None, false, None);
    const BLOCKED: Seen = Seen(Outcome::Blocked, Some(Reason::Captcha), false, None);

    fn hit(name: &'static str) -> Seen {
        Seen(Outcome::Hit, None, false, Some(name))
    }

    /// Compares runs one after the other. Returns the kinds of the changes of each.
    fn changes(runs: &[Seen]) -> Vec<Vec<ChangeKind>> {
        let catalog = Catalog::builtin().unwrap();
        let mut baseline = Baseline::default();
        let kinds = runs.iter().map(|Seen(status, reason, partial, name)| {
            let is_conclusive = matches!(status, Outcome::Hit | Outcome::Miss);
            let report = json!({
                "module": "github", "platform": "GitHub", "status": status, "reason": reason, "http_status": 200,
                "elapsed_ms": 1, "rules": is_conclusive.then_some("3f9a1c07"), "partial": partial,
            });
            let results = name.map(|name| {
                json!({
                    "id": 1, "type": "account", "entity_type": "account", "platform": "GitHub", "value": "alice",
                    "confidence": 0.9, "source": "github", "created_at": "2026-05-06T07:08:09.010Z",
                    "metadata": {"display_name": name},
                })
            });
            let modules: Vec<ModuleReport> = vec![serde_json::from_value(report).unwrap()];
            let results: Vec<ResultRecord> =
                results.into_iter().map(|result| serde_json::from_value(result).unwrap()).collect();
            let query = Query::parse(SearchType::Username, "alice").unwrap();
            let run = Findings { modules: &modules, ..Findings::new(RunId::new(), query, &results) };
            let (changes, next) = baseline.compare(&run, catalog.profiles()).unwrap();
            // The stored form keeps everything.
            baseline = serde_json::from_str(&serde_json::to_string(&next).unwrap()).unwrap();
            assert_eq!(baseline, next);
            changes.into_iter().map(|change| change.kind).collect()
        });
        kinds.collect()
    }

    #[test]
    fn a_site_that_is_blocked_in_between_has_not_changed() {
        assert_eq!(changes(&[hit("Alice"), BLOCKED, BLOCKED, hit("Alice")]), vec![vec![]; 4]);
        assert_eq!(changes(&[BLOCKED, hit("Alice"), hit("Alice")]), vec![vec![]; 3]);
        assert_eq!(changes(&[GONE, BLOCKED, GONE]), vec![vec![]; 3]);
    }

    #[test]
    fn a_change_is_found_once_even_if_the_site_was_blocked_meanwhile() {
        use ChangeKind::{Added, Changed, Removed};
        let all =
            [hit("Alice"), BLOCKED, hit("Bob"), hit("Bob"), BLOCKED, GONE, GONE, hit("Bob"), hit("Bob")];
        let found =
            [vec![], vec![], vec![Changed], vec![], vec![], vec![Removed], vec![], vec![Added], vec![]];
        assert_eq!(changes(&all), found);
    }

    #[test]
    fn a_weak_miss_and_a_part_of_an_answer_prove_no_absence_and_replace_no_hit() {
        let weak = || Seen(Outcome::Miss, Some(Reason::Captcha), false, None);
        let part = || Seen(Outcome::Hit, None, true, Some("Bob"));
        let runs = [hit("Alice"), weak(), part(), hit("Alice"), hit("Bob")];
        assert_eq!(changes(&runs), [vec![], vec![], vec![], vec![], vec![ChangeKind::Changed]]);
        // A part of an answer proves that something is there.
        assert_eq!(
            changes(&[GONE, part(), part(), GONE]),
            [vec![], vec![ChangeKind::Added], vec![], vec![ChangeKind::Removed]]
        );
    }
}
