//! The store, measured: how long each operation takes, which fail. Knows nothing of either database.

use std::sync::Weak;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{StoreLoad, Vitals};
use crate::account::account::{Account, Role};
use crate::account::audit::{AuditFilter, AuditTrail, Deed, Entry, Origin};
use crate::account::credits::{Charge, Cycle};
use crate::account::key::{KeyHash, KeyRecord};
use crate::account::ledger::{Erased, Erasure, Ledger};
use crate::account::rate_limit::Policy;
use crate::account::rate_limit::quota::{Ask, Grant, Quota, Taken};
use crate::account::records::{Booking, CycleUse, NotedRequest, Records};
use crate::account::sign_in::attempts::{Allowance, Attempt, Subject};
use crate::account::sign_in::keeping::{SetUpLink, SignInStore};
use crate::account::sign_in::session::Session;
use crate::account::sign_in::token::TokenHash;
use crate::base::count::{Counter, Durations, Spread};
use crate::base::ids::{AccountId, KeyId, RunId, SessionId};
use crate::base::storage::{StorageError, StorageErrorKind};
use crate::runs::health::Tallies;
use crate::runs::journal::{
    Batch, Changes, Checkpoint, Claim, Ending, Idempotency, InstanceId, Journal, Lease, ListFilter, NewRun,
    Resumable, Started, Write,
};
use crate::runs::news::Ear;
use crate::runs::retention::{BatchSize, Retention, Swept};
use crate::runs::run::{ModuleReport, ResultRecord, RunSummary};

/// What the figures are kept by: the questions of the traits.
const OPERATIONS: [&str; 55] = [
    "start",
    "known_request",
    "add_results",
    "checkpoint",
    "renew",
    "finish",
    "release",
    "take_over",
    "run",
    "results",
    "changes",
    "modules",
    "list",
    "delete",
    "share_health",
    "forget_idempotency",
    "listen",
    "add_account",
    "account",
    "account_by_email",
    "accounts",
    "set_plan",
    "close_account",
    "erase_closed",
    "closed_accounts",
    "add_key",
    "key_by_hash",
    "keys",
    "revoke_key",
    "touch_keys",
    "credits_used",
    "ping",
    "note",
    "audit",
    "bookings",
    "cycle_uses",
    "noted_requests",
    "sweep",
    "take_quota",
    "give_back_quota",
    "password",
    "set_password",
    "open_session",
    "session",
    "touch_session",
    "sessions",
    "end_session",
    "add_set_up_link",
    "set_up_account",
    "use_set_up_link",
    "set_role",
    "attempt",
    "forgive",
    "forget_expired",
    "other",
];

/// How the store has done, by operation.
pub struct StoreFigures {
    operations: [OperationFigures; OPERATIONS.len()],
}

#[derive(Default)]
struct OperationFigures {
    durations: Durations,
    unavailable: Counter,
    broken: Counter,
}

/// One operation that was used at least once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationReport {
    /// Its name.
    pub name: &'static str,
    /// How long it took, failures too.
    pub spread: Spread,
    /// How often the store was away.
    pub unavailable: u64,
    /// How often it answered what must not be.
    pub broken: u64,
}

impl Default for StoreFigures {
    fn default() -> Self {
        Self { operations: std::array::from_fn(|_| OperationFigures::default()) }
    }
}

impl StoreFigures {
    /// All that was used.
    pub fn operations(&self) -> impl Iterator<Item = OperationReport> {
        let reports = OPERATIONS.iter().zip(&self.operations).map(|(name, figures)| OperationReport {
            name,
            spread: figures.durations.spread(),
            unavailable: figures.unavailable.get(),
            broken: figures.broken.get(),
        });
        reports.filter(|report| report.spread.count > 0)
    }

    fn of(&self, name: &str) -> &OperationFigures {
        let place = OPERATIONS.iter().position(|known| *known == name);
        &self.operations[place.unwrap_or(OPERATIONS.len() - 1)]
    }
}

/// A store with its figures.
pub(super) struct Metered<S> {
    store: S,
    figures: StoreFigures,
}

impl<S> Metered<S> {
    pub(super) fn new(store: S) -> Self {
        Self { store, figures: StoreFigures::default() }
    }

    fn measured<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&S) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let began = Instant::now();
        let done = work(&self.store);
        let figures = self.figures.of(operation);
        figures.durations.note(began.elapsed());
        if let Err(error) = &done {
            match error.kind() {
                StorageErrorKind::Unavailable => figures.unavailable.one(),
                StorageErrorKind::Broken => figures.broken.one(),
            }
        }
        done
    }
}

impl<S: Vitals> Vitals for Metered<S> {
    fn load(&self) -> StoreLoad {
        self.store.load()
    }
}

impl<S> Metered<S> {
    pub(super) fn figures(&self) -> &StoreFigures {
        &self.figures
    }
}

/// Passes questions on, each measured under its name.
macro_rules! measured {
    ($($name:ident ( $($value:ident : $kind:ty),* ) -> $answer:ty;)*) => {
        $(fn $name(&self, $($value: $kind),*) -> Result<$answer, StorageError> {
            self.measured(stringify!($name), |store| store.$name($($value),*))
        })*
    };
}

impl<S: Journal> Journal for Metered<S> {
    measured! {
        start(run: &NewRun, charge: &Charge) -> Started;
        known_request(account: AccountId, idempotency: &Idempotency) -> Option<Started>;
        add_results(run: RunId, lease: Lease, batch: &Batch) -> Write;
        checkpoint(run: RunId, lease: Lease, checkpoint: &Checkpoint, holds: Duration) -> Write;
        renew(leases: &[(RunId, Lease)], holds: Duration) -> Vec<RunId>;
        finish(run: RunId, lease: Lease, checkpoint: &Checkpoint, ending: &Ending) -> Write;
        release(owner: InstanceId) -> ();
        take_over(claim: &Claim<'_>) -> Vec<Resumable>;
        run(id: RunId, account: AccountId) -> Option<RunSummary>;
        results(id: RunId, after: u32, limit: usize) -> Vec<ResultRecord>;
        changes(id: RunId, changes: Changes, limit: usize) -> Vec<ResultRecord>;
        modules(id: RunId) -> Vec<ModuleReport>;
        list(account: AccountId, filter: &ListFilter, limit: usize) -> Vec<RunSummary>;
        delete(id: RunId, account: AccountId, at: Timestamp, by: &Origin) -> bool;
        share_health(simulated: bool, learnt: &Tallies) -> Tallies;
        forget_idempotency(before: Timestamp) -> ();
        listen(ear: Weak<dyn Ear>) -> bool;
    }
}

impl<S: Ledger> Ledger for Metered<S> {
    measured! {
        add_account(account: &Account, by: &Origin) -> bool;
        account(id: AccountId) -> Option<Account>;
        account_by_email(email: &str) -> Option<Account>;
        accounts() -> Vec<Account>;
        set_plan(id: AccountId, plan: &str, at: Timestamp, by: &Origin) -> bool;
        close_account(id: AccountId, at: Timestamp, by: &Origin) -> Option<Erased>;
        erase_closed(id: AccountId) -> Erasure;
        closed_accounts() -> Vec<AccountId>;
        add_key(key: &KeyRecord, by: &Origin) -> bool;
        key_by_hash(hash: &KeyHash) -> Option<(KeyRecord, Account)>;
        keys(account: Option<AccountId>) -> Vec<KeyRecord>;
        revoke_key(id: KeyId, at: Timestamp, by: &Origin) -> bool;
        touch_keys(seen: &[(KeyId, Timestamp)]) -> ();
        credits_used(account: AccountId, cycle: Cycle) -> u64;
        ping() -> ();
    }

    fn quota(&self) -> Option<&dyn Quota> {
        self.store.quota().map(|_| self as &dyn Quota)
    }
}

impl<S: Ledger> Metered<S> {
    fn counted_together(&self) -> Result<&dyn Quota, StorageError> {
        let none = || StorageError::broken("this store counts for one process");
        self.store.quota().ok_or_else(none)
    }
}

impl<S: Ledger> Quota for Metered<S> {
    fn take(&self, ask: &Ask) -> Result<Option<Taken>, StorageError> {
        self.measured("take_quota", |_| self.counted_together()?.take(ask))
    }

    fn give_back(
        &self,
        account: AccountId,
        policy: Policy,
        grant: Grant,
        unused: u32,
    ) -> Result<(), StorageError> {
        let give = || self.counted_together()?.give_back(account, policy, grant, unused);
        self.measured("give_back_quota", |_| give())
    }
}

impl<S: AuditTrail> AuditTrail for Metered<S> {
    measured! {
        note(deed: &Deed, at: Timestamp, by: &Origin) -> ();
        audit(filter: &AuditFilter, limit: usize) -> Vec<Entry>;
    }
}

impl<S: Records> Records for Metered<S> {
    measured! {
        bookings(account: AccountId) -> Vec<Booking>;
        cycle_uses(account: AccountId) -> Vec<CycleUse>;
        noted_requests(account: AccountId) -> Vec<NotedRequest>;
    }
}

impl<S: Retention> Retention for Metered<S> {
    measured! {
        sweep(ended_before: Timestamp, most: BatchSize, at: Timestamp, by: &Origin) -> Swept;
    }

    // Asked for every second, with nothing to do most of the time: figures of that would say nothing.
    fn wipe(&self) -> Result<bool, StorageError> {
        self.store.wipe()
    }
}

impl<S: SignInStore> SignInStore for Metered<S> {
    measured! {
        password(account: AccountId) -> Option<String>;
        set_password(
            account: AccountId,
            hash: &str,
            known: Option<&str>,
            at: Timestamp,
            by: &Origin
        ) -> bool;
        open_session(session: &Session, token: &TokenHash, known: Option<&str>, by: &Origin) -> bool;
        session(token: &TokenHash, now: Timestamp) -> Option<(Session, Account)>;
        touch_session(id: SessionId, seen: Timestamp, expires: Timestamp) -> ();
        sessions(account: AccountId, now: Timestamp) -> Vec<Session>;
        end_session(account: AccountId, id: SessionId, at: Timestamp, by: &Origin) -> bool;
        add_set_up_link(link: &SetUpLink, by: &Origin) -> bool;
        set_up_account(token: &TokenHash, now: Timestamp) -> Option<Account>;
        use_set_up_link(token: &TokenHash, hash: &str, now: Timestamp, by: &Origin) -> Option<Account>;
        set_role(account: AccountId, role: Role, at: Timestamp, by: &Origin) -> bool;
        attempt(subject: &Subject, allowance: Allowance, now: Timestamp) -> Attempt;
        forgive(subject: &Subject, allowance: Allowance) -> ();
        forget_expired(now: Timestamp) -> ();
    }
}
