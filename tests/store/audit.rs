//! The audit log: what is recorded, what it never holds, and that nothing in it can be changed.

use std::time::Duration;

use jiff::Timestamp;
use sightline::base::ids::{AccountId, KeyId, RequestId};
use sightline::model::account::BatchSize;
use sightline::model::audit::{Action, Actor, AuditEvent, AuditFilter, Entry, Origin};
use sightline::model::start::{NewRun, Refused, Started};

use super::ledger::new_key;
use super::{Fixture, added, at, charge, completed, new_account, result, search};
use crate::support::eventually;

impl Fixture {
    fn entries(&self, filter: AuditFilter) -> Vec<Entry> {
        self.store.audit(&filter, 1000).unwrap()
    }

    /// Returns the actions on this fixture's account, oldest first, without its creation.
    fn actions(&self) -> Vec<String> {
        let filter = AuditFilter { account: Some(self.account.id), ..AuditFilter::default() };
        self.entries(filter).into_iter().skip(1).map(|entry| entry.action).collect()
    }

    fn last(&self) -> Entry {
        self.entries(AuditFilter::default()).pop().unwrap()
    }
}

fn by_request() -> (KeyId, Origin) {
    let key = KeyId::new();
    (key, Origin::request(Actor::Key(key), &RequestId::accept(Some("req-1"))))
}

on_both! {
    fn an_account_and_its_keys_are_noted_from_the_first_to_the_last(f) {
        let created = f.entries(AuditFilter { account: Some(f.account.id), ..AuditFilter::default() });
        assert_eq!(created.len(), 1);
        let now = Timestamp::now();
        assert!(now.duration_since(created[0].at).abs().as_secs() < 600, "{} at {now}", created[0].at);
        assert_eq!(created[0].actor, Actor::Cli);
        assert_eq!(created[0].detail["plan"], "pro");

        let (_, key) = new_key(&f.account, "2026-03-01T00:00:00Z");
        f.store.add_key(&key, &Origin::SYSTEM).unwrap();
        let entry = f.last();
        assert_eq!((entry.action.as_str(), entry.object), ("key.created", Some(key.id.to_string())));
        assert_eq!((entry.actor, entry.request), (Actor::System, None));

        let me = Origin { actor: Actor::Account(f.account.id), request: None };
        assert!(f.store.set_plan(f.account.id, "basic", &me).unwrap());
        let entry = f.last();
        assert_eq!((&entry.detail["from"], &entry.detail["to"]), (&"pro".into(), &"basic".into()));
        assert_eq!(entry.actor, me.actor);
        assert_eq!(f.store.account(f.account.id).unwrap().unwrap().plan, "basic");
        assert!(!f.store.set_plan(AccountId::new(), "free", &me).unwrap());
        // A call that changes nothing records no event.
        assert!(f.store.set_plan(f.account.id, "basic", &me).unwrap());
        assert!(f.store.revoke_key(key.id, &Origin::CLI).unwrap());
        assert!(f.store.revoke_key(key.id, &Origin::CLI).unwrap());
        assert!(!f.store.revoke_key(KeyId::new(), &Origin::CLI).unwrap());
        assert!(!f.store.add_account(&new_account("owner@example.com"), &Origin::CLI).unwrap());
        assert_eq!(f.actions(), ["key.created", "account.plan_changed", "key.revoked"]);
    }

    fn a_run_is_noted_with_its_request_and_without_its_query(f) {
        let (key, origin) = by_request();
        let run = NewRun { search: search("a-query-to-keep-quiet-about"), origin: origin.clone(), ..f.new_run() };
        assert_eq!(f.store.start(&run, &charge(2, Some(100))).unwrap(), Started::Created);
        let entry = f.last();
        assert_eq!((entry.action.as_str(), entry.actor), ("run.started", Actor::Key(key)));
        assert_eq!((entry.account, entry.object.clone()), (Some(f.account.id), Some(run.id.to_string())));
        assert_eq!(entry.request.as_deref(), Some("req-1"));
        assert_eq!((&entry.detail["type"], &entry.detail["credits"]), (&"username".into(), &2.into()));
        f.save(&run, &added(&[result(1, "a-result-to-keep-quiet-about")]));
        assert!(f.store.delete(run.id, f.account.id, &origin).unwrap());
        assert!(!f.store.delete(run.id, f.account.id, &origin).unwrap());
        assert_eq!(f.actions(), ["run.started", "run.deleted"]);
        assert!(!format!("{:?}", f.entries(AuditFilter::default())).contains("quiet"));
    }

    fn a_call_without_a_change_is_not_recorded(f) {
        assert_eq!(f.store.start(&f.new_run(), &charge(1, Some(0))).unwrap(), Started::Refused(Refused::InsufficientCredits { used: 0 }));
        let first = super::with_key(f.new_run(), "k", 1);
        assert_eq!(f.store.start(&first, &charge(1, None)).unwrap(), Started::Created);
        let second = super::with_key(f.new_run(), "k", 1);
        assert_eq!(f.store.start(&second, &charge(1, None)).unwrap(), Started::Repeated(first.id));
        let twin = NewRun { id: first.id, ..f.new_run() };
        assert!(f.store.start(&twin, &charge(1, None)).is_err());
        assert_eq!(f.actions(), ["run.started"]);
    }

    fn entries_are_read_by_account_and_moment_and_page(f) {
        let (mine, other) = (Some(f.account.id), Some(AccountId::new()));
        for account in [mine, other, mine, other, mine, None] {
            let before = f.last().at;
            eventually("the next entry is later", || Timestamp::now() > before + Duration::from_millis(1));
            let event = AuditEvent { account, ..AuditEvent::of_service(Action::AccountExported) };
            f.store.note(&event, &Origin::CLI).unwrap();
        }
        let moments: Vec<Timestamp> = f.entries(AuditFilter::default()).iter().map(|entry| entry.at).collect();
        assert!(moments.is_sorted());
        let [.., since, _, _, _, last] = moments[..] else { panic!("{moments:?}") };
        let since = Some(since);
        let found = |account, since| f.entries(AuditFilter { account, since, after: 0 }).len();
        assert_eq!(found(other, None), 2);
        assert_eq!((found(None, since), found(mine, since)), (5, 2));
        assert_eq!(found(None, Some(last + Duration::from_millis(1))), 0);
        assert_eq!(found(Some(AccountId::new()), None), 0);

        let mut filter = AuditFilter { since, ..AuditFilter::default() };
        let mut paged = Vec::new();
        while let Some(last) = f.store.audit(&filter, 2).unwrap().last().cloned() {
            paged.extend(f.store.audit(&filter, 2).unwrap());
            filter.after = last.id;
        }
        assert_eq!(paged, f.entries(AuditFilter { since, ..AuditFilter::default() }));
        assert!(paged.is_sorted_by_key(|entry| entry.id));
    }

    fn nothing_in_the_audit_can_be_changed_or_removed(f) {
        f.started();
        let before = f.entries(AuditFilter::default());
        let id = before[0].id;
        let mut tries = vec![
            "UPDATE audit SET action = 'x'".to_owned(),
            "DELETE FROM audit".to_owned(),
            format!("DELETE FROM audit WHERE id = {id}"),
        ];
        tries.extend(match f.database.name {
            "sqlite" => vec![
                "UPDATE audit SET id = id + 1000".to_owned(),
                format!("INSERT OR REPLACE INTO audit (id, at, actor, action) VALUES ({id}, 0, 'cli', 'x')"),
                format!("REPLACE INTO audit (id, at, actor, action) VALUES ({id}, 0, 'cli', 'x')"),
                format!("INSERT INTO audit (id, at, actor, action) VALUES ({id}, 0, 'cli', 'x') ON CONFLICT (id) DO UPDATE SET action = 'x'"),
            ],
            _ => vec![
                "TRUNCATE audit".to_owned(),
                "TRUNCATE audit RESTART IDENTITY CASCADE".to_owned(),
                format!("INSERT INTO audit (id, at, actor, action) OVERRIDING SYSTEM VALUE VALUES ({id}, now(), 'cli', 'x') ON CONFLICT (id) DO UPDATE SET action = 'x'"),
                "MERGE INTO audit a USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE".to_owned(),
                "SET session_replication_role = replica; DELETE FROM audit".to_owned(),
            ],
        });
        for sql in tries {
            let error = f.database.try_to(&sql).expect_err(&sql);
            assert!(error.contains("append-only"), "{sql}: {error}");
        }
        assert_eq!(f.entries(AuditFilter::default()), before);
        // New entries are still accepted.
        f.started();
        assert_eq!(f.entries(AuditFilter::default()).len(), before.len() + 1);
    }

    fn a_sweep_is_noted_only_where_something_went(f) {
        let run = f.started();
        f.finish(&run, &completed());
        let most = BatchSize { runs: 10, results: 10 };
        let sweep = |before: &str| f.store.sweep(at(before), most).unwrap();
        let noted = f.entries(AuditFilter::default()).len();
        assert_eq!(sweep("2026-03-01T00:00:00Z"), Some(0));
        assert_eq!(f.entries(AuditFilter::default()).len(), noted);
        assert_eq!(sweep("2026-03-02T00:00:00Z"), Some(1));
        let entry = f.last();
        assert_eq!((entry.action.as_str(), entry.actor, entry.account), ("runs.swept", Actor::System, None));
        assert_eq!((&entry.detail["runs"], &entry.detail["ended_before"]), (&1.into(), &"2026-03-02T00:00:00.000Z".into()));
    }
}
