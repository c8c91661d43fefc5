//! A database that is unavailable for a while.

use sightline::model::drive::Write;
use sightline::store::Role;

use super::{Fixture, both_ended, charge, completed, once_connected, open, race};
use crate::support::awaited;
use crate::support::databases::{admin, postgres, sqlite};
use crate::support::relay::Relay;

const KILL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                    WHERE datname = current_database() AND pid <> pg_backend_pid()";

impl Fixture {
    fn allow_connections(&self, allowed: bool) {
        let name = self.database.url.rsplit('/').next().unwrap();
        admin(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {allowed}"));
    }
}

#[test]
fn dropped_connections_are_replaced_transparently() {
    let f = Fixture::new(postgres());
    // Fills the pool.
    race(10, |_| once_connected(|| f.store.accounts()));
    for _ in 0..3 {
        f.database.execute(KILL);
        race(20, |_| once_connected(|| f.store.start(&f.new_run(), &charge(1, None))));
    }
    assert_eq!(f.used(), 60);
}

#[test]
fn a_lost_database_is_unavailable_until_it_returns() {
    let f = Fixture::new(postgres());
    f.store.ping().unwrap();
    f.allow_connections(false);
    admin(&format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
        f.database.url.rsplit('/').next().unwrap()
    ));
    let error = f.store.ping().unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    awaited("it says why", || {
        let error = f.store.start(&f.new_run(), &charge(1, None)).unwrap_err();
        assert!(error.is_unavailable(), "{error:?}");
        if error.to_string().contains("not currently accepting connections") { Ok(()) } else { Err(error) }
    });

    f.allow_connections(true);
    awaited("it comes back", || f.store.ping());
    f.started();
}

#[test]
fn a_statement_that_is_stuck_is_given_up() {
    let f = Fixture::new(postgres());
    // Long enough for statements that are not stuck, also on a busy disk.
    let patient = format!("{}?options=-c%20statement_timeout%3D2s", f.database.url);
    let store = open(&patient, Role::Server).unwrap();
    let mut blocker = postgres::Client::connect(&f.database.url, postgres::NoTls).unwrap();
    let mut lock = blocker.transaction().unwrap();
    lock.batch_execute("LOCK TABLE runs").unwrap();
    let error = store.start(&f.new_run(), &charge(1, None)).unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    assert!(error.to_string().contains("57014"), "{error}");
    lock.rollback().unwrap();
    store.start(&f.new_run(), &charge(1, None)).unwrap();
    assert_eq!(f.used(), 1);
}

#[test]
fn a_write_that_timed_out_on_a_lock_does_not_degrade_health() {
    let f = Fixture::new(postgres());
    let hasty = format!("{}?options=-c%20lock_timeout%3D1s", f.database.url);
    let store = open(&hasty, Role::Server).unwrap();
    let run = f.started();
    let mut blocker = f.database.client();
    let mut lock = blocker.transaction().unwrap();
    lock.execute("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", &[&run.id.0]).unwrap();
    let error = store.finish(run.id, f.me.lease(0), &both_ended(), &completed()).unwrap_err();
    assert!(error.is_unavailable() && error.is_contended() && !error.is_unconfirmed(), "{error:?}");
    assert!(error.to_string().contains("55P03"), "{error}");
    store.ping().unwrap();
    lock.rollback().unwrap();
    assert_eq!(store.finish(run.id, f.me.lease(0), &both_ended(), &completed()).unwrap(), Write::Done);
}

#[test]
fn a_locked_sqlite_file_is_unavailable_and_can_be_read() {
    let f = Fixture::new(sqlite());
    let mut blocker = rusqlite::Connection::open(f.database.path()).unwrap();
    let lock = blocker.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
    let error = f.store.start(&f.new_run(), &charge(1, None)).unwrap_err();
    assert!(error.is_unavailable(), "{error:?}");
    assert_eq!(f.used(), 0);
    assert!(f.store.ping().unwrap_err().is_unavailable(), "a refused write is no sign of health");
    lock.rollback().unwrap();
    f.started();
    awaited("it comes back", || f.store.ping());
    assert_eq!(f.used(), 1);
}

/// The relay also holds back closed connections: PostgreSQL hangs up on a client that does not log in within ten
/// seconds, which is as long as connecting may take here.
#[test]
fn a_server_that_never_answers_is_unavailable() {
    let f = Fixture::new(postgres());
    let mut url = url::Url::parse(&f.database.url).unwrap();
    let relay = Relay::to(format!("127.0.0.1:{}", url.port().unwrap()));
    url.set_port(Some(relay.address.port())).unwrap();
    url.set_host(Some("127.0.0.1")).unwrap();
    let store = open(url.as_str(), Role::Server).unwrap();
    race(10, |_| once_connected(|| store.ping()));

    relay.freeze(true);
    assert!(store.ping().unwrap_err().is_unavailable());
    assert!(store.account(f.account.id).unwrap_err().is_unavailable());
    let error = open(url.as_str(), Role::Server).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("no answer within"), "{error}");

    relay.freeze(false);
    awaited("it comes back", || store.ping());
    assert_eq!(store.account(f.account.id).unwrap(), Some(f.account.clone()));
}
