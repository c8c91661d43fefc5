//! Accounts, keys, credits.

use std::sync::Arc;

use jiff::{Timestamp, ToSpan as _};
use parking_lot::Mutex;
use sightline::account::key::ApiKey;
use sightline::account::service::{Accounts, Caller};
use sightline::base::ids::{AccountId, KeyId, RunId};
use sightline::model::account::{Account, KeyRecord, MOST_KEYS};
use sightline::model::audit::Origin;
use sightline::model::refusal::Code;
use sightline::model::start::{NewRun, Started};

use super::{Fixture, at, new_account};

pub(super) fn new_key(account: &Account, created_at: &str) -> (ApiKey, KeyRecord) {
    let key = ApiKey::generate();
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
        self.store.add_key(&record, &Origin::CLI).unwrap();
        record
    }
}

/// Accounts on a clock that the test sets, with three credits for each cycle.
struct Months<'a> {
    fixture: &'a Fixture,
    clock: Arc<Mutex<Timestamp>>,
    accounts: Accounts,
}

impl<'a> Months<'a> {
    fn new(fixture: &'a Fixture) -> Self {
        let clock = Arc::new(Mutex::new(Timestamp::UNIX_EPOCH));
        let plans = "pro=3:api".parse().unwrap();
        let accounts = Accounts::new(fixture.store.clone(), plans, clock.clone());
        Self { fixture, clock, accounts }
    }

    fn start(&self, caller: &Caller) -> Started {
        let (account, charge) = (caller.account.id, self.accounts.charge(caller, 1));
        let run = NewRun { id: RunId::new(), account, charge, ..self.fixture.new_run() };
        self.fixture.store.start(&run).unwrap()
    }

    /// Checks that three more runs can be started at `now`, and no fourth.
    fn spends_all(&self, caller: &Caller, now: Timestamp) {
        *self.clock.lock() = now;
        for used in 0..3 {
            assert_eq!(self.accounts.balance(caller).unwrap().used, used, "{now}");
            assert_eq!(self.start(caller), Started::Created, "{now}");
        }
        self.is_refused(caller, now);
    }

    fn is_refused(&self, caller: &Caller, now: Timestamp) {
        *self.clock.lock() = now;
        let Started::Refused(refusal) = self.start(caller) else { panic!("not refused at {now}") };
        assert_eq!(refusal.code, Code::InsufficientCredits, "{now}");
        assert_eq!(self.accounts.balance(caller).unwrap().remaining(), Some(0), "{now}");
    }
}

on_both! {
    fn credits_come_back_at_the_boundary_and_no_millisecond_before(f) {
        let months = Months::new(f);
        for boundaries in [
            ["2026-01-31T10:00:00.005Z", "2026-02-28T10:00:00.005Z", "2026-03-31T10:00:00.005Z"],
            ["2028-01-31T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-31T00:00:00Z"],
            ["2028-02-29T23:59:59.999Z", "2028-03-29T23:59:59.999Z", "2028-04-29T23:59:59.999Z"],
            ["2026-11-30T12:00:00Z", "2026-12-30T12:00:00Z", "2027-01-30T12:00:00Z"],
            ["2026-12-31T23:59:59.999Z", "2027-01-31T23:59:59.999Z", "2027-02-28T23:59:59.999Z"],
        ] {
            let boundaries = boundaries.map(at);
            *months.clock.lock() = boundaries[0];
            let email = format!("{}@example.com", AccountId::new());
            let account = months.accounts.create_account(&email, "pro", &Origin::CLI).unwrap();
            let (key, _) = months.accounts.create_key(&account, "", &Origin::CLI).unwrap();
            let caller = months.accounts.authenticate(key.expose()).unwrap();
            for cycle in boundaries.windows(2) {
                months.spends_all(&caller, cycle[0]);
                let balance = months.accounts.balance(&caller).unwrap();
                assert_eq!((balance.cycle.start, balance.cycle.end), (cycle[0], cycle[1]));
                // The first day of the month and of the year is not the boundary of any cycle here.
                for moment in ["2027-01-01T00:00:00Z", "2026-02-01T00:00:00Z", "2028-03-01T00:00:00Z"].map(at) {
                    if cycle[0] < moment && moment < cycle[1] {
                        months.is_refused(&caller, moment);
                    }
                }
                months.is_refused(&caller, cycle[1] - 1.millisecond());
            }
            months.spends_all(&caller, boundaries[2]);
        }
    }

    fn two_accounts_cannot_have_one_id_and_the_error_names_nobody(f) {
        let impostor = Account { email: "impostor@example.com".into(), ..f.account.clone() };
        let error = f.store.add_account(&impostor, &Origin::CLI).unwrap_err();
        assert!(!error.is_unavailable());
        let text = format!("{error} {error:?}");
        assert!(!text.contains("impostor") && !text.contains(&f.account.id.to_string()), "{text}");
    }

    fn keys_are_found_by_their_hashes_and_oldest_first(f) {
        let newer = f.add_key("2026-03-02T00:00:00.007Z");
        let older = f.add_key("2026-03-01T00:00:00Z");
        let stranger = new_account("stranger@example.com");
        let (_, foreign) = new_key(&stranger, "2026-03-01T12:00:00Z");
        assert!(!f.store.add_key(&foreign, &Origin::CLI).unwrap(), "it needs an account");
        assert_eq!(f.store.key_by_hash(&foreign.hash).unwrap(), None);
        assert!(f.store.add_account(&stranger, &Origin::CLI).unwrap());
        assert!(f.store.add_key(&foreign, &Origin::CLI).unwrap());
        assert_eq!(f.store.key_by_hash(&newer.hash).unwrap(), Some((newer.clone(), f.account.clone())));
        let twin = KeyRecord { id: KeyId::new(), ..newer.clone() };
        assert_eq!(f.store.add_key(&twin, &Origin::CLI).unwrap_err().code, Code::InternalError, "its hash is taken");
        assert_eq!(f.store.keys(Some(f.account.id)).unwrap(), [older.clone(), newer.clone()]);
        assert_eq!(f.store.keys(None).unwrap(), [older, foreign, newer.clone()]);
        assert_eq!(f.store.keys(Some(AccountId::new())).unwrap(), []);
        (2..MOST_KEYS).for_each(|_| drop(f.add_key("2026-03-03T00:00:00Z")));
        let (_, surplus) = new_key(&f.account, "2026-03-03T00:00:00Z");
        assert_eq!(f.store.add_key(&surplus, &Origin::CLI).unwrap_err().code, Code::Conflict);
        assert!(f.store.revoke_key(newer.id, &Origin::CLI).unwrap());
        assert!(f.store.add_key(&surplus, &Origin::CLI).unwrap(), "a revoked key does not count");
    }

    fn a_revoked_key_is_still_found_and_keeps_its_first_date(f) {
        let record = f.add_key("2026-03-01T00:00:00Z");
        let revoked_at = || f.store.key_by_hash(&record.hash).unwrap().unwrap().0.revoked_at;
        assert_eq!(revoked_at(), None);
        assert!(f.store.revoke_key(record.id, &Origin::CLI).unwrap());
        f.shift("api_keys", "revoked_at", -60, "");
        let first = revoked_at();
        assert!(f.store.revoke_key(record.id, &Origin::CLI).unwrap());
        assert!(first.is_some() && revoked_at() == first);
        assert!(!f.store.revoke_key(KeyId::new(), &Origin::CLI).unwrap());
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
}
