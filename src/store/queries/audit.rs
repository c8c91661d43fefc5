//! The audit log.

use super::*;

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

impl FromRow for Entry {
    fn from_row(row: &mut Row) -> Result<Self> {
        let (id, at) = row.read()?;
        let actor = match row.read::<(String, _)>()? {
            (kind, Some(id)) if kind == "account" => Actor::Account(AccountId(id)),
            (kind, Some(id)) if kind == "key" => Actor::Key(KeyId(id)),
            (kind, None) if kind == "cli" => Actor::Cli,
            (kind, None) if kind == "system" => Actor::System,
            _ => return Err(StorageError::broken("an entry of the audit has an unknown actor")),
        };
        let (action, account, object, request) = row.read()?;
        let detail = row.read::<Option<_>>()?.unwrap_or_default();
        Ok(Self { id, at, actor, action, account, object, request, detail })
    }
}
