//! Deletion: old runs and accounts.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use sightline::account::plan::PlanTable;
use sightline::account::service::Accounts;
use sightline::base::clock::SystemClock;
use sightline::base::ids::{AccountId, RunId};
use sightline::model::account::{BATCH, BatchSize, Erased};
use sightline::model::audit::Origin;
use sightline::model::drive::{Ending, Notification, Subscriber};
use sightline::model::refusal::{Code, Refusal};
use sightline::model::start::Started;
use sightline::model::webhook::SealedSecret;
use sightline::modules::query::SearchType;
use sightline::store::Store;

use super::ledger::new_key;
use super::{Fixture, added, at, claim, completed, failed, race, result, with_key};
use crate::support::databases::{TestDatabase, sqlite};
use crate::support::eventually;

const LATER: &str = "2026-06-01T00:00:00Z";
const MOST: BatchSize = BatchSize { runs: 10, results: 100 };

impl Fixture {
    /// Creates a run with that many results that ended that many days after the beginning of March.
    fn ended(&self, day: i64, results: u32) -> RunId {
        let run = self.started();
        let records: Vec<_> = (1..=results).map(|id| result(id, &format!("value-{id}"))).collect();
        self.save(&run, &added(&records));
        let completed_at =
            at("2026-03-01T12:01:00Z") + Duration::from_secs(86_400) * u32::try_from(day).unwrap();
        self.finish(&run, &Ending { completed_at, ..completed() });
        run.id
    }

    fn sweep(&self, before: &str, most: BatchSize) -> u64 {
        match self.store.sweep(at(before), most).unwrap() {
            Some(runs) => runs,
            None => panic!("nobody else sweeps"),
        }
    }

    fn is_there(&self, run: RunId) -> bool {
        self.store.run(run, self.account.id).unwrap().is_some()
    }

    fn erase(&self) -> Option<Erased> {
        erase(&self.store, self.account.id)
    }
}

/// Deletes an account to its last row.
pub(super) fn erase(store: &Store, account: AccountId) -> Option<Erased> {
    let erased = store.close_account(account, &Origin::CLI).unwrap();
    while !store.erase_closed(account).unwrap() {}
    erased
}

on_both! {
    fn runs_that_ended_before_are_removed_and_no_others(f) {
        let (old, new) = (f.ended(1, 2), f.ended(3, 2));
        let exact = f.ended(2, 0);
        let running = f.started();
        let forgotten = f.start(with_key(f.new_run(), "key-1", 7));
        f.finish(&forgotten, &failed());
        assert_eq!(f.sweep("2026-03-03T12:01:00Z", MOST), 2);
        for (run, there) in [(old, false), (forgotten.id, false), (exact, true), (new, true), (running.id, true)] {
            assert_eq!(f.is_there(run), there, "{run}");
        }
        assert_eq!((f.rows("results"), f.rows("idempotency_keys")), (2, 0));
        assert!(f.store.results(old, 0, 10).unwrap().is_empty());
        // The ledger keeps five charges and a refund.
        assert_eq!((f.rows("charges"), f.used()), (6, 4));
        assert_eq!(f.sweep("2026-03-03T12:01:00Z", MOST), 0);
    }

    fn a_batch_takes_the_oldest_first_and_stays_small(f) {
        let runs: Vec<_> = (0..6).rev().map(|day| f.ended(day, 3)).rev().collect();
        let kept = || runs.iter().filter(|run| f.is_there(**run)).count();
        assert_eq!(f.sweep(LATER, BatchSize { runs: 2, results: 100 }), 2);
        assert!(!f.is_there(runs[0]) && !f.is_there(runs[1]) && f.is_there(runs[2]));
        assert_eq!(f.sweep(LATER, BatchSize { runs: 10, results: 7 }), 2);
        // A run that alone has more results than a batch takes is still removed.
        assert_eq!(f.sweep(LATER, BatchSize { runs: 10, results: 1 }), 1);
        assert_eq!(kept(), 1);
    }

    fn an_account_is_removed_bit_by_bit_and_can_do_nothing_meanwhile(f) {
        let ended: Vec<_> = (0..BATCH.runs as i64 + 2).map(|_| f.ended(1, 1)).collect();
        let live = f.started();
        let (_, key) = new_key(&f.account, "2026-03-01T00:00:00Z");
        assert!(f.store.add_key(&key, &Origin::CLI).unwrap());
        // The account was not closed: nothing of it is removed.
        assert!(f.store.erase_closed(f.account.id).unwrap());
        assert_eq!(f.rows("runs"), ended.len() as i64 + 1);

        let whole = Erased { keys: 1, runs: ended.len() as u64 + 1 };
        assert_eq!(f.store.close_account(f.account.id, &Origin::CLI).unwrap(), Some(whole));
        assert_eq!((f.rows("runs"), f.rows("api_keys")), (ended.len() as i64 + 1, 0));
        assert_eq!(f.store.key_by_hash(&key.hash).unwrap(), None);
        assert_eq!(f.store.start(&f.new_run()).unwrap(), Started::Refused(Refusal::unknown_key()));
        let (_, another) = new_key(&f.account, "2026-03-01T00:00:00Z");
        assert!(!f.store.add_key(&another, &Origin::CLI).unwrap());
        assert!(!f.store.set_plan(f.account.id, "free", &Origin::CLI).unwrap());
        let watch = f.store.add_watch(&f.new_watch(), &Origin::CLI);
        assert_eq!(watch.unwrap_err(), Refusal::unknown_key());
        let webhook = f.store.add_webhook(&f.new_webhook(&[]), &SealedSecret([1; 60]), &Origin::CLI);
        assert_eq!(webhook.unwrap_err(), Refusal::unknown_key());
        assert_eq!(f.store.take_over(&claim(f.me, false)).unwrap(), None);

        // The live run goes first and alone, then a batch of the others; the state after each batch is visible.
        assert!(!f.store.erase_closed(f.account.id).unwrap());
        assert_eq!((f.is_there(live.id), f.rows("runs")), (false, ended.len() as i64));
        assert!(!f.store.erase_closed(f.account.id).unwrap());
        assert_eq!((f.rows("runs"), f.rows("results")), (2, 2));
        assert!(f.store.account(f.account.id).unwrap().unwrap().is_being_deleted());

        // The deletion stopped here. Another caller completes it, and the audit log has one entry for it.
        let another = f.another();
        assert_eq!(another.closed_accounts().unwrap(), [f.account.id]);
        let rest = another.close_account(f.account.id, &Origin::CLI).unwrap();
        assert_eq!(rest, Some(Erased { keys: 0, runs: 2 }));
        assert_eq!(erase(&another, f.account.id), rest);
        assert_eq!((f.rows("runs"), f.rows("accounts")), (0, 0));
        assert!(another.closed_accounts().unwrap().is_empty());
        let deeds = f.audit_of(f.account.id);
        let deletions: Vec<_> = deeds.iter().filter(|event| event.action == "account.deleted").collect();
        assert_eq!(deletions.len(), 1);
        assert_eq!((&deletions[0].detail["keys"], &deletions[0].detail["runs"]), (&1.into(), &whole.runs.into()));
    }

    fn an_account_that_cannot_be_removed_keeps_no_other_waiting(f) {
        let another = f.add_account("another@example.com");
        for account in [f.account.id, another.id] {
            assert!(f.store.close_account(account, &Origin::CLI).unwrap().is_some());
        }
        let closed = f.store.closed_accounts().unwrap();
        let kind = if f.database.name == "sqlite" { "BLOB" } else { "uuid" };
        f.database.execute(&format!("CREATE TABLE kept (account {kind} REFERENCES accounts (id))"));
        // The oldest account.
        f.database.execute("INSERT INTO kept SELECT id FROM accounts ORDER BY id LIMIT 1");
        let finish = || {
            let clock = Arc::new(SystemClock);
            Accounts::new(f.store.clone(), PlanTable::default(), clock).finish_deletions();
            f.store.closed_accounts().unwrap()
        };
        assert_eq!(finish(), closed[..1]);
        f.database.execute("DROP TABLE kept");
        assert!(finish().is_empty());
    }

    fn runs_that_start_while_the_account_is_deleted_leave_no_rows(f) {
        let stop = AtomicBool::new(false);
        let outcomes = race(5, |index| {
            if index == 0 {
                while f.rows("runs") < 3 { std::thread::yield_now(); }
                f.erase();
                stop.store(true, Ordering::SeqCst);
                return Vec::new();
            }
            let mut outcomes = Vec::new();
            while !stop.load(Ordering::SeqCst) {
                outcomes.push(f.store.start(&f.new_run()).unwrap());
                let (_, key) = new_key(&f.account, "2026-03-01T00:00:00Z");
                f.store.add_key(&key, &Origin::CLI).unwrap();
            }
            outcomes
        });
        let started = outcomes.iter().flatten().filter(|outcome| **outcome == Started::Created).count();
        let is_refused = |it: &Started| matches!(it, Started::Refused(refusal) if refusal.code == Code::InvalidApiKey);
        assert!(outcomes.iter().flatten().all(|it| *it == Started::Created || is_refused(it)));
        assert!(started >= 3);
        assert_eq!((f.rows("runs"), f.rows("api_keys"), f.rows("accounts")), (0, 0, 0));
        assert_eq!(f.store.bookings(f.account.id).unwrap().len(), started);
    }

    // A table of personal data that is added later must go with the account, too: either through a foreign key, which
    // keeps the account from being deleted without it, or it has its reason here.
    fn every_table_that_names_an_account_is_known_here(f) {
        let sql = match f.database.name {
            "sqlite" => "SELECT DISTINCT s.name FROM sqlite_schema s, pragma_table_info(s.name) c \
                         WHERE s.type = 'table' AND c.name LIKE '%account%' ORDER BY 1",
            _ => "SELECT DISTINCT table_name::text FROM information_schema.columns \
                  WHERE table_schema = current_schema() AND column_name LIKE '%account%' ORDER BY 1",
        };
        let mut known =
            vec!["api_keys", "batches", "idempotency_keys", "passwords", "runs", "set_up_links", "watches", "web_sessions", "webhooks"];
        let kept = ["audit", "charges", "credit_usage"];
        known.extend(kept);
        known.sort_unstable();
        assert_eq!(f.database.texts(sql), known, "see close_account, and `account export`");
    }
}

#[derive(Default)]
struct Received(Mutex<Vec<Notification>>);

impl Subscriber for Received {
    fn notify(&self, news: Notification) {
        self.0.lock().push(news);
    }
}

impl Received {
    fn has(&self, news: Notification) -> bool {
        self.0.lock().contains(&news)
    }
}

/// Returns whether a file holds a text. A file that does not exist holds none.
fn holds(path: &Path, text: &str) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Returns whether the database's write-ahead log holds a text.
pub(crate) fn stands_in_log(database: &TestDatabase, text: &str) -> bool {
    holds(&database.path().with_extension("db-wal"), text)
}

/// Returns whether the database file or its write-ahead log holds a text.
fn stands_on_disk(database: &TestDatabase, text: &str) -> bool {
    holds(&database.path(), text) || stands_in_log(database, text)
}

#[test]
fn nothing_of_a_deleted_or_old_run_is_left_in_the_file_or_its_log() {
    let f = Fixture::new(sqlite());
    let texts = ["a-query-to-forget", "a-result-to-forget"];
    let stands = || texts.map(|text| stands_on_disk(&f.database, text));
    let delete = |run| f.store.delete(run, f.account.id, false, &Origin::CLI).unwrap() == [run];
    let sweep = |_| f.sweep(LATER, MOST) == 1;
    let with_account = |_| erase(&f.store, f.account.id).is_some();
    let ways: [&dyn Fn(RunId) -> bool; 3] = [&delete, &sweep, &with_account];
    for remove in ways {
        let run = f.started_for(SearchType::Username, texts[0]);
        f.save(&run, &added(&[result(1, &format!("{} ", texts[1]).repeat(1000))]));
        f.finish(&run, &completed());
        assert!(f.store.wipe().unwrap());
        assert_eq!(stands(), [true; 2]);

        // Another process reads, and still sees the run in the log.
        let reader = rusqlite::Connection::open(f.database.path()).unwrap();
        reader.execute_batch("UPDATE runs SET premium = premium; BEGIN; SELECT count(*) FROM runs").unwrap();
        assert!(remove(run.id));
        assert!(!f.store.wipe().unwrap(), "a reader is in the way");
        assert_eq!(stands(), [true; 2], "as long as it is read");
        assert!(f.store.run(run.id, f.account.id).unwrap().is_none(), "nobody is held up");
        drop(reader);
        assert!(f.store.wipe().unwrap());
        assert_eq!(stands(), [false; 2]);
        assert!(f.store.wipe().unwrap(), "there is nothing to do");
    }
}

mod postgres {
    use super::*;

    #[test]
    fn a_run_that_is_just_being_deleted_is_passed_over() {
        let f = Fixture::new(crate::support::databases::postgres());
        let (first, second) = (f.ended(0, 1), f.ended(1, 1));
        let mut other = f.database.client();
        let mut deletion = other.transaction().unwrap();
        deletion.execute("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", &[&first.0]).unwrap();
        assert_eq!(f.sweep(LATER, MOST), 1);
        assert!(f.is_there(first) && !f.is_there(second));
        deletion.rollback().unwrap();
        assert_eq!(f.sweep(LATER, MOST), 1);
    }

    #[test]
    fn instances_are_notified_of_a_deletion_before_anything_is_removed() {
        let f = Fixture::new(crate::support::databases::postgres());
        let received = Arc::new(Received::default());
        let subscriber: Arc<dyn Subscriber> = Arc::clone(&received) as _;
        assert!(f.store.listen(Arc::downgrade(&subscriber)).unwrap());
        eventually("it is subscribed", || received.has(Notification::Connected));
        let (live, ended) = (f.started(), f.ended(1, 1));
        f.another().close_account(f.account.id, &Origin::CLI).unwrap();
        eventually("it is notified", || {
            received.has(Notification::Deleted(live.id)) && received.has(Notification::Access)
        });
        assert!(f.is_there(live.id) && f.is_there(ended));
    }

    #[test]
    fn many_sweepers_remove_each_run_once_while_others_write() {
        let f = Fixture::new(crate::support::databases::postgres());
        let stores = [f.another(), f.another(), f.another()];
        for day in 0..20 {
            f.ended(day, 1);
        }
        let most = BatchSize { runs: 2, results: 100 };
        let removed = race(4, |index| {
            let Some(store) = stores.get(index) else {
                for _ in 0..20 {
                    f.ended(200, 1);
                }
                return 0;
            };
            let mut removed = 0;
            loop {
                match store.sweep(at(LATER), most).unwrap() {
                    Some(0) => return removed,
                    Some(runs) => removed += runs,
                    None => std::thread::yield_now(),
                }
            }
        });
        assert_eq!(removed.iter().sum::<u64>(), 20);
        assert_eq!((f.rows("runs"), f.rows("charges")), (20, 40));
    }
}
