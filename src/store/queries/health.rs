//! What was learned from searches. Documents are merged in Rust, so that the rules are the same in a process and in the
//! database.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::*;
use crate::model::health::{BreakerState, Learned};
use crate::model::tally::Tally;

/// Adds the rows of `?3` that do not exist yet, so that they can be locked.
const NEW: &str = "INSERT INTO learnt (kind, simulated, name, changed_at, document) \
     SELECT ?1, ?2, value ->> 0, clock_timestamp(), 'null' FROM json_each(?3) WHERE true ORDER BY 3 \
     ON CONFLICT (kind, simulated, name) DO NOTHING";
/// Locks and reads rows. Instances that write at the same time lock the rows in the same order, so they cannot wait for
/// each other in a circle.
const LOCK: &str = "SELECT name, document FROM learnt WHERE kind = ?1 AND simulated = ?2 \
     AND (name IN (SELECT value ->> 0 FROM json_each(?3)) OR ?3 IS NULL) ORDER BY name /*pg FOR NO KEY UPDATE */";
/// Writes the rows of `?3`, which all exist. An `UPDATE` would read the whole list once for each row in SQLite.
const WRITE: &str = "INSERT INTO learnt (kind, simulated, name, changed_at, document) \
     SELECT ?1, ?2, value ->> 0, clock_timestamp(), /*pg CAST( */ value ->> 1 /*pg AS json) */ \
     FROM json_each(?3) WHERE true ON CONFLICT (kind, simulated, name) DO UPDATE SET \
     changed_at = excluded.changed_at, document = excluded.document";
/// Selects the rows that have changed since `?3`. A minute more is read, because transactions may overtake each other.
const CHANGED: &str = "SELECT name, changed_at, document FROM learnt WHERE kind = ?1 AND simulated = ?2 \
     AND changed_at >= least(?3, clock_timestamp()) - ms(60000) ORDER BY name";
/// Removes what has not changed for a week, except the tallies of modules. No search has asked since then.
const FORGET: &str = "DELETE FROM learnt WHERE (kind, simulated, name) IN (SELECT kind, simulated, name FROM learnt \
     WHERE kind <> 'deadline' AND changed_at < clock_timestamp() - ms(604800000) /*pg FOR UPDATE SKIP LOCKED */)";
/// Counts a check. `changed_at` is that of the first one, and the document is the number of checks in the 24 hours since
/// then. Returns no row if there are `?3`.
const COUNT: &str = "INSERT INTO learnt AS l (kind, simulated, name, changed_at, document) \
     VALUES ('day', ?1, ?2, clock_timestamp(), '1') ON CONFLICT (kind, simulated, name) DO UPDATE SET \
     changed_at = CASE WHEN l.changed_at <= excluded.changed_at - ms(86400000) \
     THEN excluded.changed_at ELSE l.changed_at END, \
     document = CASE WHEN l.changed_at <= excluded.changed_at - ms(86400000) THEN excluded.document \
     ELSE /*pg to_json( */ CAST(CAST(l.document AS text) AS bigint) + 1 /*pg ) */ END \
     WHERE l.changed_at <= excluded.changed_at - ms(86400000) OR CAST(CAST(l.document AS text) AS bigint) < ?3 \
     RETURNING name";

impl Store {
    /// Merges what a process has learned on the simulated or the real web with what is stored, in one transaction. Returns
    /// the rows of the kind that have changed since `since`, each with the time of its change by the database's clock.
    pub fn share_learned<T: Default + Serialize + DeserializeOwned>(
        &self,
        kind: Learned,
        simulated: bool,
        since: Timestamp,
        learned: &[(Arc<str>, T)],
        merge: impl Fn(T, &T) -> T,
    ) -> Result<Vec<(Arc<str>, Timestamp, T)>> {
        let (operation, kind) = (background("share_learned").light(), kind.as_str());
        let newer = rows(learned.iter().map(|(name, value)| (&**name, value)))?;
        let changed: Vec<(Arc<str>, Timestamp, Json<T>)> = if learned.is_empty() {
            self.read(operation, |tx| tx.all(CHANGED, values![kind, simulated, since]))
        } else {
            self.write(operation, |tx| {
                tx.execute(NEW, values![kind, simulated, &newer])?;
                let stored: Vec<(Arc<str>, Json<Option<T>>)> =
                    tx.all(LOCK, values![kind, simulated, &newer])?;
                let mut stored: HashMap<_, _> = stored.into_iter().collect();
                let mut older_of =
                    |name| stored.remove(name).and_then(|Json(older)| older).unwrap_or_default();
                let merged =
                    rows(learned.iter().map(|(name, newer)| (&**name, merge(older_of(name), newer))))?;
                tx.execute(WRITE, values![kind, simulated, merged])?;
                tx.execute(FORGET, values![])?;
                tx.all(CHANGED, values![kind, simulated, since])
            })
        }?;
        Ok(changed.into_iter().map(|(name, changed_at, Json(value))| (name, changed_at, value)).collect())
    }

    /// Counts a check of a module, unless it has made `limit` checks in the 24 hours since the first of them. Returns
    /// whether it was counted.
    pub fn count_today(&self, simulated: bool, module: &str, limit: u32) -> Result<bool> {
        let operation = Operation::from("count_today").light();
        Ok(!self.change(operation, COUNT, values![simulated, module, limit])?.is_empty())
    }

    /// Forgets what was learned about a host or a module, or about all, on the real and the simulated web, and records it in
    /// the audit. Running processes learn of it within seconds. Returns the hosts or modules about which something was
    /// forgotten, sorted.
    pub fn reset(
        &self,
        what: Learned,
        name: Option<&str>,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Vec<String>> {
        match what {
            Learned::Deadline => self.reset_each(what, name, by, Tally::forget_durations),
            _ => self.reset_each(what, name, by, |state: &mut BreakerState| state.close(at)),
        }
    }

    /// Resets the rows for which `reset` returns `true`.
    fn reset_each<T: Serialize + DeserializeOwned>(
        &self,
        what: Learned,
        name: Option<&str>,
        by: &Origin,
        reset: impl Fn(&mut T) -> bool,
    ) -> Result<Vec<String>> {
        let (kind, mut names) = (what.as_str(), Vec::new());
        let named = name.map(|name| encode(&[[name]])).transpose()?;
        self.write("reset_learned", |tx| {
            for simulated in [false, true] {
                let mut found: Vec<(String, Json<T>)> =
                    tx.all(LOCK, values![kind, simulated, named.as_ref()])?;
                found.retain_mut(|(_, Json(value))| reset(value));
                let reset = rows(found.iter().map(|(name, Json(value))| (name, value)))?;
                tx.execute(WRITE, values![kind, simulated, reset])?;
                names.extend(found.into_iter().map(|(name, _)| name));
            }
            names.sort();
            names.dedup();
            let event = AuditEvent::of_service(Action::HealthReset).with("kind", kind);
            let event = match name {
                Some(name) => event.with("name", name),
                None => event.with("count", names.len()),
            };
            if names.is_empty() { Ok(()) } else { tx.note(&event, by) }
        })?;
        Ok(names)
    }
}

/// Encodes rows for the statements above, as an array of `[NAME, DOCUMENT]`. A document is text, because PostgreSQL reads no
/// element of an array that contains U+0000.
fn rows<T: Serialize>(rows: impl Iterator<Item = (impl AsRef<str>, T)>) -> Result<String> {
    let encoded = rows.map(|(name, value)| Ok((name.as_ref().to_owned(), encode(&value)?)));
    encode(&encoded.collect::<Result<Vec<_>>>()?)
}
