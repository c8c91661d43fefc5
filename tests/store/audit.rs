//! The audit log: what is recorded, what it never holds, and that nothing in it can be changed.

use std::time::Duration;

use jiff::Timestamp;
use sightline::base::ids::{AccountId, KeyId};
use sightline::model::account::Role;
use sightline::model::audit::{Action, AuditEvent, AuditFilter, Entry, Origin};

use super::ledger::new_key;
use super::{Fixture, new_account};
use crate::support::eventually;

impl Fixture {
    fn entries(&self, filter: AuditFilter) -> Vec<Entry> {
        self.store.audit(&filter, 1000).unwrap()
    }

    fn last(&self) -> Entry {
        self.entries(AuditFilter::default()).pop().unwrap()
    }
}

on_both! {
    fn a_call_that_changes_nothing_records_no_event(f) {
        let (id, by) = (f.account.id, Origin::CLI);
        let (_, key) = new_key(&f.account, "2026-03-01T00:00:00Z");
        f.store.add_key(&key, &by).unwrap();
        for _ in 0..2 {
            assert!(f.store.set_plan(id, "basic", &by).unwrap());
            assert!(f.store.set_role(id, Role::Operator, &by).unwrap());
            assert!(f.store.revoke_key(key.id, &by).unwrap());
        }
        assert!(!f.store.set_plan(AccountId::new(), "free", &by).unwrap());
        assert!(!f.store.set_role(AccountId::new(), Role::User, &by).unwrap());
        assert!(!f.store.revoke_key(KeyId::new(), &by).unwrap());
        assert!(!f.store.add_account(&new_account("owner@example.com"), &by).unwrap());
        let all = ["account.created", "key.created", "account.plan_changed", "account.role_changed", "key.revoked"];
        assert_eq!(f.actions(), all);
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
}
