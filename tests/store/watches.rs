//! Watches: the transactions that start, pause and close their runs.

use std::time::Duration;

use serde_json::Value;
use sightline::base::ids::{RunId, WatchId, WebhookId};
use sightline::model::account::BatchSize;
use sightline::model::audit::Origin;
use sightline::model::event::EventType;
use sightline::model::refusal::Refusal;
use sightline::model::start::{Cause, NewRun, Started, WatchStart};
use sightline::model::watch::{
    ChangeKind, Comparison, FoundChange, NewWatch, Watch, WatchState, WatchUpdate,
};

use super::{Fixture, at, completed, search};

const NOW: &str = "2026-03-01T12:00:00Z";

impl Fixture {
    pub(super) fn new_watch(&self) -> NewWatch {
        NewWatch {
            id: WatchId::new(),
            account: self.account.id,
            search: search("Someone"),
            simulated: false,
            every: "1h".parse().unwrap(),
            notify_on: vec![ChangeKind::Added, ChangeKind::Removed],
            webhook: None,
            since: None,
            idempotency: None,
        }
    }

    fn added_watch(&self, new: &NewWatch) -> Watch {
        self.store.add_watch(new, &Origin::CLI).unwrap()
    }

    fn read(&self, watch: &Watch) -> Watch {
        self.store.watch(watch.account, watch.id).unwrap().unwrap()
    }

    fn due_watches(&self) -> Vec<WatchId> {
        self.store.due_watches(false, None, 100).unwrap().iter().map(|(_, id, _)| *id).collect()
    }

    /// Returns a run of a watch, which was due at `next_at` if it is not on request.
    fn run_of(&self, watch: &Watch, is_due: bool) -> NewRun {
        let due_at = is_due.then_some(watch.next_at);
        let start = WatchStart { watch: watch.id, due_at };
        NewRun { id: RunId::new(), cause: Cause::Watch(start), ..self.new_run() }
    }

    fn is_not_due(&self, watch: &Watch) -> bool {
        let started = self.store.start(&self.run_of(watch, true)).unwrap();
        started == Started::Refused(Refusal::no_such("watch"))
    }

    /// Makes the next run of all watches due, as after a pause of the service.
    fn make_due(&self, hours: i64) {
        self.shift("watches", "next_at", -hours * 3600, "");
    }

    /// Starts the run that is due and ends it.
    fn ended_run_of(&self, watch: &Watch) -> NewRun {
        self.make_due(100);
        let run = self.start(self.run_of(&self.read(watch), true));
        self.finish(&run, &completed());
        run
    }

    /// Returns the bodies of the messages to a webhook, the oldest first.
    fn messages_to(&self, webhook: WebhookId) -> Vec<Value> {
        let count = self.store.deliveries(webhook, None, 100).unwrap().len();
        let texts = self.database.texts("SELECT body FROM webhook_deliveries ORDER BY id");
        let bodies: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        bodies.into_iter().filter(|body: &Value| body["type"] == "watch.changed").take(count).collect()
    }
}

fn change(kind: ChangeKind) -> FoundChange {
    let difference =
        serde_json::json!({"type": "account", "platform": "GitHub", "value": "someone\0", "after_id": 1});
    FoundChange { kind, run_before: RunId::new(), difference }
}

on_both! {
    // The instances' own clocks are five minutes apart: only the clock of the database counts.
    fn two_instances_start_one_run_in_an_interval(f) {
        let watch = f.added_watch(&f.new_watch());
        for _ in 0..20 {
            let watch = f.read(&watch);
            let outcomes = f.race(6, |store| {
                let skew = Duration::from_secs(if std::ptr::eq(store, &*f.store) { 0 } else { 300 });
                let run = f.run_of(&watch, true);
                store.start(&NewRun { created_at: run.created_at + skew, ..run })
            });
            let created = outcomes.iter().filter(|outcome| **outcome == Started::Created).count();
            let refused = outcomes.iter().filter(|outcome| **outcome == Started::Refused(Refusal::no_such("watch"))).count();
            assert_eq!((created, refused), (1, 5), "{outcomes:?}");
            let begun = f.read(&watch);
            assert!(begun.is_open && begun.next_at > watch.next_at);
            // While the run is in progress, no other one starts.
            f.make_due(2);
            assert_eq!(f.due_watches(), []);
            assert!(f.is_not_due(&f.read(&watch)));
            f.database.execute("UPDATE watches SET is_open = (1 = 0)");
            assert_eq!(f.due_watches(), [watch.id]);
        }
        assert_eq!(f.store.bookings(f.account.id).unwrap().len(), 20);
    }

    fn after_downtime_one_run_starts_and_not_those_that_were_missed(f) {
        let watch = f.added_watch(&f.new_watch());
        f.ended_run_of(&watch);
        f.database.execute("UPDATE watches SET is_open = (1 = 0)");
        let begun = f.read(&watch);
        let hour = Duration::from_secs(3600);
        assert!(begun.next_at > watch.created_at + hour && begun.next_at <= watch.created_at + 2 * hour);
        assert_eq!(f.due_watches(), []);
        assert!(f.is_not_due(&begun));
    }

    fn a_run_on_request_leaves_the_next_moment_and_is_not_started_twice(f) {
        let watch = f.added_watch(&f.new_watch());
        let paused = WatchUpdate { state: Some(WatchState::Paused), ..WatchUpdate::default() };
        f.store.change_watch(f.account.id, watch.id, &paused, &Origin::CLI).unwrap();
        assert!(f.is_not_due(&watch));
        let undone = NewRun { is_unconfirmed: true, owner: None, ..f.run_of(&watch, false) };
        f.refuse_confirmations();
        assert_eq!([undone, f.run_of(&watch, false)].map(|run| f.store.start(&run).is_err()), [true; 2], "both are refused");
        f.store.undo_unconfirmed(Duration::ZERO).unwrap();
        f.store.before_each(|_| Ok(()));
        let run = f.start(f.run_of(&watch, false));
        assert_eq!((f.summary(&run).watch, f.used()), (Some(watch.id), 1));
        assert_eq!(f.store.start(&f.run_of(&watch, false)).unwrap(), Started::Repeated(run.id));
        let open = f.read(&watch);
        assert_eq!((open.next_at, open.last_run, open.is_open), (watch.next_at, Some(run.id), true));
        assert_eq!(f.store.ended_runs(false, None, 10).unwrap(), []);
        f.finish(&run, &completed());
        assert_eq!(f.store.ended_runs(false, None, 10).unwrap()[0].run, run.id);
        // A deleted run is no answer, even if the watch is not closed yet.
        assert_eq!(f.store.delete(run.id, f.account.id, false, &Origin::CLI).unwrap(), [run.id]);
        let next = f.start(f.run_of(&watch, false));
        assert_eq!(f.read(&watch).last_run, Some(next.id));
    }

    fn a_skipped_run_is_given_up_and_another_interval_moves_the_next_one(f) {
        let watch = f.added_watch(&f.new_watch());
        f.store.skip_run(&Watch { next_at: at(NOW), ..watch.clone() }).unwrap();
        assert_eq!(f.read(&watch), watch);
        f.store.skip_run(&watch).unwrap();
        let skipped = f.read(&watch);
        assert_eq!((skipped.last_run, skipped.next_at > watch.next_at), (None, true));
        let daily = WatchUpdate { every: Some("1d".parse().unwrap()), ..WatchUpdate::default() };
        f.store.change_watch(f.account.id, watch.id, &daily, &Origin::CLI).unwrap();
        let day = Duration::from_secs(86_400);
        assert_eq!(f.read(&watch).next_at, skipped.next_at - Duration::from_secs(3600) + day);
    }

    fn a_run_is_closed_once_and_reported_to_the_webhooks_that_want_it(f) {
        let subscribed = f.added_webhook(&[EventType::WatchChanged]).id;
        let other = f.added_webhook(&[EventType::RunFailed]).id;
        let watch = f.added_watch(&f.new_watch());
        let run = f.ended_run_of(&watch);
        let ended = f.store.ended_runs(false, None, 10).unwrap().remove(0);
        assert_eq!((ended.run, &ended.baseline), (run.id, &None));
        let changes = vec![change(ChangeKind::Added), change(ChangeKind::Changed)];
        let shown = Comparison { changes, baseline: Some("{}".into()) };
        let closed = f.race(6, |store| store.close_run(&ended, &shown));
        assert_eq!(closed.iter().filter(|is_closed| **is_closed).count(), 1);
        let stored = f.store.watch_changes(watch.id, None, 10).unwrap();
        let kinds: Vec<ChangeKind> = stored.iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangeKind::Changed, ChangeKind::Added]);
        assert_eq!((stored[0].run_after, &stored[0].difference["value"]), (run.id, &"someone\0".into()));
        let older = f.store.watch_changes(watch.id, Some(stored[0].id), 10).unwrap();
        assert_eq!(older, stored[1..]);
        let messages = f.messages_to(subscribed);
        assert_eq!(messages.len(), 1, "{messages:?}");
        let data = &messages[0]["data"];
        assert_eq!((&data["watch_id"], &data["run_id"]), (&watch.id.to_string().into(), &run.id.to_string().into()));
        assert_eq!((&data["added"], &data["removed"], &data["changed"]), (&1.into(), &0.into(), &1.into()));
        assert!(!messages[0].to_string().contains("someone"));
        assert_eq!(f.messages_to(other), [Value::Null; 0]);

        // Only what `notify_on` names is reported, and only to the webhook of the watch if it has one.
        let only = WatchUpdate { webhook: Some(Some(other)), ..WatchUpdate::default() };
        f.store.change_watch(f.account.id, watch.id, &only, &Origin::CLI).unwrap();
        for (kind, messages) in [(ChangeKind::Changed, 0), (ChangeKind::Removed, 1)] {
            f.ended_run_of(&watch);
            let ended = f.store.ended_runs(false, None, 10).unwrap().remove(0);
            let shown = Comparison { changes: vec![change(kind)], baseline: None };
            assert!(f.store.close_run(&ended, &shown).unwrap());
            let count = |webhook| f.store.deliveries(webhook, None, 10).unwrap().len();
            assert_eq!((count(subscribed), count(other)), (1, messages), "{kind:?}");
        }
    }

    fn deletions_end_a_watch_and_old_changes_are_swept(f) {
        let watch = f.added_watch(&f.new_watch());
        let run = f.ended_run_of(&watch);
        let ended = f.store.ended_runs(false, None, 10).unwrap().remove(0);
        let shown = Comparison { changes: vec![change(ChangeKind::Added)], baseline: None };
        f.store.close_run(&ended, &shown).unwrap();
        f.make_due(100);
        // A run that is deleted before it was compared does not keep the watch from going on.
        let open = f.start(f.run_of(&f.read(&watch), true));
        assert_eq!(f.store.delete(open.id, f.account.id, false, &Origin::CLI).unwrap(), [open.id]);
        let ended = f.store.ended_runs(false, None, 10).unwrap().remove(0);
        assert_eq!(ended.run, open.id);
        assert!(f.store.close_run(&ended, &Comparison::default()).unwrap());
        assert!(!f.read(&watch).is_open);
        let changes = || f.store.watch_changes(watch.id, None, 10).unwrap().len();
        assert_eq!(changes(), 1);
        let most = BatchSize { runs: 10, results: 100 };
        let swept = f.store.sweep(at("2100-01-01T00:00:00Z"), most).unwrap();
        assert_eq!((swept, changes()), (Some(1), 0));
        assert!(f.store.run(run.id, f.account.id).unwrap().is_none());
        assert!(super::erasing::erase(&f.store, f.account.id).is_some());
        assert_eq!(f.rows("watches"), 0);
        let added = f.store.add_watch(&f.new_watch(), &Origin::CLI);
        assert_eq!(added.unwrap_err(), Refusal::unknown_key());
    }
}
