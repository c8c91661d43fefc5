//! The audit log.

use super::*;

row! { Entry from "" { id, at, actor, actor_id, action, account, object, request, detail } }

impl Store {
    /// Records an action that changes nothing in the store.
    pub fn note(&self, event: &AuditEvent, by: &Origin) -> Result<()> {
        self.write("note", |tx| tx.note(event, by))
    }

    /// Returns at most `count` entries, the oldest first.
    pub fn audit(&self, filter: &AuditFilter, count: usize) -> Result<Vec<Entry>> {
        // PostgreSQL's calendar begins later than that of this program. Both begin long before the first entry.
        let since = filter.since.map(|since| since.max(Timestamp::UNIX_EPOCH));
        let values = values![filter.after, since, count];
        match filter.account {
            Some(account) => {
                self.all("audit", "{entries AND account = ?4}", [values, values![account]].concat())
            }
            None => self.all("audit", "{entries}", values),
        }
    }
}
