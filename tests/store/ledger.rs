//! Accounts, keys, credits.

use sightline::account::account::Account;
use sightline::account::key::{ApiKey, KeyRecord};
use sightline::base::ids::{AccountId, KeyId};

use super::{Fixture, at, cycle, new_account};

fn new_key(account: &Account, created_at: &str) -> (ApiKey, KeyRecord) {
    let key = ApiKey::generate().unwrap();
    let record = KeyRecord {
        id: KeyId::new(),
        account: account.id,
        hash: key.hash(),
        last_four: key.last_four().into(),
        label: "Läptop 💻".into(),
        created_at: at(created_at),
        last_used_at: None,
        revoked_at: None,
    };
    (key, record)
}

impl Fixture {
    fn add_key(&self, created_at: &str) -> KeyRecord {
        let (_, record) = new_key(&self.account, created_at);
        self.store.add_key(&record).unwrap();
        record
    }
}

on_both! {
    fn an_account_is_found_as_it_was_added(f) {
        assert_eq!(f.store.account(f.account.id).unwrap(), Some(f.account.clone()));
        assert_eq!(f.store.account_by_email("owner@example.com").unwrap(), Some(f.account.clone()));
        assert_eq!(f.store.account_by_email("Owner@example.com").unwrap(), None);
        assert_eq!(f.store.account(AccountId::new()).unwrap(), None);
    }

    fn an_email_address_has_one_account(f) {
        let mut twin = new_account("owner@example.com");
        twin.plan = "free".into();
        assert!(!f.store.add_account(&twin).unwrap());
        assert_eq!(f.store.account(twin.id).unwrap(), None);
        assert_eq!(f.store.account_by_email("owner@example.com").unwrap(), Some(f.account.clone()));
    }

    fn two_accounts_cannot_have_one_id_and_the_error_names_nobody(f) {
        let impostor = Account { email: "impostor@example.com".into(), ..f.account.clone() };
        let error = f.store.add_account(&impostor).unwrap_err();
        assert!(!error.is_unavailable());
        let text = format!("{error} {error:?}");
        assert!(!text.contains("impostor") && !text.contains(&f.account.id.to_string()), "{text}");
    }

    fn accounts_come_oldest_first(f) {
        let older = Account { created_at: at("2025-12-31T23:59:59.999Z"), ..new_account("b@example.com") };
        let newer = Account { created_at: at("2026-02-01T00:00:00Z"), ..new_account("a@example.com") };
        assert!(f.store.add_account(&newer).unwrap());
        assert!(f.store.add_account(&older).unwrap());
        assert_eq!(f.store.accounts().unwrap(), [older, f.account.clone(), newer]);
    }

    fn a_plan_changes_for_an_account_that_exists(f) {
        assert!(f.store.set_plan(f.account.id, "unlimited").unwrap());
        assert_eq!(f.store.account(f.account.id).unwrap().unwrap().plan, "unlimited");
        assert!(!f.store.set_plan(AccountId::new(), "free").unwrap());
    }

    fn a_key_is_found_by_its_hash_with_its_owner(f) {
        let record = f.add_key("2026-03-01T00:00:00.007Z");
        assert_eq!(f.store.key_by_hash(&record.hash).unwrap(), Some((record, f.account.clone())));
        let (unknown, _) = new_key(&f.account, "2026-03-01T00:00:00Z");
        assert_eq!(f.store.key_by_hash(&unknown.hash()).unwrap(), None);
    }

    fn a_hash_belongs_to_one_key(f) {
        let record = f.add_key("2026-03-01T00:00:00Z");
        let twin = KeyRecord { id: KeyId::new(), ..record };
        assert!(!f.store.add_key(&twin).unwrap_err().is_unavailable());
        assert_eq!(f.store.keys(None).unwrap().len(), 1);
    }

    fn a_key_needs_an_account(f) {
        let (_, orphan) = new_key(&new_account("nobody@example.com"), "2026-03-01T00:00:00Z");
        assert!(f.store.add_key(&orphan).is_err());
    }

    fn keys_come_oldest_first_of_one_account_or_of_all(f) {
        let newer = f.add_key("2026-03-02T00:00:00Z");
        let older = f.add_key("2026-03-01T00:00:00Z");
        let stranger = new_account("stranger@example.com");
        assert!(f.store.add_account(&stranger).unwrap());
        let (_, foreign) = new_key(&stranger, "2026-03-01T12:00:00Z");
        f.store.add_key(&foreign).unwrap();
        assert_eq!(f.store.keys(Some(f.account.id)).unwrap(), [older.clone(), newer.clone()]);
        assert_eq!(f.store.keys(None).unwrap(), [older, foreign, newer]);
        assert_eq!(f.store.keys(Some(AccountId::new())).unwrap(), []);
    }

    fn a_revoked_key_is_still_found_and_keeps_its_first_date(f) {
        let record = f.add_key("2026-03-01T00:00:00Z");
        let (first, second) = (at("2026-03-02T00:00:00.001Z"), at("2026-03-03T00:00:00Z"));
        assert!(f.store.revoke_key(record.id, first).unwrap());
        assert!(f.store.revoke_key(record.id, second).unwrap());
        let (found, _) = f.store.key_by_hash(&record.hash).unwrap().unwrap();
        assert_eq!(found.revoked_at, Some(first));
        assert!(!f.store.revoke_key(KeyId::new(), first).unwrap());
    }

    fn the_last_use_of_a_key_never_moves_back(f) {
        let (first, second) = (f.add_key("2026-03-01T00:00:00Z"), f.add_key("2026-03-01T00:00:01Z"));
        let (early, late) = (at("2026-03-02T00:00:00Z"), at("2026-03-02T00:01:00.5Z"));
        f.store.touch_keys(&[]).unwrap();
        f.store.touch_keys(&[(second.id, early), (first.id, late), (KeyId::new(), late)]).unwrap();
        f.store.touch_keys(&[(first.id, early), (second.id, late), (second.id, early)]).unwrap();
        let dates: Vec<_> = f.store.keys(None).unwrap().iter().map(|key| key.last_used_at).collect();
        assert_eq!(dates, [Some(late), Some(late)]);
    }

    fn nothing_is_used_in_a_fresh_cycle(f) {
        assert_eq!(f.store.credits_used(f.account.id, cycle()).unwrap(), 0);
        assert_eq!(f.store.credits_used(AccountId::new(), cycle()).unwrap(), 0);
    }

    fn ping_answers(f) {
        f.store.ping().unwrap();
    }
}
