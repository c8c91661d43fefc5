//! [`UnstoredResults`]: the results of a run that are numbered and merged, but not stored yet.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::live::LiveRun;
use crate::model::drive::Delta;
use crate::model::entity::{EntityKey, merge};
use crate::model::run::ResultRecord;
use crate::modules::outcome::Finding;

/// The entities of a run, and those of them that must be stored. Only the driver uses this type.
pub(super) struct UnstoredResults {
    known: HashMap<EntityKey, u32>,
    next_id: u32,
    pending: Delta,
}

impl UnstoredResults {
    /// Starts with the results that the run has published.
    pub(super) fn of(run: &LiveRun) -> Self {
        let (summary, results, _) = run.snapshot();
        let mut known = HashMap::with_capacity(results.len());
        for result in &results {
            // An earlier version stored equal entities as separate results. The first of them gets later sources.
            known.entry(EntityKey::of(&result.record)).or_insert(result.record.id);
        }
        Self {
            known,
            next_id: results.last().map_or(1, |last| last.record.id + 1),
            pending: Delta { revision: summary.revision, ..Delta::default() },
        }
    }

    /// Adds a finding of a module at the moment `at`, either as a new result or as a source of a known one.
    pub(super) fn take(&mut self, run: &LiveRun, module: &str, finding: Finding, at: Timestamp) {
        let mut record = number(finding, self.next_id, module, at);
        merge::name_source(&mut record);
        let key = EntityKey::of(&record);
        match self.known.get(&key) {
            Some(&id) => self.add_source(run, id, &record),
            None => {
                self.known.insert(key, self.next_id);
                self.next_id += 1;
                self.pending.added.push(record);
            }
        }
    }

    fn add_source(&mut self, run: &LiveRun, id: u32, found: &ResultRecord) {
        let Delta { added, changed, .. } = &mut self.pending;
        if let Ok(at) = added.binary_search_by_key(&id, |record| record.id) {
            merge::merge(&mut added[at], found);
            return;
        }
        match changed.binary_search_by_key(&id, |record| record.id) {
            Ok(at) => {
                merge::merge(&mut changed[at], found);
            }
            Err(at) => {
                let Some(mut record) = run.published.result(id) else { return };
                if merge::merge(&mut record, found) {
                    changed.insert(at, record);
                }
            }
        }
    }

    /// Sets a metadata member of a stored result. Returns `false` if there is no such result.
    pub(super) fn set_member(&mut self, run: &LiveRun, id: u32, name: &str, value: Value) -> bool {
        let changed = &mut self.pending.changed;
        let at = match changed.binary_search_by_key(&id, |record| record.id) {
            Ok(at) => at,
            Err(at) => {
                let Some(record) = run.published.result(id) else { return false };
                changed.insert(at, record);
                at
            }
        };
        changed[at].metadata.insert(name.to_owned(), value);
        true
    }

    /// Returns whether all results are stored.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.added.is_empty() && self.pending.changed.is_empty()
    }

    /// Returns the results that the next try must store. Each try has its own revision, because a try whose answer
    /// was lost may have been stored and read.
    pub(super) fn next_try(&mut self) -> &Delta {
        self.pending.revision += 1;
        &self.pending
    }

    /// Records that the last try was stored. Returns its results for publication.
    pub(super) fn stored(&mut self) -> Delta {
        let next = Delta { revision: self.pending.revision, ..Delta::default() };
        std::mem::replace(&mut self.pending, next)
    }
}

fn number(finding: Finding, id: u32, module: &str, now: Timestamp) -> ResultRecord {
    ResultRecord {
        id,
        result_type: finding.result_type.as_str().to_owned(),
        entity_type: finding.result_type.as_str().to_owned(),
        platform: finding.platform,
        value: finding.value,
        confidence: finding.confidence,
        source: module.to_owned(),
        metadata: finding.metadata,
        created_at: now,
        annotation: None,
    }
}
