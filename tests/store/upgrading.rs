//! Databases of each released schema, with rows, are brought up to date without any loss.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use sightline::account::account::{Account, Role};
use sightline::account::audit::{Action, Actor, AuditFilter};
use sightline::account::credits::Cycle;
use sightline::account::records::Booking;
use sightline::base::ids::{AccountId, RunId};
use sightline::modules::outcome::Outcome;
use sightline::modules::reason::Reason;
use sightline::runs::health::Tallies;
use sightline::runs::health::latencies::Latencies;
use sightline::runs::health::tally::Tally;
use sightline::runs::journal::{ListFilter, Write};
use sightline::runs::run::Status;
use sightline::runs::run_options::RunOptions;
use sightline::store::{self, OpenError, Store};

use super::{at, checkpoint, claim, completed, new_instance, open};
use crate::support::databases::{TestDatabase, empty_databases, empty_postgres};
use crate::support::eventually;

const RELEASED: [&str; 3] = ["0001_foundation", "0002_several_sources", "0003_module_health"];

/// Returns an id of `tests/store/released`.
pub(super) fn id<T: std::str::FromStr>(last: &str) -> T {
    let text = format!("01900000-0000-7000-8000-0000000000{last}");
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Creates a database of that version, with rows.
pub(super) fn load(database: &TestDatabase, version: usize) {
    if database.name == "sqlite" {
        fs::create_dir_all(database.path().parent().unwrap()).unwrap();
        database.execute("PRAGMA application_id = 1397507138");
    }
    for migration in &RELEASED[..version] {
        for folder in ["sql", "tests/store/released"] {
            let file = format!("{folder}/{}/{migration}.sql", database.name);
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
            database.execute(&fs::read_to_string(path).unwrap());
        }
    }
}

fn upgraded(database: &TestDatabase, version: usize) -> std::sync::Arc<Store> {
    load(database, version);
    let url = database.url.parse().unwrap();
    let pending = store::pending_migrations(&url).unwrap();
    assert!(pending[0].starts_with(&format!("{:04}_", version + 1)), "{pending:?}");
    let store = open(&database.url, store::Role::Server).unwrap();
    assert_eq!(store::pending_migrations(&url).unwrap(), [""; 0]);
    store
}

#[test]
fn every_released_schema_is_migrated_with_all_its_data() {
    for version in 1..=RELEASED.len() {
        for database in empty_databases() {
            let store = upgraded(&database, version);
            let seen = (database.name, version);
            accounts_are_whole(&*store);
            runs_are_whole(&*store, version);
            health_is_whole(&*store, version);
            goes_on(&*store);
            let missing = "SELECT count(*) FROM schema_version WHERE checksum IS NULL";
            assert_eq!(database.number(missing), 0, "{seen:?}");
            // The constraints of every table still hold.
            assert_eq!(database.number("SELECT count(*) FROM charges"), 4, "{seen:?}");
            let owner: AccountId = id("0a");
            assert!(super::erasing::erase(&*store, owner).is_some());
            assert_eq!(database.number("SELECT count(*) FROM charges"), 4, "{seen:?}");
            assert_eq!(database.number("SELECT count(*) FROM results"), 0, "{seen:?}");
        }
    }
}

fn accounts_are_whole(store: &Store) {
    let anchor = at("2026-01-31T10:00:00.001Z");
    let account = |last, email: &str, plan: &str| Account {
        id: id(last),
        email: email.into(),
        plan: plan.into(),
        anchor,
        created_at: anchor,
        role: Role::User,
    };
    let owner = account("0a", "owner@example.com", "pro");
    assert_eq!(store.accounts().unwrap(), [owner.clone(), account("0b", "zoë@example.com", "free")]);
    let keys = store.keys(Some(owner.id)).unwrap();
    assert_eq!(keys.iter().map(|key| key.label.as_str()).collect::<Vec<_>>(), ["Läptop 💻", "old"]);
    assert_eq!(store.key_by_hash(&keys[0].hash).unwrap(), Some((keys[0].clone(), owner.clone())));
    assert_eq!((keys[0].hash.0, keys[0].revoked_at), ([0x11; 32], None));
    assert_eq!(keys[1].revoked_at, Some(at("2026-02-02T00:00:00.007Z")));

    let cycle_start = at("2026-02-28T10:00:00.001Z");
    let cycle = Cycle { start: cycle_start, end: at("2026-03-31T10:00:00.001Z") };
    assert_eq!(store.credits_used(owner.id, cycle).unwrap(), 1);
    let booking = |run, kind: &str, credits, moment| Booking {
        run: id(run),
        kind: kind.into(),
        cycle_start,
        credits,
        at: at(moment),
    };
    assert_eq!(
        store.bookings(owner.id).unwrap(),
        [
            booking("d1", "charge", 1, "2026-03-01T12:00:00.123Z"),
            booking("d2", "charge", 2, "2026-03-01T12:00:01Z"),
            booking("d3", "charge", 1, "2026-03-01T12:00:02Z"),
            booking("d2", "refund", 2, "2026-03-01T12:02:00Z"),
        ]
    );
    assert_eq!(store.cycle_uses(owner.id).unwrap().len(), 2);
    assert_eq!(store.noted_requests(owner.id).unwrap()[0].key, "key-1");
}

fn runs_are_whole(store: &Store, version: usize) {
    let owner: AccountId = id("0a");
    let runs = store.list(owner, &ListFilter::default(), 10).unwrap();
    let shown: Vec<_> = runs.iter().map(|run| (run.id, run.status)).collect();
    assert_eq!(
        shown,
        [(id("d3"), Status::Running), (id("d2"), Status::Failed), (id("d1"), Status::Completed)]
    );
    assert_eq!(runs[2].query, " @Someone ’ 名前");
    assert_eq!((runs[2].total_results, runs[2].coverage.count_of(Outcome::Timeout)), (2, 1));
    assert_eq!(runs[2].revision, if version == 1 { 0 } else { 2 });
    assert_eq!(runs[1].error.as_ref().map(|error| error.code.as_str()), Some("no_conclusion"));
    assert_eq!((runs[1].premium, runs[1].credits_charged), (true, 0));
    assert!(runs.iter().all(|run| run.options == RunOptions::default()));

    let results = store.results(id("d1"), 0, 10).unwrap();
    assert_eq!(results.len(), 2);
    assert_eq!(Value::Object(results[0].metadata.clone()), json!({"bio": "a\0b “quoted”", "followers": 12}));
    assert_eq!((results[1].platform.as_deref(), results[1].value.as_deref()), (None, None));
    let modules = store.modules(id("d1")).unwrap();
    assert_eq!(
        (modules[1].status, modules[1].reason.map(Reason::as_str)),
        (Outcome::Timeout, Some("timeout_connect"))
    );
}

fn health_is_whole(store: &Store, version: usize) {
    let known = store.share_health(false, &Tallies::new()).unwrap();
    assert_eq!(known.len(), usize::from(version >= 3));
    if let Some((module, tally)) = known.first() {
        assert_eq!(&**module, "github");
        assert_eq!((tally.checks, tally.latency), (7, [1.75, 5.5]));
        assert_eq!(tally.latencies, Latencies::default());
        let (moment, took) = (at("2026-03-01T12:00:00Z"), Duration::from_millis(100));
        let one = Tally::one(Outcome::Hit, took, moment);
        let five = (0..5).fold(Tally::default(), |sum, _| sum.then(&one));
        let stored = store.share_health(false, &vec![(Arc::clone(module), five)]).unwrap();
        assert_eq!(stored[0].1.checks, 12);
        let deadline = stored[0].1.latencies.deadline(moment, Duration::from_secs(10));
        assert_eq!(deadline, Some(Duration::from_secs(2)));
    }
}

/// Takes over the interrupted run and ends it.
fn goes_on(store: &Store) {
    let me = new_instance();
    let taken = store.take_over(&claim(me, false, 10)).unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!((taken[0].modules.len(), taken[0].done.len(), taken[0].results.len()), (2, 1, 1));
    let run: RunId = id("d3");
    assert_eq!(store.finish(run, taken[0].lease, &checkpoint(), &completed()).unwrap(), Write::Done);
    assert_eq!(store.run(run, id("0a")).unwrap().unwrap().status, Status::Completed);
}

#[test]
fn a_migration_is_noted_in_the_audit() {
    for database in empty_databases() {
        let store = upgraded(&database, RELEASED.len());
        let entries = store.audit(&AuditFilter::default(), 100).unwrap();
        assert!(!entries.is_empty());
        for entry in entries {
            assert_eq!((entry.action.as_str(), entry.actor), (Action::Migrated.as_str(), Actor::System));
            let (version, name) = (entry.detail["version"].as_u64().unwrap(), entry.object.unwrap());
            assert!(name.starts_with(&format!("{version:04}_")), "{name}");
        }
    }
}

#[test]
fn a_changed_migration_is_refused_and_named() {
    for database in empty_databases() {
        let pending = |database: &TestDatabase| store::pending_migrations(&database.url.parse().unwrap());
        for changed in [format!("'{}'", "0".repeat(64)), "NULL".to_owned()] {
            drop(open(&database.url, store::Role::Command).unwrap());
            let (noted, version) = ("UPDATE schema_version SET checksum =", "WHERE version = 2");
            let known = match database.name {
                "sqlite" => "CREATE TABLE kept AS SELECT * FROM schema_version",
                _ => "CREATE TABLE kept AS TABLE schema_version",
            };
            database.execute(known);
            database.execute(&format!("{noted} {changed} {version}"));
            for refused in [
                open(&database.url, store::Role::Server).map(drop).unwrap_err(),
                open(&database.url, store::Role::Command).map(drop).unwrap_err(),
                pending(&database).map(drop).unwrap_err(),
            ] {
                assert!(
                    matches!(refused, OpenError::ChangedMigration { name: "0002_several_sources" }),
                    "{refused:?}"
                );
                assert!(refused.to_string().contains("restore a backup"), "{refused}");
            }
            database.execute(&format!(
                "{noted} (SELECT checksum FROM kept {version}) {version}; DROP TABLE kept"
            ));
            open(&database.url, store::Role::Server).unwrap();
        }
    }
}

/// The text of the 22nd migration was another one for some days, and so was that of the 23rd.
#[test]
fn a_database_with_an_earlier_text_of_a_migration_is_opened_and_brought_up_to_date() {
    let first_text = "DROP INDEX runs_begun; DROP INDEX runs_queue;
        CREATE INDEX runs_queue ON runs (simulated, turn, created_at, id, account)
            WHERE status = 'running' AND owner IS NULL AND turn IS NOT NULL;
        CREATE INDEX runs_driven ON runs (simulated, created_at, id) WHERE status = 'running' AND turn IS NULL;
        DELETE FROM schema_version WHERE version = 23";
    let second_text = "UPDATE schema_version SET checksum = \
        '067ba66a252f938500b010cda374ff8dbae82467b83109d74411dd3da17d6546' WHERE version = 22;
        DELETE FROM schema_version WHERE version = 23";
    let first_of_next = "UPDATE schema_version SET checksum = \
        'a991f8f943b8d40879f74b59387da726a90a53fe1b41fba43111c29cc4391237' WHERE version = 23";
    for earlier in [first_text, second_text, first_of_next] {
        for database in empty_databases() {
            let indexes = match database.name {
                "sqlite" => {
                    "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
                }
                _ => "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY indexname",
            };
            drop(open(&database.url, store::Role::Server).unwrap());
            let known = database.texts(indexes);
            assert!(known.iter().any(|sql| sql.contains("runs_begun")), "{known:?}");
            database.execute(earlier);
            drop(open(&database.url, store::Role::Server).unwrap());
            assert_eq!(database.texts(indexes), known, "{earlier}");
        }
    }
}

mod postgres {
    use super::*;

    /// A server of the previous version is in the middle of a transaction.
    #[test]
    fn a_blocked_migration_is_retried() {
        let database = empty_postgres();
        load(&database, 3);
        let mut other = database.client();
        let mut busy = other.transaction().unwrap();
        busy.batch_execute("LOCK TABLE charges IN ROW EXCLUSIVE MODE").unwrap();
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'";
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| open(&database.url, store::Role::Server));
            for _ in 0..2 {
                eventually("it waits for the table", || database.number(waits) == 1);
                eventually("it steps back", || database.number(waits) == 0);
            }
            assert!(!opening.is_finished());
            busy.commit().unwrap();
            accounts_are_whole(&*opening.join().unwrap().unwrap());
        });
    }
}
