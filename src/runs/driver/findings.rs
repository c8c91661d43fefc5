//! What the modules of a run have found: numbered, merged, and kept until it is saved.

use std::time::Duration;

use super::{Asked, Driver, place};
use crate::model::drive::Delta;
use crate::model::entity::{EntityKey, merge};
use crate::model::run::{ModuleReport, ResultRecord};
use crate::modules::kept::{Kept, KeptAnswer};
use crate::modules::module::Module;
use crate::modules::outcome::{Finding, Report};
use crate::modules::reason::Reason;
use crate::runs::leads::{FOUND_BY, FoundBy};
use crate::runs::pictures::avatar::AVATAR;
use crate::runs::pictures::picture::Picture;

/// The most bytes of evidence that a run keeps, compressed.
const MAX_EVIDENCE_BYTES: usize = 32 * 1024 * 1024;

impl Driver<'_> {
    /// Notes the end of a module, with an answer or without one: its findings are numbered and merged. The end of a look-up
    /// changes neither the coverage nor the end of the run.
    pub(super) fn note(&mut self, asked: &Asked, mut report: Report, took: Duration) {
        let (module, run_id) = (&*asked.module, self.run.id());
        self.runs.figures.note_check(module, &report, took);
        if let Some(lookup) = asked.lookup.and_then(|at| self.unsaved.lookups.get_mut(at)) {
            self.has_lookups = true;
            (lookup.outcome, lookup.reason) = (Some(report.outcome), report.reason);
            let (result_id, class, lead_id) = (lookup.result_id, lookup.class, lookup.lead_id);
            let by = serde_json::json!(FoundBy { run_id, result_id, class, lead_id });
            for finding in &mut report.findings {
                finding.metadata.insert(FOUND_BY.to_owned(), by.clone());
            }
        } else {
            // Without a request, the circuit is the reason.
            let is_kept = report.evidence.requests == 0 && report.reason.is_some_and(Reason::has_circuit);
            let module_report = ModuleReport {
                module: module.id().to_string(),
                platform: module.platform().to_owned(),
                status: report.outcome,
                reason: report.reason,
                http_status: report.evidence.http_status,
                elapsed_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                circuit: report.evidence.circuit.filter(|_| is_kept),
                rules: report.evidence.rules.clone(),
                partial: report.evidence.partial,
                engine: module.entry().needs_engines(),
            };
            module_report.cut().into_iter().for_each(|cut| self.runs.figures.note_cut(cut));
            self.unsaved.add_report(module_report);
        }
        let kept = report.kept.and_then(|kept| self.keep(kept));
        self.add(module, report.evidence.confidence, report.findings, kept.as_ref());
    }

    /// Keeps an answer as evidence, unless the run has kept as much as it may.
    fn keep(&mut self, Kept { answer, gzip }: Kept) -> Option<KeptAnswer> {
        let fits = self.kept_bytes + gzip.len() <= MAX_EVIDENCE_BYTES;
        fits.then(|| {
            self.kept_bytes += gzip.len();
            self.unsaved.evidence.insert(answer.sha256.clone(), gzip);
            answer
        })
    }

    /// Adds findings, each either as a new result or as a source of a known one. `kept` is the answer that they are read from.
    fn add(&mut self, module: &Module, confidence: f64, findings: Vec<Finding>, kept: Option<&KeptAnswer>) {
        for finding in findings {
            let result_type = finding.result_type.as_str().to_owned();
            let mut record = ResultRecord {
                id: self.next_id,
                entity_type: result_type.clone(),
                result_type,
                platform: Some(module.platform().to_owned()),
                value: Some(finding.value),
                confidence,
                source: module.id().to_string(),
                metadata: finding.metadata,
                created_at: self.newest,
                annotation: None,
            };
            merge::name_source(&mut record, kept.cloned());
            let key = EntityKey::of(&record);
            match self.known.get(&key) {
                Some(&id) => self.change(id, |known| merge::merge(known, &record)),
                None => {
                    self.known.insert(key, self.next_id);
                    self.next_id += 1;
                    self.unsaved.added.push(record);
                }
            }
        }
    }

    /// Adds a picture to its result.
    pub(super) fn add_picture(&mut self, result: u32, Picture { avatar, thumbnail }: Picture) {
        self.unsaved.thumbnails.insert(result, thumbnail);
        self.change(result, |record| {
            record.metadata.insert(AVATAR.to_owned(), serde_json::json!(avatar));
            true
        });
    }

    /// Changes a result, if there is one with that id. `change` returns whether it has changed anything.
    fn change(&mut self, id: u32, change: impl FnOnce(&mut ResultRecord) -> bool) {
        let Delta { added, changed, .. } = &mut self.unsaved;
        match (place(added, id), place(changed, id)) {
            (Ok(at), _) => drop(change(&mut added[at])),
            (_, Ok(at)) => drop(change(&mut changed[at])),
            (_, Err(at)) => {
                if let Ok(stored) = place(&self.results, id)
                    && let mut record = self.results[stored].clone()
                    && change(&mut record)
                {
                    changed.insert(at, record);
                }
            }
        }
    }
}
