//! Webhooks, and the deliveries that report the end of runs.

use std::time::Duration;

use serde_json::Value;
use sightline::base::ids::{DeliveryId, WebhookId};
use sightline::model::audit::Origin;
use sightline::model::drive::Write;
use sightline::model::event::{Event, EventType};
use sightline::model::start::{NewRun, Started};
use sightline::model::webhook::{
    Attempt, Delivery, DeliveryStatus, DisabledReason, SealedSecret, Webhook, WebhookChange,
};

use super::{Fixture, HOLDS, Status, at, claim, completed, failed, new_instance};

impl Fixture {
    pub(super) fn new_webhook(&self, events: &[EventType]) -> Webhook {
        Webhook {
            id: WebhookId::new(),
            account: self.account.id,
            url: "https://hooks.example.com/".into(),
            events: events.to_vec(),
            enabled: true,
            disabled_reason: None,
            failing_since: None,
            previous_secret_expires_at: None,
            created_at: at("2026-03-01T12:00:00.123Z"),
        }
    }

    /// Adds a webhook for these events.
    pub(super) fn added_webhook(&self, events: &[EventType]) -> Webhook {
        let webhook = self.new_webhook(events);
        self.store.add_webhook(&webhook, &SealedSecret([1; 60]), &Origin::CLI).unwrap();
        webhook
    }

    fn deliveries_to(&self, webhook: &Webhook) -> Vec<Delivery> {
        self.store.deliveries(webhook.id, None, 1000).unwrap()
    }

    fn test_delivery(&self, webhook: &Webhook) -> DeliveryId {
        let event = Event::test(webhook.id, at("2026-03-01T12:00:00Z"));
        self.store.add_delivery(self.account.id, webhook.id, &event).unwrap().unwrap().id
    }

    fn due(&self) -> Vec<DeliveryId> {
        self.store.due_deliveries(&[], 1000).unwrap().into_iter().map(|(id, _)| id).collect()
    }

    /// Claims the delivery and records an attempt. Returns the reason if that has disabled the webhook.
    fn attempted(&self, id: DeliveryId, http_status: u16, attempts: u32) -> Option<DisabledReason> {
        let claimed = self.store.claim_deliveries(&[id], HOLDS).unwrap().remove(0);
        let answer = answer(http_status);
        self.store.record_attempt(&claimed, &answer, answer.next_pause(attempts, 0.0)).unwrap()
    }
}

fn answer(http_status: u16) -> Attempt {
    Attempt {
        at: at("2026-03-01T12:00:00Z"),
        http_status: Some(http_status),
        error: None,
        latency_ms: 12,
        response_head: Some(format!("HTTP {http_status}\nx: \0")),
    }
}

fn bodies(f: &Fixture) -> Vec<Value> {
    let texts = f.database.texts("SELECT body FROM webhook_deliveries ORDER BY id");
    texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

on_both! {
    fn the_end_of_a_run_is_reported_once_to_the_webhooks_that_want_it(f) {
        let both = f.added_webhook(&[EventType::RunCompleted, EventType::RunFailed]);
        let failures = f.added_webhook(&[EventType::RunFailed]);
        let disabled = f.added_webhook(&[EventType::RunCompleted]);
        let off = WebhookChange { enabled: Some(false), ..WebhookChange::default() };
        f.store.change_webhook(f.account.id, disabled.id, &off, &Origin::CLI).unwrap();
        let run = f.started();
        assert_eq!(f.due(), []);
        assert_eq!(f.finish(&run, &completed()), Write::Done);
        assert_eq!(f.finish(&run, &completed()), Write::LeaseLost);
        let body = &bodies(f)[0];
        assert_eq!(body["type"], "run.completed");
        assert_eq!(body["timestamp"], "2026-03-01T12:01:00.250Z");
        assert_eq!(body["data"]["run_id"], run.id.to_string());
        assert_eq!(body["data"]["modules_checked"], 2);
        assert_eq!(body["data"]["credits_charged"], 1);
        assert_eq!(f.finish(&f.started(), &failed()), Write::Done);
        let body = &bodies(f)[1];
        assert_eq!((&body["type"], &body["data"]["error"]), (&"run.failed".into(), &"no_conclusion".into()));
        assert_eq!(body["data"]["credits_charged"], 0);
        let count = |webhook| f.deliveries_to(webhook).len();
        assert_eq!([&both, &failures, &disabled].map(count), [2, 1, 0]);
        assert!(!bodies(f).iter().any(|body| body.to_string().contains("Someone")));
    }

    fn every_way_in_which_a_run_ends_is_reported(f) {
        f.added_webhook(&[EventType::RunFailed]);
        f.refuse_confirmations();
        let undone = NewRun { is_unconfirmed: true, ..f.new_run() };
        assert_eq!(f.store.start(&undone).unwrap(), Started::Created);
        assert_eq!(f.store.take_over(&claim(new_instance(), false)).unwrap(), None);
        let [unreadable, good] = ["2026-03-01T12:00:01Z", "2026-03-01T12:00:02Z"]
            .map(|moment| f.start(NewRun { created_at: at(moment), ..f.new_run() }));
        f.database.execute("UPDATE runs SET planned = '{}' \
             WHERE created_at = (SELECT min(created_at) FROM runs WHERE status = 'running')");
        let taken = f.store.take_over(&claim(new_instance(), false)).unwrap();
        assert_eq!(taken.map(|run| run.summary.id), Some(good.id), "it does not stop the others");
        let ended = f.summary(&unreadable);
        assert_eq!((ended.status, ended.error.unwrap().code.as_str(), f.used()), (Status::Failed, "store_failed", 1));
        let told: Vec<String> =
            bodies(f).iter().map(|body| body["data"]["run_id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(told, [undone.id.to_string(), unreadable.id.to_string()]);
    }

    fn a_transaction_that_fails_reports_nothing(f) {
        f.added_webhook(&[EventType::RunCompleted]);
        let run = f.started();
        // The report cannot be stored, so the run does not end either.
        f.database.execute("ALTER TABLE webhook_deliveries RENAME TO hidden");
        let ending = completed();
        assert!(f.store.finish(run.id, f.me.lease(0), &super::both_ended(), &ending).is_err());
        assert!(!f.summary(&run).status.is_terminal());
        f.database.execute("ALTER TABLE hidden RENAME TO webhook_deliveries");
        assert_eq!(f.finish(&run, &ending), Write::Done);
        assert_eq!(f.due().len(), 1);
    }

    fn a_delivery_is_claimed_by_one_instance_at_a_time(f) {
        let webhook = f.added_webhook(&[EventType::RunCompleted]);
        let all: Vec<DeliveryId> = (0..40).map(|_| f.test_delivery(&webhook)).collect();
        let mut claims = f.race(8, |store| store.claim_deliveries(&all, HOLDS)).concat();
        // A claim may skip rows that another one has locked. A later one takes them.
        claims.extend(f.store.claim_deliveries(&all, HOLDS).unwrap());
        let mut claimed: Vec<DeliveryId> = claims.iter().map(|claimed| claimed.id).collect();
        claimed.sort_unstable();
        assert_eq!(claimed, all);
        assert_eq!(f.due(), []);
    }

    fn a_claim_that_expired_is_lost(f) {
        let webhook = f.added_webhook(&[EventType::RunCompleted]);
        let id = f.test_delivery(&webhook);
        let lost = f.store.claim_deliveries(&[id], Duration::ZERO).unwrap().remove(0);
        let second = f.store.claim_deliveries(&[id], HOLDS).unwrap().remove(0);
        assert_eq!((second.id, second.epoch), (lost.id, lost.epoch + 1));
        f.store.record_attempt(&lost, &answer(200), None).unwrap();
        assert_eq!(f.deliveries_to(&webhook)[0].status, DeliveryStatus::Pending);
        f.store.record_attempt(&second, &answer(200), None).unwrap();
        let delivery = f.deliveries_to(&webhook).remove(0);
        assert_eq!((delivery.status, delivery.attempts, delivery.next_attempt_at), (DeliveryStatus::Delivered, 1, None));
        let last = delivery.last_attempt.unwrap();
        assert_eq!((last.http_status, last.latency_ms), (Some(200), 12));
        assert_eq!(last.response_head.as_deref(), Some("HTTP 200\nx: \u{FFFD}"));
        assert_eq!(f.due(), []);
    }

    fn five_days_of_failure_disable_a_webhook_until_its_owner_enables_it(f) {
        let webhook = f.added_webhook(&[EventType::RunCompleted]);
        let [first, second, waiting] = [(), (), ()].map(|()| f.test_delivery(&webhook));
        assert_eq!(f.attempted(first, 500, 9), None);
        let ago = |days: i64| f.shift("webhooks", "failing_since", -days * 86_400, "");
        ago(4);
        assert_eq!(f.attempted(second, 500, 9), None);
        ago(1);
        f.store.replay(f.account.id, webhook.id, second).unwrap().unwrap();
        assert_eq!(f.attempted(second, 500, 9), Some(DisabledReason::Failing));
        assert_eq!(f.due(), []);
        assert_eq!(f.finish(&f.started(), &completed()), Write::Done);
        assert_eq!(f.deliveries_to(&webhook).len(), 3);
        let on = WebhookChange { enabled: Some(true), ..WebhookChange::default() };
        let enabled = f.store.change_webhook(f.account.id, webhook.id, &on, &Origin::CLI).unwrap().unwrap();
        assert_eq!((enabled.enabled, enabled.disabled_reason, enabled.failing_since), (true, None, None));
        assert_eq!(f.due(), [waiting]);
    }
}
