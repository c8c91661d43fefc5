//! The audit log.

use super::*;

/// Selects the first id since a moment. Ids grow with time, except if a clock was set back or if transactions
/// overtook each other. Entries before that id are not searched.
const FIRST_SINCE: &str = "SELECT min(id) FROM audit WHERE at >= ?1";

impl Store {
    /// Records an action that changes nothing in the store.
    pub fn note(&self, event: &AuditEvent, by: &Origin) -> Result<()> {
        self.write("note", |tx| tx.note(event, by))
    }

    /// Returns at most `count` entries, the oldest first.
    pub fn audit(&self, filter: &AuditFilter, count: usize) -> Result<Vec<Entry>> {
        self.read("audit", |tx| {
            // PostgreSQL's calendar begins later than that of this program. Both begin long before the first entry.
            let since = filter.since.unwrap_or(Timestamp::UNIX_EPOCH).max(Timestamp::UNIX_EPOCH);
            let mut after = filter.after;
            if filter.since.is_some() {
                let first = tx.first::<Option<u64>>(FIRST_SINCE, values![since])?.flatten();
                let Some(first) = first else { return Ok(Vec::new()) };
                after = after.max(first - 1);
            }
            match filter.account {
                Some(account) => tx.all("{entries AND account = ?4}", values![after, since, count, account]),
                None => tx.all("{entries}", values![after, since, count]),
            }
        })
    }
}

impl FromRow for Entry {
    fn from_row(cells: &mut Cells) -> Result<Self> {
        let (id, at) = cells.read()?;
        let actor = match cells.read::<(String, _)>()? {
            (kind, Some(id)) if kind == "account" => Actor::Account(AccountId(id)),
            (kind, Some(id)) if kind == "key" => Actor::Key(KeyId(id)),
            (kind, None) if kind == "cli" => Actor::Cli,
            (kind, None) if kind == "system" => Actor::System,
            _ => return Err(StorageError::broken("an entry of the audit has an unknown actor")),
        };
        let (action, account, object, request) = cells.read()?;
        let detail = cells.read::<Option<_>>()?.unwrap_or_default();
        Ok(Self { id, at, actor, action, account, object, request, detail })
    }
}
