//! Families of runs: the runs that leads have started.

use super::*;

/// Selects the runs of a family: its root first, and then the order in which they were started. Because of `coalesce`,
/// SQLite does not read all runs of the account.
const MEMBERS: &str = "SELECT {row} FROM runs WHERE (id = ?1 OR root_run = ?1) AND coalesce(account, NULL) = ?2 \
     ORDER BY root_run IS NOT NULL, created_at, id";
row! {
    struct Member from "" {
        run: RunSummary, is_following: bool = "coalesce(following = 'running', false)", end: Option<FollowEnd> = "followed",
        lookups: u32 = "CAST(json_array_length(lookups/*pg ::json */) AS bigint)"
    }
}
row! { FollowedLead from "" { lead, class, run, parent } }

const FOLLOWED: &str = "SELECT {row} FROM followed_leads WHERE root = ?1 ORDER BY run";
const CHILDREN: &str = "SELECT {row} FROM runs JOIN followed_leads ON run = id WHERE root = ?1 \
     AND parent = ?2 ORDER BY id";
const LINKS: &str = "SELECT id, links FROM runs WHERE id = ?1 OR root_run = ?1 \
     ORDER BY root_run IS NOT NULL, created_at, id";
const END_FOLLOWING: &str =
    "UPDATE runs SET following = 'completed', followed = ?2 WHERE id = ?1 AND following = 'running'";
const IDLE: &str = "SELECT id, account FROM runs r WHERE following = 'running' AND status <> 'running' \
     AND simulated = ?1 AND NOT EXISTS \
     (SELECT 1 FROM runs m WHERE m.root_run = r.id AND m.status = 'running')";

impl Store {
    /// Returns the family of a root. Returns `None` if no run of it exists in this account.
    pub fn family(&self, root: RunId, account: AccountId) -> Result<Option<StoredFamily>> {
        self.read("family", |tx| {
            let runs: Vec<Member> = tx.all(MEMBERS, values![root, account])?;
            let Some(&Member { is_following, end, .. }) = runs.first() else { return Ok(None) };
            let lookups = runs.iter().map(|member| member.lookups).sum();
            let members = runs.into_iter().map(|member| member.run).collect();
            let followed = tx.all(FOLLOWED, values![root])?;
            Ok(Some(StoredFamily { members, followed, is_following, end, lookups }))
        })
    }

    /// Returns the accounts that were looked up in a run, in the order in which they were planned.
    pub fn lookups(&self, run: RunId) -> Result<Vec<Lookup>> {
        let sql = "SELECT lookups FROM runs WHERE id = ?1";
        Ok(self.first("lookups", sql, values![run])?.unwrap_or_default())
    }

    /// Returns the runs of a family in their order, each with what its results point to if that was stored.
    pub fn family_links(&self, root: RunId) -> Result<Vec<(RunId, Option<String>)>> {
        self.all("family_links", LINKS, values![root])
    }

    /// Returns the leads of a run for which runs were started that still exist, with these runs. Returns none if the
    /// root was deleted.
    pub fn children(&self, root: RunId, parent: RunId) -> Result<Vec<(FollowedLead, RunSummary)>> {
        self.all("children", CHILDREN, values![root, parent])
    }

    /// Records that no further lead of the family is followed. Does nothing if that is recorded.
    pub fn end_following(&self, root: RunId, end: &FollowEnd) -> Result<()> {
        self.change(background("end_following").light(), END_FOLLOWING, values![root, encode(end)?]).map(drop)
    }

    /// Returns all roots that are to follow leads while no run of their family is running, with their accounts. That is so
    /// for a moment after each run has ended, and longer if a process ended in that moment.
    pub fn idle_families(&self, simulated: bool) -> Result<Vec<(RunId, AccountId)>> {
        self.all(background("idle_families"), IDLE, values![simulated])
    }
}
