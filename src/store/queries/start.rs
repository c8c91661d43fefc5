//! Starting a run: its idempotency key, its charge and its row, in one transaction.

use super::accounts::lock_shared;
use super::credits::{CHARGE, NOTE_CHARGE, New, USED, note_request};
use super::watches::{begin, take_place};
use super::*;
use crate::modules::query::Query;

/// Adds a run. `?14` says whether the run has an owner, and therefore a driver from the start. Otherwise `lease_until` is
/// the time by the clock of the database, from which a confirmation is waited for.
const INSERT: &str = "INSERT INTO runs (id, account, status, search_type, premium, simulated, \
     credits_charged, created_at, owner, lease_until, started_at, turn, query, progress, coverage, planned, \
     options, follow, root_run, parent_run, depth, watch, batch, retry_of, choice, unconfirmed, normal, following) \
     VALUES (?1, ?2, 'running', ?3, ?4, ?5, ?6, ?7, ?8, CASE WHEN ?14 THEN now() + ms(?9) ELSE now() END, \
     CASE WHEN ?14 THEN now() END, CASE WHEN NOT ?14 THEN {next_turn} END, \
     ?10, ?11, ?12, ?13, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, \
     CASE WHEN CAST(?16 AS text) IS NOT NULL AND CAST(?17 AS uuid) IS NULL THEN 'running' END)";

/// Records that the caller gets a run. Another instance may have a free driver for one that waits.
const CONFIRM: &str =
    "{confirm runs} /*pg , CASE WHEN owner IS NULL THEN pg_notify('sightline', '\"released\"') END */";

/// Locks the root of a family. After a root was stopped, no lead is followed until the following has ended.
const LOCK_ROOT: &str = "SELECT 1 FROM runs WHERE id = ?1 AND account = ?2 \
     AND NOT (stopped_at IS NOT NULL AND following IS NOT NULL AND following = 'running') /*pg FOR NO KEY UPDATE */";
/// Frees a lead whose run was deleted.
const FREE_LEAD: &str = "DELETE FROM followed_leads WHERE root = ?1 AND lead = ?2 \
     AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run)";
const RUN_OF_LEAD: &str = "SELECT run FROM followed_leads WHERE root = ?1 AND lead = ?2";
const NOTE_LEAD: &str =
    "INSERT INTO followed_leads (root, lead, class, run, parent) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Gives an open batch its next turn. This locks it, so that it is not stopped before its row is started.
const TAKE_TURN: &str = "UPDATE batches SET retry_at = NULL, turn = 1 + \
     (SELECT coalesce(max(o.turn), 0) FROM batches o WHERE o.ended_at IS NULL) \
     WHERE id = ?1 AND account = ?2 AND stopped_at IS NULL AND ended_at IS NULL";
const START_ROW: &str = "UPDATE batch_rows SET state = 'started', run = ?3 \
     WHERE batch = ?1 AND position = ?2 AND state = 'pending'";

/// Counts the waiting runs, and those of an account. `?1` says whether to count those of the simulated web, `?2` is the
/// account or NULL. An index has all columns that are read.
const LENGTH: &str = "SELECT count(*), count(CASE WHEN account = ?2 THEN 1 END) FROM runs \
     WHERE simulated = ?1 AND {waits}";

impl Store {
    /// Records the idempotency key, books the charge and creates the run, in one transaction.
    pub fn start(&self, run: &NewRun) -> Result<Started> {
        let is_created = |started: &Started| *started == Started::Created;
        let (id, may_be_undone) = (run.id.value(), run.is_unconfirmed);
        let is_driven = run.owner.is_some();
        let new = New { operation: "start", confirm: CONFIRM, id, may_be_undone, is_driven };
        let started = self.create(&new, is_created, |tx| start(tx, run))?;
        if let (Started::Repeated(known), Cause::Watch(_)) = (&started, run.cause) {
            // The request that has started the last run of the watch may have been refused.
            self.change(Operation::from("confirm").light(), CONFIRM, values![*known])?;
        }
        Ok(started)
    }

    /// Counts the runs of the simulated or the real web that wait for their first driver, and those of an account among
    /// them.
    pub fn queue_length(&self, simulated: bool, account: Option<AccountId>) -> Result<(usize, usize)> {
        self.read("queue_length", |tx| tx.one(LENGTH, values![simulated, account]))
    }
}

/// Starts a run. The transaction must be rolled back unless this returns [`Started::Created`].
fn start(tx: &mut Tx, run: &NewRun) -> Result<Started> {
    let Charge { credits, allowed, cycle } = run.charge;
    if !lock_shared(tx, run.account)? {
        return Ok(Started::Refused(Refusal::unknown_key()));
    }
    if let Some(idempotency) = &run.idempotency
        && let Some(known) = note_request(tx, run.account, run.id, idempotency)?
    {
        return Ok(known);
    }
    let next_at = match &run.cause {
        Cause::Request | Cause::Retry(_) => None,
        Cause::Lead(member) => match refuse_member(tx, run, member)? {
            Some(refused) => return Ok(refused),
            None => None,
        },
        Cause::Watch(start) => match take_place(tx, run, *start)? {
            Err(refused) => return Ok(refused),
            Ok(next_at) => Some(next_at),
        },
        Cause::Row(row) => {
            if tx.execute(TAKE_TURN, values![row.batch, run.account])? == 0 {
                return Ok(Started::Refused(Refusal::no_such("row")));
            }
            None
        }
    };
    if !tx.has(CHARGE, values![run.account, cycle.start, credits, allowed])? {
        let used = tx.first(USED, values![run.account, cycle.start])?.unwrap_or_default();
        return Ok(Started::Refused(Refusal::insufficient_credits(run.charge, used)));
    }
    insert(tx, run)?;
    match run.cause {
        Cause::Request | Cause::Retry(_) => {}
        Cause::Lead(NewMember { place, lead, class, .. }) => {
            let values = values![place.root, lead, class.as_str(), run.id, place.parent];
            tx.execute(NOTE_LEAD, values)?;
        }
        Cause::Watch(start) => begin(tx, run, start.watch, next_at)?,
        Cause::Row(RowRef { batch, position }) => {
            if tx.execute(START_ROW, values![batch, position, run.id])? == 0 {
                return Ok(Started::Refused(Refusal::no_such("row")));
            }
        }
    }
    tx.execute(NOTE_CHARGE, values![run.id, run.account, cycle.start, credits, run.created_at])?;
    tx.note(&started(run), &run.origin)?;
    if run.owner.is_none() && !run.is_unconfirmed {
        // Another instance may have a free driver for the run. One that is to be confirmed is announced then.
        tx.announce(Notification::Released)?;
    }
    Ok(Started::Created)
}

/// Locks the root of a family, so that one run of it is started at a time. Returns the result if the run must not be
/// started.
fn refuse_member(tx: &mut Tx, run: &NewRun, member: &NewMember) -> Result<Option<Started>> {
    let root = member.place.root;
    if !tx.has(LOCK_ROOT, values![root, run.account])? {
        let refusal = Refusal::new(Code::Conflict, "the first search of the family was deleted or stopped");
        return Ok(Some(Started::Refused(refusal)));
    }
    if let Some(known) = tx.first(RUN_OF_LEAD, values![root, member.lead])?
        && (!member.is_on_request || tx.execute(FREE_LEAD, values![root, member.lead])? == 0)
    {
        return Ok(Some(Started::Repeated(known)));
    }
    let count = "SELECT count(*) FROM followed_leads WHERE root = ?1";
    let is_full = tx.one::<u64>(count, values![root])? >= member.max_searches.into();
    let message = format!("leads have started {} searches, which is the most", member.max_searches);
    Ok(is_full.then(|| Started::Refused(Refusal::new(Code::Conflict, message))))
}

fn insert(tx: &mut Tx, run: &NewRun) -> Result<()> {
    let normal = Query::parse(run.search.search_type, &run.search.query).ok();
    let summary = run.opening();
    let RunSummary { search_type, premium, query, progress, coverage, options, follow, choice, .. } =
        &summary;
    let family = summary.family.as_ref();
    let values = [
        values![
            run.id,
            run.account,
            *search_type,
            *premium,
            run.simulated,
            run.charge.credits,
            run.created_at
        ],
        values![run.owner.map(|owner| owner.0), run.holds, query, encode(progress)?, encode(coverage)?],
        values![encode(&run.modules)?, run.owner.is_some(), encode(options)?],
        values![follow.as_deref().map(encode).transpose()?, family.map(|family| family.root)],
        values![family.map(|family| family.parent), family.map_or(0, |family| i64::from(family.depth))],
        values![summary.watch, summary.batch, summary.retry_of, choice.as_deref().map(encode).transpose()?],
        values![run.is_unconfirmed, normal.as_ref().map(Query::normal)],
    ];
    tx.execute(INSERT, values.concat()).map(drop)
}

/// Returns the audit entry for a run that was charged and started. It never contains the query.
fn started(run: &NewRun) -> AuditEvent {
    let event = AuditEvent::of_object(Action::RunStarted, run.account, run.id)
        .with("type", run.search.search_type.as_str())
        .with("credits", run.charge.credits);
    let cause = match &run.cause {
        Cause::Request => None,
        Cause::Retry(retried) => Some(("retry_of", retried.to_string())),
        Cause::Lead(member) => Some(("parent", member.place.parent.to_string())),
        Cause::Watch(start) => Some(("watch", start.watch.to_string())),
        Cause::Row(row) => Some(("batch", row.batch.to_string())),
    };
    let purpose = run.search.purpose.clone().map(|purpose| ("purpose", purpose));
    cause.into_iter().chain(purpose).fold(event, |event, (name, detail)| event.with(name, detail))
}
