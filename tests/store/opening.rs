//! Opening: addresses, migrations, locks, TLS, and the texts of errors.

use std::fs;

use sightline::model::audit::Origin;
use sightline::store::{OpenError, Role, Store};

use super::{Fixture, Write, both_ended, completed, once_connected, open, race};
use crate::support::databases::{empty_databases, empty_postgres, postgres, server_address, sqlite};

fn refused(url: &str, role: Role) -> OpenError {
    match open(url, role) {
        Ok(_) => panic!("{url} was opened"),
        Err(error) => error,
    }
}

/// Does not use `ping`: a health check gives up sooner than a busy machine may need for a connection.
fn is_of_use(store: &std::sync::Arc<Store>) {
    store.accounts().unwrap();
}

#[test]
fn eight_starters_at_once_all_succeed() {
    for database in empty_databases() {
        let stores = race(8, |_| {
            let role = if database.name == "sqlite" { Role::Command } else { Role::Server };
            open(&database.url, role)
        });
        for store in stores {
            is_of_use(&store.unwrap());
        }
        let versions = "SELECT count(*) FROM schema_version WHERE version = 23";
        assert_eq!(database.number(versions), 1, "{}", database.name);
    }
}

/// The first process switches the file to WAL, which SQLite refuses to a second one at once.
#[test]
fn a_command_waits_for_another_one_that_is_just_creating_the_file() {
    let database = sqlite();
    fs::create_dir_all(database.path().parent().unwrap()).unwrap();
    let lock = fs::File::create(database.path().with_extension("db.lock")).unwrap();
    lock.lock().unwrap();
    let other = rusqlite::Connection::open(database.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE; CREATE TABLE half_done (id INTEGER)").unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| open(&database.url, Role::Command).map(|store| store.ping()));
        let until = std::time::Instant::now() + std::time::Duration::from_millis(500);
        // The second start must not end before the first one has.
        while std::time::Instant::now() < until && !second.is_finished() {
            std::thread::yield_now();
        }
        let is_early = second.is_finished();
        other.execute_batch("ROLLBACK").unwrap();
        drop(lock);
        second.join().unwrap().unwrap().unwrap();
        assert!(!is_early);
    });
}

#[test]
fn a_server_waits_for_a_command_that_creates_its_file_and_not_for_another_server() {
    for _ in 0..10 {
        let database = sqlite();
        let stores = race(6, |index| match index {
            0 => open(&database.url, Role::Server),
            _ => open(&database.url, Role::Command),
        });
        // A command waits for a server that creates the file, too, but not for ever.
        for (index, store) in stores.into_iter().enumerate() {
            match store {
                Ok(store) => is_of_use(&store),
                Err(error) => {
                    assert!(index > 0 && matches!(error, OpenError::InUse { .. }), "{error}");
                }
            }
        }
    }
}

on_both! {
    fn a_newer_schema_is_refused(f) {
        f.database.execute(
            "INSERT INTO schema_version (version, name, applied_at) \
             SELECT 9999, '9999_future', applied_at FROM schema_version WHERE version = 23",
        );
        let error = refused(&f.database.url, Role::Command);
        assert!(matches!(error, OpenError::NewerSchema { found: 9999, .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("9999") && text.contains("newer version of sightline"), "{text}");
    }
}

#[test]
fn one_server_works_on_an_sqlite_file_and_commands_beside_it() {
    let f = Fixture::new(sqlite());
    let error = refused(&f.database.url, Role::Server);
    let OpenError::InUse { process, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*process, Some(std::process::id()));
    assert!(error.to_string().contains("in use by another server"), "{error}");

    // Also through another name of the same file.
    let link = f.database.path().with_file_name("link.db");
    std::os::unix::fs::symlink(f.database.path(), &link).unwrap();
    let error = refused(&format!("sqlite:{}", link.display()), Role::Server);
    assert!(matches!(error, OpenError::InUse { .. }), "{error:?}");

    let command = open(&f.database.url, Role::Command).unwrap();
    assert!(command.set_plan(f.account.id, "basic", &Origin::CLI).unwrap());
    assert_eq!(f.store.account(f.account.id).unwrap().unwrap().plan, "basic");

    let Fixture { store, database, .. } = f;
    drop(store);
    open(&database.url, Role::Server).unwrap();
}

#[test]
fn the_next_server_on_an_sqlite_file_takes_the_runs_of_a_dead_one_at_once() {
    let f = Fixture::new(sqlite());
    let run = sightline::model::start::NewRun { holds: super::HOLDS, ..f.new_run() };
    f.store.start(&run).unwrap();
    // A command beside a running server changes nothing.
    drop(open(&f.database.url, Role::Command).unwrap());
    let next = super::new_instance();
    assert_eq!(f.store.take_over(&super::claim(next, false)).unwrap(), None);
    let Fixture { store, database, .. } = f;
    drop(store);
    let store = open(&database.url, Role::Server).unwrap();
    let taken = store.take_over(&super::claim(next, false)).unwrap();
    assert_eq!(taken.map(|taken| taken.summary.id), Some(run.id));
}

#[test]
fn a_command_does_not_change_the_schema_under_a_server() {
    let f = Fixture::new(sqlite());
    f.database.execute("DELETE FROM schema_version");
    let error = refused(&f.database.url, Role::Command);
    assert!(matches!(error, OpenError::InUse { .. }), "{error:?}");
    assert!(error.to_string().contains("stop that one"), "{error}");
}

#[test]
fn an_sqlite_file_is_private() {
    use std::os::unix::fs::PermissionsExt;
    let f = Fixture::new(sqlite());
    f.started();
    let folder = f.database.path().parent().unwrap().to_owned();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_file_of_something_else_is_refused_and_left_as_it_is() {
    let database = sqlite();
    fs::create_dir_all(database.path().parent().unwrap()).unwrap();
    let text = "this is a letter and no database. ".repeat(100);
    fs::write(database.path(), &text).unwrap();
    let error = refused(&database.url, Role::Server);
    assert!(matches!(error, OpenError::Foreign(_)), "{error:?}");
    assert_eq!(fs::read_to_string(database.path()).unwrap(), text);

    fs::remove_file(database.path()).unwrap();
    database.execute("CREATE TABLE notes (id INTEGER)");
    let error = refused(&database.url, Role::Server);
    assert!(error.to_string().contains("another program"), "{error}");
    assert_eq!(database.number("SELECT count(*) FROM sqlite_schema"), 1);
}

#[test]
fn a_path_that_is_not_a_file_is_named() {
    let database = sqlite();
    fs::create_dir_all(database.path()).unwrap();
    let error = refused(&database.url, Role::Server);
    assert!(matches!(error, OpenError::File { .. }), "{error:?}");
    assert!(error.to_string().contains("sightline.db"), "{error}");
    let below_a_file = format!("sqlite:{}/Cargo.toml/x/y.db", env!("CARGO_MANIFEST_DIR"));
    assert!(matches!(refused(&below_a_file, Role::Server), OpenError::File { .. }));
}

mod postgres {
    use super::*;

    #[test]
    fn dropped_connections_are_replaced_transparently() {
        let f = Fixture::new(postgres());
        // Fills the pool.
        race(10, |_| once_connected(|| f.store.accounts()));
        for _ in 0..3 {
            f.database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            );
            race(20, |_| once_connected(|| f.store.start(&f.new_run())));
        }
        assert_eq!(f.used(), 60);
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
        let finish = || store.finish(run.id, f.me.lease(0), &both_ended(), &completed());
        let error = finish().unwrap_err();
        assert!(error.is_unavailable() && error.is_contended() && !error.is_unconfirmed(), "{error:?}");
        assert!(error.to_string().contains("55P03"), "{error}");
        store.ping().unwrap();
        lock.rollback().unwrap();
        assert_eq!(finish().unwrap(), Write::Done);
    }

    #[test]
    fn a_failed_migration_changes_nothing() {
        let database = empty_postgres();
        database.execute("CREATE TABLE runs (whatever text)");
        let error = refused(&database.url, Role::Server);
        assert!(matches!(error, OpenError::Migration { .. }), "{error:?}");
        assert!(error.to_string().contains("migration schema failed"), "{error}");
        let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
        assert_eq!(database.number(tables), 1);
    }

    #[test]
    fn no_error_shows_the_password() {
        let server = url::Url::parse(&server_address()).unwrap();
        let with = |change: &dyn Fn(&mut url::Url)| {
            let mut url = server.clone();
            url.set_password(Some("hunter2")).unwrap();
            change(&mut url);
            url.to_string()
        };
        for (url, want) in [
            (with(&|_| {}), "password authentication failed"),
            (with(&|url| url.set_port(Some(1)).unwrap()), "refused"),
            (with(&|url| url.set_host(Some("host.invalid")).unwrap()), "host.invalid"),
            (
                with(&|url| url.set_query(Some("sslmode=verify-full&sslrootcert=%2Fnowhere.pem"))),
                "/nowhere.pem",
            ),
        ] {
            let error = refused(&url, Role::Server);
            let text = format!("{error} {error:?}");
            assert!(text.contains(want), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn tls_checks_follow_sslmode() {
        let authority = std::env::var("SIGHTLINE_TEST_POSTGRES_CA").expect("set by scripts/with-postgres");
        let database = empty_postgres();
        let try_with = |host: &str, parameters: &str| {
            let mut url = url::Url::parse(&database.url).unwrap();
            url.set_host(Some(host)).unwrap();
            url.set_query(Some(parameters));
            open(url.as_str(), Role::Server).map(|store| store.ping().unwrap()).map_err(|e| e.to_string())
        };
        let ours = format!("&sslrootcert={authority}");
        for (host, mode, roots, works) in [
            ("localhost", "disable", "", true),
            ("localhost", "prefer", "", true),
            ("localhost", "require", "", true),
            ("localhost", "require", "&channel_binding=require", true),
            ("127.0.0.1", "require", ours.as_str(), true),
            ("127.0.0.1", "verify-ca", &ours, true),
            ("localhost", "verify-full", &ours, true),
            // The certificate is made out to localhost, by an authority that this machine does not know.
            ("127.0.0.1", "verify-full", &ours, false),
            ("localhost", "verify-ca", "", false),
            ("localhost", "verify-full", "&sslrootcert=system", false),
        ] {
            let outcome = try_with(host, &format!("sslmode={mode}{roots}"));
            assert_eq!(outcome.is_ok(), works, "{host} {mode}{roots}: {outcome:?}");
        }
        // Modes that require TLS use it.
        let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE datname = current_database() AND application_name = 'sightline' AND ssl";
        for (mode, want) in [("disable", 0), ("prefer", 1), ("require", 1)] {
            let mut url = url::Url::parse(&database.url).unwrap();
            url.set_query(Some(&format!("sslmode={mode}")));
            let store = open(url.as_str(), Role::Command).unwrap();
            store.ping().unwrap();
            assert_eq!(database.number(encrypted), want, "{mode}");
            drop(store);
            database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sightline' AND datname = current_database()");
        }
        let empty =
            refused(&format!("{}?sslmode=verify-ca&sslrootcert=%2Fdev%2Fnull", database.url), Role::Server);
        assert!(
            matches!(empty, OpenError::Tls(_)) && empty.to_string().contains("no certificate"),
            "{empty}"
        );
    }
}
