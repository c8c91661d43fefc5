//! The behaviour of the store: each test runs on both databases, on a fresh database each time.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Map;
use sightline::base::ids::{AccountId, RunId};
use sightline::base::storage::StorageError;
use sightline::model::account::{Account, Role};
use sightline::model::audit::{AuditFilter, Entry, Origin};
use sightline::model::coverage::Coverage;
use sightline::model::credits::{Charge, Cycle};
use sightline::model::drive::{Claim, Delta, Ending, InstanceId, Write};
use sightline::model::follow::{Class, Lookup};
use sightline::model::run::{ModuleReport, Progress, ResultRecord, RunError, RunSummary, Status};
use sightline::model::search::Search;
use sightline::model::start::{Cause, Idempotency, NewRun, Started};
use sightline::modules::outcome::Outcome;
use sightline::modules::query::{Query, SearchType};
use sightline::modules::reason::Reason;
use sightline::store::{self, DatabaseUrl, OpenError, Store};
use uuid::Uuid;

use crate::support::databases::TestDatabase;
use crate::support::{awaited, race};

/// Makes two tests of each function: `name::sqlite` and `name::postgres`.
macro_rules! on_both {
    ($(fn $name:ident($fixture:ident) $body:block)*) => { $(
        fn $name($fixture: &crate::store::Fixture) $body

        crate::support::databases::on_each_database!($name, crate::store::Fixture::new);
    )* };
}

mod audit;
mod batches;
mod driving;
pub(crate) mod erasing;
mod health;
mod hostile;
mod ledger;
mod merging;
mod model;
mod opening;
mod quota;
mod reading;
mod sign_in;
mod thumbnails;
mod upgrading;
mod watches;
mod webhooks;

/// An open store on a fresh database, with one account.
struct Fixture {
    store: Arc<Store>,
    account: Account,
    me: InstanceId,
    database: TestDatabase,
}

impl Fixture {
    fn new(database: TestDatabase) -> Self {
        let store = open(&database.url, store::Role::Server).unwrap();
        let account = new_account("owner@example.com");
        assert!(store.add_account(&account, &Origin::CLI).unwrap());
        Self { store, account, me: new_instance(), database }
    }

    /// Opens a second instance on the same database.
    fn another(&self) -> Arc<Store> {
        let role = match self.database.name {
            "sqlite" => store::Role::Command,
            _ => store::Role::Server,
        };
        open(&self.database.url, role).unwrap()
    }

    fn new_run(&self) -> NewRun {
        NewRun {
            id: RunId::new(),
            account: self.account.id,
            search: search(" @Someone "),
            cause: Cause::Request,
            charge: charge(1, Some(100)),
            simulated: false,
            modules: vec!["github".into(), "mastodon".into()],
            created_at: at("2026-03-01T12:00:00.123Z"),
            owner: Some(self.me),
            holds: EXPIRED,
            is_unconfirmed: false,
            idempotency: None,
            origin: Origin::CLI,
        }
    }

    /// Returns what the audit has about an account, the oldest first.
    fn audit_of(&self, account: AccountId) -> Vec<Entry> {
        let filter = AuditFilter { account: Some(account), ..AuditFilter::default() };
        self.store.audit(&filter, 1000).unwrap()
    }

    /// Returns what was done with the fixture's account.
    fn actions(&self) -> Vec<String> {
        self.audit_of(self.account.id).into_iter().map(|entry| entry.action).collect()
    }

    fn rows(&self, table: &str) -> i64 {
        self.database.number(&format!("SELECT count(*) FROM {table}"))
    }

    /// Moves the times in a column, of all rows or of those with a condition.
    fn shift(&self, table: &str, column: &str, seconds: i64, rows: &str) {
        let by = match self.database.name {
            "sqlite" => format!("{}", seconds * 1000),
            _ => format!("interval '{seconds} seconds'"),
        };
        self.database.execute(&format!("UPDATE {table} SET {column} = {column} + {by} {rows}"));
    }

    /// Runs `work` on many threads at once, with one of two instances. Returns the results.
    fn race<T: Send>(
        &self,
        threads: usize,
        work: impl Fn(&Store) -> Result<T, StorageError> + Sync,
    ) -> Vec<T> {
        let another = self.another();
        race(threads, |index| {
            let store = if index % 2 == 0 { &self.store } else { &another };
            once_connected(|| work(store))
        })
    }

    fn add_account(&self, email: &str) -> Account {
        let account = new_account(email);
        assert!(self.store.add_account(&account, &Origin::CLI).unwrap());
        account
    }

    fn start(&self, run: NewRun) -> NewRun {
        assert_eq!(once_connected(|| self.store.start(&run)), Started::Created);
        run
    }

    /// Starts a run for a query.
    fn started_for(&self, search_type: SearchType, query: &str) -> NewRun {
        self.start(NewRun { search: Search { search_type, ..search(query) }, ..self.new_run() })
    }

    fn save(&self, run: &NewRun, delta: &Delta) {
        let lease = self.me.lease(0);
        assert_eq!(self.store.save(run.id, lease, delta, EXPIRED).unwrap(), Write::Done);
    }

    /// Starts a run that costs one credit of a hundred.
    fn started(&self) -> NewRun {
        self.start(self.new_run())
    }

    /// Callers do not learn from now on that something was created for them.
    fn refuse_confirmations(&self) {
        self.store.before_each(|operation| match operation {
            "confirm" => Err(StorageError::unavailable("refused")),
            _ => Ok(()),
        });
    }

    fn summary(&self, run: &NewRun) -> RunSummary {
        self.store.run(run.id, run.account).unwrap().unwrap()
    }

    fn used(&self) -> u64 {
        self.store.credits_used(&[(self.account.id, cycle())]).unwrap()[0]
    }

    fn finish(&self, run: &NewRun, ending: &Ending) -> Write {
        once_connected(|| self.store.finish(run.id, self.me.lease(0), &both_ended(), ending))
    }
}

/// Returns a search for a username, which need not be valid.
fn search(query: &str) -> Search {
    let plain = Search::plain(&Query::parse(SearchType::Username, "someone").unwrap());
    Search { query: query.into(), ..plain }
}

fn open(url: &str, role: store::Role) -> Result<Arc<Store>, OpenError> {
    store::open(&url.parse::<DatabaseUrl>().unwrap(), role)
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn cycle() -> Cycle {
    Cycle { start: at("2026-02-15T10:00:00Z"), end: at("2026-03-15T10:00:00Z") }
}

fn charge(credits: u64, allowed: Option<u64>) -> Charge {
    Charge { credits, allowed, cycle: cycle() }
}

/// A lease of this length has expired at once: its driver may continue until another instance takes the run.
const EXPIRED: Duration = Duration::ZERO;
/// Longer than any test takes.
const HOLDS: Duration = Duration::from_secs(3600);

/// Returns the claim of `owner` for a run without a driver.
pub(crate) fn claim(owner: InstanceId, simulated: bool) -> Claim<'static> {
    Claim { owner, simulated, except: &[], expired: true, only: None, holds: HOLDS }
}

fn new_instance() -> InstanceId {
    InstanceId(Uuid::now_v7())
}

fn new_account(email: &str) -> Account {
    Account {
        id: AccountId::new(),
        email: email.into(),
        plan: "pro".into(),
        anchor: at("2026-01-15T10:00:00.001Z"),
        created_at: at("2026-01-15T10:00:00.001Z"),
        role: Role::User,
    }
}

fn with_key(run: NewRun, key: &str, body: u8) -> NewRun {
    let idempotency = Idempotency { key: key.into(), body_hash: [body; 32], at: run.created_at };
    NewRun { idempotency: Some(idempotency), ..run }
}

fn result(id: u32, value: &str) -> ResultRecord {
    ResultRecord {
        id,
        result_type: "profile".into(),
        entity_type: "profile".into(),
        platform: Some("GitHub".into()),
        value: Some(value.into()),
        confidence: 0.87,
        source: "github".into(),
        metadata: Map::new(),
        created_at: at("2026-03-01T12:00:01.5Z"),
        annotation: None,
    }
}

/// Returns a batch of new results.
fn added(results: &[ResultRecord]) -> Delta {
    Delta { revision: 1, added: results.to_vec(), ..Delta::default() }
}

/// Returns the reports of the two modules of a run, with a look-up.
fn both_ended() -> Delta {
    let report = |module: &str, status, reason: Option<Reason>, http_status| ModuleReport {
        module: module.into(),
        platform: module.to_uppercase(),
        status,
        reason,
        http_status,
        elapsed_ms: 345,
        circuit: None,
        rules: (status == Outcome::Hit).then(|| serde_json::from_value("3f9a1c07.1".into()).unwrap()),
        partial: status == Outcome::Hit,
        engine: status == Outcome::Hit,
    };
    let mut coverage = Coverage::default();
    for outcome in [Outcome::Hit, Outcome::Timeout] {
        coverage.add(outcome, None, None);
    }
    Delta {
        revision: 2,
        progress: Progress { modules_total: 2, modules_completed: 2, modules_with_hits: 1 },
        coverage,
        reports: vec![
            report("github", Outcome::Hit, None, Some(200)),
            report("mastodon", Outcome::Timeout, Some(Reason::TimeoutConnect), None),
        ],
        lookups: vec![Lookup {
            lead_id: Uuid::from_u128(7),
            class: Class::Verified,
            module: "gitlab".into(),
            platform: "GitLab".into(),
            query: "someone".into(),
            result_id: 1,
            outcome: Some(Outcome::Hit),
            reason: None,
        }],
        ..Delta::default()
    }
}

fn completed() -> Ending {
    Ending { error: None, completed_at: at("2026-03-01T12:01:00.250Z") }
}

fn failed() -> Ending {
    let error = RunError { code: "no_conclusion".into(), message: "no module came to a conclusion".into() };
    Ending { error: Some(error), completed_at: at("2026-03-01T12:01:00.250Z") }
}

/// Runs `work` until it gets a connection. A call without one in time has done nothing; where many calls are made at
/// once on a busy machine, they are repeated.
fn once_connected<T>(mut work: impl FnMut() -> Result<T, StorageError>) -> T {
    awaited("a connection", || match work() {
        Err(error) if has_got_none(&error) => Err(error),
        done => Ok(done.unwrap()),
    })
}

/// Returns whether no connection became free in time, or the caller was refused because another one waits.
fn has_got_none(error: &StorageError) -> bool {
    let text = error.to_string();
    ["timed out waiting for connection", "the server has been unreachable for"]
        .iter()
        .any(|sign| text.contains(sign))
}
