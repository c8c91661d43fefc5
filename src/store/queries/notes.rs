//! What owners note about their runs and results.

use super::results::KEEP;
use super::*;
use crate::modules::kept::{Kept, KeptAnswer};

row! { Annotation from "" { note, verdict, screenshot } }
row! { RunNotes from "" { tags = "coalesce(tags, '[]')", note } }

const OF_RUN: &str = "SELECT {row} FROM runs WHERE id = ?1";
const OF_RESULTS: &str = "SELECT result, {row} FROM annotations WHERE run = ?1";

/// Changes the notes of a run. `?3` and `?5` tell whether the tags and the note change.
const NOTE_RUN: &str = "UPDATE runs SET tags = CASE WHEN ?3 THEN CAST(?4 AS text) ELSE tags END, \
     note = CASE WHEN ?5 THEN CAST(?6 AS text) ELSE note END WHERE id = ?1 AND account = ?2 RETURNING {row}";

/// Adds or changes the annotation of a result. `?4` and `?6` tell whether the note and the verdict change.
const ANNOTATE: &str = "INSERT INTO annotations AS a (run, result, note, verdict) \
     SELECT r.run, r.id, CAST(?5 AS text), CAST(?7 AS text) FROM results r JOIN runs u ON u.id = r.run \
     WHERE r.run = ?1 AND u.account = ?2 AND r.id = ?3 /*pg FOR KEY SHARE OF r */ \
     ON CONFLICT (run, result) DO UPDATE SET note = CASE WHEN ?4 THEN excluded.note ELSE a.note END, \
     verdict = CASE WHEN ?6 THEN excluded.verdict ELSE a.verdict END RETURNING {row}";
const FORGET: &str = "DELETE FROM annotations WHERE run = ?1 AND result = ?2 AND note IS NULL AND verdict IS NULL \
     RETURNING screenshot";
const SHOW: &str = "UPDATE annotations SET screenshot = ?3 WHERE run = ?1 AND result = ?2 AND verdict = 'mine' \
     AND screenshot IS NULL";
const DROP: &str = "DELETE FROM evidence WHERE run = ?1 AND sha256 = ?2";

impl Store {
    /// Returns what is noted about a run and its results. Nothing is noted about an unknown run.
    pub fn notes(&self, run: RunId) -> Result<StoredNotes> {
        self.read("notes", |tx| {
            let notes = tx.first(OF_RUN, values![run])?.unwrap_or_default();
            Ok(StoredNotes { run: notes, results: tx.all(OF_RESULTS, values![run])?.into_iter().collect() })
        })
    }

    /// Changes the tags or the note of a run. Returns its notes, or `None` if it is unknown, deleted or of
    /// another account.
    pub fn note_run(
        &self,
        run: RunId,
        account: AccountId,
        update: &RunNotesUpdate,
        by: &Origin,
    ) -> Result<Option<RunNotes>> {
        let tags = update.tags.as_ref().filter(|tags| !tags.is_empty()).map(encode).transpose()?;
        let text = update.note.as_ref().and_then(Option::as_ref);
        let values = values![run, account, update.tags.is_some(), tags, update.note.is_some(), text];
        let event = AuditEvent::of_object(Action::RunAnnotated, account, run);
        self.noted(Operation::from("note_run").erasing(), NOTE_RUN, values, &event, by)
    }

    /// Changes the annotation of a stored result. Returns the annotation, or `None` if the result is unknown or the run
    /// is deleted or of another account.
    pub fn annotate(
        &self,
        run: RunId,
        result: u32,
        account: AccountId,
        update: &AnnotationUpdate,
        by: &Origin,
    ) -> Result<Option<Annotation>> {
        let text = update.note.as_ref().and_then(Option::as_ref);
        let verdict = update.verdict.flatten().map(Verdict::as_str);
        let (note, judged) = (update.note.is_some(), update.verdict.is_some());
        let values = values![run, account, result, note, text, judged, verdict];
        self.write(Operation::from("annotate").erasing(), |tx| {
            let Some(annotation): Option<Annotation> = tx.first(ANNOTATE, values)? else { return Ok(None) };
            let forgotten: Option<Option<KeptAnswer>> = tx.first(FORGET, values![run, result])?;
            if let Some(Some(screenshot)) = forgotten {
                tx.execute(DROP, values![run, screenshot.sha256])?;
            }
            let event = AuditEvent::of_object(Action::RunAnnotated, account, run).with("result", result);
            let event =
                if judged { event.with("verdict", annotation.verdict.map(Verdict::as_str)) } else { event };
            tx.note(&event, by)?;
            Ok(Some(annotation))
        })
    }

    /// Keeps the screenshot of a result that is mine and has none yet.
    pub fn keep_screenshot(&self, run: RunId, result: u32, kept: &Kept) -> Result<()> {
        self.write("keep_screenshot", |tx| {
            if tx.execute(SHOW, values![run, result, encode(&kept.answer)?])? > 0 {
                tx.execute(KEEP, values![run, kept.answer.sha256.as_str(), &*kept.gzip])?;
            }
            Ok(())
        })
    }
}
