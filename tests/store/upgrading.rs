//! A database of version 23, with rows in every table, is brought up to date without any loss.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use sightline::base::ids::{AccountId, BatchId, RunId, WatchId, WebhookId};
use sightline::model::account::Role;
use sightline::model::audit::{Action, AuditFilter};
use sightline::model::batch::Counts;
use sightline::model::credits::Cycle;
use sightline::model::drive::{Claim, Write};
use sightline::model::health::{BreakerState, Cause, Learned};
use sightline::model::notes::Verdict;
use sightline::model::page::ListFilter;
use sightline::model::run::{RunSummary, Status};
use sightline::model::tally::Tally;
use sightline::modules::outcome::Outcome;
use sightline::modules::reason::Reason;
use sightline::store::{self, OpenError, Store};

use super::{at, both_ended, claim, completed, new_instance, open};
use crate::support::databases::{TestDatabase, empty_databases, empty_postgres};
use crate::support::eventually;

/// Returns an id of `version_23`.
fn id<T: std::str::FromStr>(last: &str) -> T {
    let text = format!("01900000-0000-7000-8000-0000000000{last}");
    text.parse().unwrap_or_else(|_| panic!("{text}"))
}

/// Creates a database of version 23, with rows in every table.
fn load(database: &TestDatabase) {
    if database.name == "sqlite" {
        fs::create_dir_all(database.path().parent().unwrap()).unwrap();
        database.execute("PRAGMA application_id = 1397507138");
    }
    let file = format!("tests/store/version_23/{}.sql", database.name);
    database.execute(&fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap());
}

/// Returns every table with the number of its rows.
fn counts(database: &TestDatabase) -> Vec<(String, i64)> {
    let tables = match database.name {
        "sqlite" => {
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        }
        _ => "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename",
    };
    let count = |table: String| {
        let rows = database.number(&format!("SELECT count(*) FROM {table}"));
        (table, rows)
    };
    database.texts(tables).into_iter().map(count).collect()
}

/// Returns the columns and indexes of all tables.
fn schema(database: &TestDatabase) -> Vec<String> {
    database.texts(match database.name {
        "sqlite" => {
            "SELECT t.name || ' ' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk || ' ' || coalesce(c.dflt_value, '') \
             FROM sqlite_schema t, pragma_table_info(t.name) c \
             WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.name <> 'checksum' \
             UNION ALL SELECT sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL ORDER BY 1"
        }
        _ => {
            "SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) \
             FROM information_schema.columns WHERE table_schema = 'public' AND column_name <> 'checksum' \
             UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        }
    })
}

#[test]
fn a_database_of_version_23_is_opened_with_all_its_data() {
    for database in empty_databases() {
        load(&database);
        let before = counts(&database);
        assert!(before.iter().all(|(_, rows)| *rows > 0), "{before:?}");
        let url = database.url.parse().unwrap();
        let migrations = store::pending_migrations(&url).unwrap();
        let store = open(&database.url, store::Role::Server).unwrap();
        assert_eq!(store::pending_migrations(&url).unwrap(), [""; 0]);
        let added = i64::try_from(migrations.len()).unwrap();
        for (table, rows) in before {
            let table = match table.as_str() {
                "sign_in_attempts" => "rate_limits".to_owned(),
                // Grants counted for a minute, and retention does not need to know since when servers have run.
                "rate_grants" | "running" => continue,
                // They are in one table now.
                "host_circuits" | "module_health" | "module_quarantines" => continue,
                _ => table,
            };
            let more = if ["schema_version", "audit"].contains(&table.as_str()) { added } else { 0 };
            assert_eq!(database.number(&format!("SELECT count(*) FROM {table}")), rows + more, "{table}");
        }
        accounts_are_whole(&store);
        runs_are_whole(&store);
        the_rest_is_whole(&store);
        goes_on(&store);
        // The constraints of every table still hold.
        let charges = database.number("SELECT count(*) FROM charges");
        assert!(super::erasing::erase(&store, id::<AccountId>("0a")).is_some());
        assert_eq!(database.number("SELECT count(*) FROM charges"), charges);
        assert_eq!(database.number("SELECT count(*) FROM results"), 0);
    }
}

fn accounts_are_whole(store: &Store) {
    let owner: AccountId = id("0a");
    let accounts = store.accounts().unwrap();
    let shown: Vec<_> = accounts.iter().map(|account| (account.email.as_str(), account.role)).collect();
    assert_eq!(shown, [("owner@example.com", Role::Operator), ("zoë@example.com", Role::User)]);
    let keys = store.keys(Some(owner)).unwrap();
    assert_eq!(keys.iter().map(|key| key.label.as_str()).collect::<Vec<_>>(), ["Läptop 💻", "old"]);
    assert_eq!(store.key_by_hash(&keys[0].hash).unwrap().unwrap().1.id, owner);
    assert_eq!((keys[0].hash.0, keys[0].revoked_at), ([0x11; 32], None));
    assert_eq!(keys[1].revoked_at, Some(at("2026-02-02T00:00:00.007Z")));
    let cycle = Cycle { start: at("2026-02-28T10:00:00.001Z"), end: at("2026-03-31T10:00:00.001Z") };
    assert_eq!(store.credits_used(&[(owner, cycle)]).unwrap(), [3]);
    let bookings = store.bookings(owner).unwrap();
    let kinds: Vec<_> = bookings.iter().map(|booking| (booking.kind.as_str(), booking.credits)).collect();
    assert_eq!(kinds, [("charge", 1), ("charge", 2), ("charge", 1), ("charge", 1), ("refund", 2)]);
    assert_eq!(store.noted_requests(owner).unwrap()[0].key, "key-1");
    assert!(store.password(owner).unwrap().unwrap().starts_with("$argon2id$"));
    assert_eq!(store.sessions(owner, at("2026-03-02T00:00:00Z")).unwrap().len(), 1);
}

fn runs_are_whole(store: &Store) {
    let owner: AccountId = id("0a");
    let runs = store.list(owner, &ListFilter::default(), 10).unwrap();
    let shown: Vec<_> = runs.iter().map(|run| (run.id, run.status)).collect();
    let (running, completed) = (Status::Running, Status::Completed);
    let want =
        [("d5", completed), ("d4", running), ("d3", running), ("d2", Status::Failed), ("d1", completed)];
    assert_eq!(shown, want.map(|(last, status)| (id(last), status)));
    let (first, failed) = (&runs[4], &runs[3]);
    assert_eq!((first.query.as_str(), first.revision), (" @Someone ’ 名前", 2));
    assert_eq!((first.total_results, first.coverage.count_of(Outcome::Timeout)), (2, 1));
    assert_eq!(
        (first.notes.tags.as_slice(), first.notes.note.as_deref()),
        (&["case-7".to_owned()][..], Some("called back"))
    );
    assert_eq!(failed.error.as_ref().map(|error| error.code.as_str()), Some("no_conclusion"));
    assert_eq!((failed.premium, failed.credits_charged), (true, 0));
    assert_eq!((runs[1].watch, runs[2].batch), (Some(id("f1")), Some(id("b1"))));

    let results = store.results(id("d1"), 0, 10).unwrap();
    assert_eq!(Value::Object(results[0].metadata.clone()), json!({"bio": "a\0b “quoted”", "followers": 12}));
    assert_eq!((results[1].platform.as_deref(), results[1].value.as_deref()), (None, None));
    let modules = store.modules(id("d1")).unwrap();
    assert_eq!(
        (modules[1].status, modules[1].reason.map(Reason::as_str)),
        (Outcome::Timeout, Some("timeout_connect"))
    );
    assert!(store.thumbnail(id("d1"), 1).unwrap().is_some());
    assert_eq!(store.notes(id("d1")).unwrap().results[&2].verdict, Some(Verdict::NotMine));
    let family = store.family(id("d1"), owner).unwrap().unwrap();
    assert_eq!((family.members.len(), family.followed.len(), family.is_following), (2, 1, false));
}

fn the_rest_is_whole(store: &Store) {
    let owner: AccountId = id("0a");
    what_was_learned_is_whole(store);
    let webhook: WebhookId = id("3b");
    assert_eq!(store.webhooks(owner).unwrap()[0].url, "https://hooks.example/in");
    assert_eq!(store.deliveries(webhook, None, 10).unwrap()[0].attempts, 1);
    let watch: WatchId = id("f1");
    assert!(store.watch(owner, watch).unwrap().unwrap().is_open);
    assert_eq!(store.watch_changes(watch, None, 10).unwrap().len(), 1);
    let batch: BatchId = id("b1");
    let stored = store.batch(owner, batch).unwrap().unwrap();
    let counts = Counts { pending: 1, running: 1, refused: 1, skipped: 1, ..Counts::default() };
    assert_eq!((stored.name.as_deref(), stored.counts), (Some("Friday"), counts));
    let rows = store.batch_rows(batch, 0, 10).unwrap();
    let states: Vec<_> = rows.iter().map(|row| row.status.as_str()).collect();
    assert_eq!(states, ["running", "pending", "skipped", "refused"]);
    let entries = store.audit(&AuditFilter::default(), 100).unwrap();
    let migrations = entries.iter().filter(|entry| entry.action == Action::Migrated.as_str());
    assert!(
        migrations.clone().count() > 0
            && migrations.clone().all(|entry| ["system", "cli"].contains(&entry.actor.as_str()))
    );
}

fn what_was_learned_is_whole(store: &Store) {
    let breaker = |kind| {
        let merge = BreakerState::later;
        let (name, _, state) =
            store.share_learned(kind, false, Timestamp::UNIX_EPOCH, &[], merge).unwrap().remove(0);
        (name.to_string(), state.changed_at, state.opening.unwrap())
    };
    let (since, next_try) = (at("2026-03-01T12:00:00.123Z"), at("2026-03-01T12:01:00.123Z"));
    let (host, changed_at, opening) = breaker(Learned::Host);
    assert_eq!((host.as_str(), changed_at), ("down.example", since));
    assert_eq!((opening.cause, opening.failures), (Cause::Check(Outcome::Timeout), 3));
    assert_eq!((opening.since, opening.wait, opening.next_try), (since, Duration::from_secs(60), next_try));
    let (module, changed_at, opening) = breaker(Learned::Quarantine);
    assert_eq!((module.as_str(), changed_at, opening.failures), ("mastodon", since, 4));
    assert_eq!(opening.cause.text(), "a made-up name is a hit: HTTP 200, hit[0]: \"é\"");
    assert_eq!(
        (opening.since, opening.wait, opening.next_try),
        (since, Duration::from_millis(60_001), next_try)
    );
    let tallies = store
        .share_learned(Learned::Deadline, false, Timestamp::UNIX_EPOCH, &[], |older: Tally, _| older)
        .unwrap();
    let (module, _, tally) = &tallies[0];
    assert_eq!((&**module, tally.checks, tally.latency), ("github", 7, [1.75, 5.5]));
    let weights = [Outcome::Hit, Outcome::Miss, Outcome::Timeout].map(|outcome| tally.outcomes[outcome]);
    assert_eq!((weights, tally.sample()), ([2.5, 3.25, 1.0], 6.75));
    let times = [tally.last_checked, tally.last_hit, tally.last_conclusive];
    assert_eq!(times, [Some(at("2026-03-01T12:00:00Z")), Some(at("2026-03-01T11:00:00Z")), None]);
    assert_eq!(tally.deadline(since, Duration::from_secs(10)), Some(Duration::from_secs(2)));
}

/// Takes over the interrupted run and ends it.
fn goes_on(store: &Store) {
    let run: RunId = id("d3");
    let claim = Claim { only: Some(run), ..claim(new_instance(), false) };
    let resumed = store.take_over(&claim).unwrap().unwrap();
    assert_eq!((resumed.modules.len(), resumed.done.len(), resumed.results.len()), (2, 1, 1));
    assert_eq!(store.finish(run, resumed.lease, &both_ended(), &completed()).unwrap(), Write::Done);
    let ended = store.run(run, id("0a")).unwrap().unwrap();
    assert_eq!(ended.status, Status::Completed);
    let batch = store.batch(id("0a"), id("b1")).unwrap().unwrap();
    assert_eq!((batch.counts.running, batch.counts.completed), (0, 1));
    // Earlier runs have a normal form, too.
    let other = RunSummary { id: RunId::new(), ..ended };
    assert_eq!(store.comparable(&other, "me@example.com", None, 10).unwrap()[0].id, run);
}

#[test]
fn a_database_of_version_23_gets_the_schema_of_a_new_one() {
    for (old, new) in empty_databases().zip(empty_databases()) {
        load(&old);
        drop(open(&old.url, store::Role::Server).unwrap());
        drop(open(&new.url, store::Role::Server).unwrap());
        assert_eq!(schema(&old), schema(&new));
    }
}

#[test]
fn an_older_schema_is_refused_with_what_to_do() {
    for database in empty_databases() {
        load(&database);
        database.execute("DELETE FROM schema_version WHERE version > 21");
        let before = counts(&database);
        for refused in [
            open(&database.url, store::Role::Server).map(drop).unwrap_err(),
            store::pending_migrations(&database.url.parse().unwrap()).map(drop).unwrap_err(),
        ] {
            assert!(matches!(refused, OpenError::OlderSchema { found: 21, oldest: 23 }), "{refused:?}");
            assert!(refused.to_string().contains("sightline migrate"), "{refused}");
        }
        assert_eq!(counts(&database), before);
    }
}

mod postgres {
    use super::*;

    /// A server of the previous version is in the middle of a transaction.
    #[test]
    fn a_blocked_migration_leaves_the_table_and_may_be_tried_again() {
        let database = empty_postgres();
        load(&database);
        let mut other = database.client();
        let mut busy = other.transaction().unwrap();
        busy.batch_execute("LOCK TABLE runs IN ROW EXCLUSIVE MODE").unwrap();
        let error = open(&database.url, store::Role::Server).map(drop).unwrap_err();
        assert!(matches!(error, OpenError::Migration { .. }) && error.is_transient(), "{error:?}");
        busy.commit().unwrap();
        eventually("it is migrated", || open(&database.url, store::Role::Server).is_ok());
    }
}
