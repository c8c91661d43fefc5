//! A database that is unavailable for a while.

use sightline::model::drive::Write;
use sightline::store::Role;

use super::{Fixture, both_ended, charge, completed, once_connected, open, race};
use crate::support::databases::postgres;

const KILL: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                    WHERE datname = current_database() AND pid <> pg_backend_pid()";

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
