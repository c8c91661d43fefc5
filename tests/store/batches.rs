//! Batches: rows that start one run each, in turns.

use std::time::Duration;

use sightline::base::ids::{AccountId, BatchId};
use sightline::model::account::BatchSize;
use sightline::model::audit::Origin;
use sightline::model::batch::{Batch, BatchStatus, Counts, NewBatch, RowRefusal};
use sightline::model::event::EventType;
use sightline::model::refusal::{Code, Refusal};
use sightline::model::run::Status;
use sightline::model::start::{Cause, NewRun, RowRef, Started};

use super::{Fixture, at, charge, completed, failed, search};

fn new_batch(account: AccountId, names: &[&str]) -> NewBatch {
    NewBatch {
        id: BatchId::new(),
        account,
        name: Some("some names".into()),
        simulated: false,
        rows: (1..).zip(names.iter().map(|name| search(name))).collect(),
        idempotency: None,
    }
}

impl Fixture {
    fn batch_of(&self, account: AccountId, names: &[&str]) -> BatchId {
        let batch = new_batch(account, names);
        assert_eq!(self.store.add_batch(&batch, &Origin::CLI).unwrap(), Started::Created);
        batch.id
    }

    fn batch(&self, id: BatchId) -> Batch {
        self.store.batch(self.account.id, id).unwrap().unwrap()
    }

    /// Starts the row whose turn has come, and returns its query and its run.
    fn start_next(&self) -> Option<(String, NewRun)> {
        let next = self.store.next_row(false, &[]).unwrap()?;
        let query = next.search.unwrap().query;
        let (account, cause) = (next.account, Cause::Row(next.row));
        let run = self.start(NewRun { account, cause, search: search(&query), ..self.new_run() });
        Some((query, run))
    }

    fn start_all(&self) -> Vec<String> {
        std::iter::from_fn(|| self.start_next()).map(|(query, _)| query).collect()
    }
}

on_both! {
    fn a_caller_without_a_confirmation_is_refused_and_nothing_stays(f) {
        let batch = new_batch(f.account.id, &["anna"]);
        f.refuse_confirmations();
        assert!(f.store.add_batch(&batch, &Origin::CLI).unwrap_err().is_unavailable());
        let refused = f.store.add_watch(&f.new_watch(), &Origin::CLI);
        assert_eq!(refused.unwrap_err().code, Code::Unavailable);
        let run = NewRun { is_unconfirmed: true, owner: None, ..f.new_run() };
        assert!(f.store.start(&run).unwrap_err().is_unavailable());
        f.store.undo_unconfirmed(super::HOLDS).unwrap();
        assert_eq!((f.summary(&run).status, f.used()), (Status::Running, 1), "its instance's clock does not count");
        assert!(f.store.next_row(false, &[]).unwrap().is_none());
        assert!(f.store.due_watches(false, None, 10).unwrap().is_empty());
        f.store.undo_unconfirmed(Duration::ZERO).unwrap();
        assert!(f.store.batch(f.account.id, batch.id).unwrap().is_none());
        assert!(f.store.watches(f.account.id, None, 10).unwrap().is_empty());
        assert_eq!((f.summary(&run).status, f.used()), (Status::Failed, 0));
    }

    fn a_row_is_started_once(f) {
        let id = f.batch_of(f.account.id, &["a", "b"]);
        let row = RowRef { batch: id, position: 1 };
        let started = f.race(8, |store| {
            store.start(&NewRun { cause: Cause::Row(row), ..f.new_run() })
        });
        assert_eq!(started.iter().filter(|one| **one == Started::Created).count(), 1, "{started:?}");
        let is_refused = |it: &Started| matches!(it, Started::Refused(refusal) if refusal.code == Code::NotFound);
        assert!(started.iter().all(|it| *it == Started::Created || is_refused(it)));
        assert_eq!((f.used(), f.rows("runs")), (1, 1));
        assert_eq!(f.batch(id).counts, Counts { pending: 1, running: 1, ..Counts::default() });
        f.database.execute(r#"UPDATE batch_rows SET search = '{"type":"phone","query":"c","of":1}' WHERE position = 2"#);
        let rows = f.store.batch_rows(id, 0, 10).unwrap();
        assert_eq!(f.store.run(rows[0].run.unwrap(), f.account.id).unwrap().unwrap().batch, Some(id));
        assert_eq!((rows[0].status.as_str(), rows[0].total_results), ("running", Some(0)));
        assert_eq!((rows[1].query.as_str(), rows[1].status.as_str(), rows[1].run), ("c", "pending", None));
        assert!(f.store.next_row(false, &[]).unwrap().unwrap().search.is_err(), "only a later version can read it");
    }

    fn accounts_take_turns_with_their_batches(f) {
        let other = f.add_account("other@example.com");
        f.batch_of(f.account.id, &["a1", "a2", "a3"]);
        f.batch_of(f.account.id, &["a4"]);
        assert_eq!(f.start_next().unwrap().0, "a1");
        assert_eq!(f.start_next().unwrap().0, "a2");
        f.batch_of(other.id, &["b1", "b2"]);
        assert_eq!(f.start_all(), ["b1", "a3", "b2", "a4"]);
    }

    fn a_batch_beyond_100_in_progress_is_refused(f) {
        let open: Vec<BatchId> = (0..100).map(|_| f.batch_of(f.account.id, &["a"])).collect();
        let more = || f.store.add_batch(&new_batch(f.account.id, &["b"]), &Origin::CLI).unwrap();
        assert!(matches!(more(), Started::Refused(refusal) if refusal.code == Code::Conflict));
        assert_eq!(f.store.next_row(false, &open[..99]).unwrap().unwrap().row.batch, open[99]);
        f.store.stop_batch(f.account.id, open[0], &Origin::CLI).unwrap();
        f.store.end_batches(false).unwrap();
        assert_eq!(more(), Started::Created);
    }

    fn a_batch_waits_for_credits_and_costs_nothing_meanwhile(f) {
        let id = f.batch_of(f.account.id, &["a", "b"]);
        let row = f.store.next_row(false, &[]).unwrap().unwrap().row;
        let charge = charge(1, Some(0));
        let run = NewRun { cause: Cause::Row(row), charge, ..f.new_run() };
        let refused = f.store.start(&run).unwrap();
        assert_eq!(refused, Started::Refused(Refusal::insufficient_credits(charge, 0)));
        assert_eq!(f.batch(id).counts.pending, 2);
        f.store.wait_for_credits(f.account.id, Duration::from_secs(3600)).unwrap();
        assert_eq!(f.batch(id).status, BatchStatus::WaitingForCredits);
        assert!(f.store.next_row(false, &[]).unwrap().is_none());
        f.store.wait_for_credits(f.account.id, Duration::ZERO).unwrap();
        assert_eq!(f.start_next().unwrap().0, "a");
        assert_eq!(f.batch(id).status, BatchStatus::Running);
        assert_eq!(f.used(), 1);
    }

    fn a_stopped_batch_starts_nothing_and_ends_with_its_runs(f) {
        f.added_webhook(&[EventType::BatchCompleted]);
        let id = f.batch_of(f.account.id, &["a", "b", "c"]);
        let (_, run) = f.start_next().unwrap();
        let late = NewRun { cause: Cause::Row(RowRef { batch: id, position: 2 }), ..f.new_run() };
        for _ in 0..2 {
            assert!(f.store.stop_batch(f.account.id, id, &Origin::CLI).unwrap());
        }
        assert!(!f.store.stop_batch(AccountId::new(), id, &Origin::CLI).unwrap());
        assert_eq!(f.store.start(&late).unwrap(), Started::Refused(Refusal::no_such("row")));
        assert_eq!((f.store.next_row(false, &[]).unwrap().is_none(), f.used()), (true, 1));
        assert_eq!(f.store.end_batches(false).unwrap(), []);
        f.finish(&run, &completed());
        assert_eq!(f.store.end_batches(false).unwrap(), [id]);
        let batch = f.batch(id);
        assert_eq!(batch.counts, Counts { completed: 1, skipped: 2, ..Counts::default() });
        assert_eq!((batch.status, batch.ended_at.is_some()), (BatchStatus::Stopped, true));
        let stops = "SELECT count(*) FROM audit WHERE action = 'batch.stopped'";
        assert_eq!(f.database.number(stops), 1);
    }

    fn the_end_of_a_batch_is_reported_once(f) {
        f.added_webhook(&[EventType::BatchCompleted]);
        let id = f.batch_of(f.account.id, &["a", "b", "c"]);
        assert_eq!(f.batch(id).eta_seconds, None, "nothing has ended");
        let etas = [completed(), failed()].map(|ending| {
            let (_, run) = f.start_next().unwrap();
            f.finish(&run, &ending);
            f.batch(id).eta_seconds.unwrap()
        });
        assert!(etas[0] > 3 * etas[1], "{etas:?}: two were left, and then half as many as had ended");
        assert_eq!(f.store.end_batches(false).unwrap(), [], "a row is pending");
        f.store.refuse_row(RowRef { batch: id, position: 3 }, RowRefusal::Suppressed).unwrap();
        assert_eq!(f.store.end_batches(true).unwrap(), [], "the simulated web has batches of its own");
        let ended = f.race(4, |store| store.end_batches(false));
        assert_eq!(ended.concat(), [id]);
        let bodies = f.database.texts("SELECT body FROM webhook_deliveries");
        assert_eq!(bodies.len(), 1);
        let body: serde_json::Value = serde_json::from_str(&bodies[0]).unwrap();
        assert_eq!((&body["type"], &body["data"]["status"]), (&"batch.completed".into(), &"completed".into()));
        assert_eq!(body["data"]["batch_id"], id.to_string());
        let counts = ["completed", "failed", "refused"].map(|state| body["data"]["counts"][state].clone());
        assert_eq!(counts, [1, 1, 1]);
    }

    fn an_old_batch_goes_with_the_last_of_its_runs(f) {
        let id = f.batch_of(f.account.id, &["a", "b"]);
        let (_, run) = f.start_next().unwrap();
        f.store.refuse_row(RowRef { batch: id, position: 2 }, RowRefusal::Suppressed).unwrap();
        f.finish(&run, &completed());
        f.store.end_batches(false).unwrap();
        // Batches end by the clock of the database, and runs by that of the process.
        let (most, later) = (BatchSize { runs: 10, results: 100 }, at("2100-01-01T00:00:00Z"));
        f.store.sweep(at("2026-03-01T00:00:00Z"), most).unwrap();
        assert_eq!(f.batch(id).total, 2);
        f.store.sweep(later, most).unwrap();
        assert_eq!(f.store.batch(f.account.id, id).unwrap(), None);
        assert_eq!(f.rows("batch_rows"), 0);
    }
}
