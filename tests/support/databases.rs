//! A fresh database of each kind for each test.

use std::path::PathBuf;
use std::sync::LazyLock;

use postgres::{Client, NoTls};
use sightline::store::{self, Role};
use uuid::Uuid;

use super::tier::is_quick;

/// The database of one test. It is removed when this is dropped.
pub(crate) struct TestDatabase {
    /// `sqlite` or `postgres`.
    pub(crate) name: &'static str,
    /// The address for `--database` or `DatabaseUrl`.
    pub(crate) url: String,
    kept_in: Place,
}

enum Place {
    Folder(PathBuf),
    Server { database: String },
}

/// Makes two tests of a function: with a database of each kind, or with what is made from it.
macro_rules! on_each_database {
    ($name:ident $(, $made:path)?) => {
        mod $name {
            #[test]
            fn sqlite() {
                super::$name(&$($made)?(crate::support::databases::sqlite()));
            }

            #[test]
            fn postgres() {
                super::$name(&$($made)?(crate::support::databases::postgres()));
            }
        }
    };
}
pub(crate) use on_each_database;

/// The options that create a database as a copy of one with all migrations, which takes a fifth of the time that the
/// migrations take. The original stays until the test server ends.
static AS_MIGRATED: LazyLock<String> = LazyLock::new(|| {
    let original = empty_postgres();
    // Closes its connections, for which the server waits.
    drop(store::open(&original.url.parse().unwrap(), Role::Command).unwrap());
    let mut client = Client::connect(&server_address(), NoTls).unwrap();
    let version: String = client.query_one("SHOW server_version_num", &[]).unwrap().get(0);
    // What is the only way before version 15.
    let strategy = if version.parse::<u32>().unwrap() < 150_000 { "" } else { "STRATEGY file_copy" };
    let Place::Server { database } = &original.kept_in else { unreachable!("it is on the server") };
    let options = format!("TEMPLATE {database} {strategy}");
    std::mem::forget(original);
    options
});

/// Returns a database of each kind, since a server must behave in the same way on both: without PostgreSQL in the quick
/// tier.
pub(crate) fn databases() -> impl Iterator<Item = TestDatabase> {
    std::iter::once(sqlite()).chain((!is_quick()).then(postgres))
}

/// Returns a database of each kind without any table.
pub(crate) fn empty_databases() -> impl Iterator<Item = TestDatabase> {
    std::iter::once(sqlite()).chain((!is_quick()).then(empty_postgres))
}

/// Returns an SQLite file that does not exist yet, in a folder that does not exist either.
pub(crate) fn sqlite() -> TestDatabase {
    let folder = std::env::temp_dir().join(format!("sightline-test-{}", Uuid::new_v4().simple()));
    let url = format!("sqlite:{}", folder.join("sightline.db").display());
    TestDatabase { name: "sqlite", url, kept_in: Place::Folder(folder) }
}

/// Creates a database on the test server, with all migrations and without rows.
pub(crate) fn postgres() -> TestDatabase {
    create(&AS_MIGRATED)
}

/// Creates a database without any table on the test server.
pub(crate) fn empty_postgres() -> TestDatabase {
    create("")
}

fn create(options: &str) -> TestDatabase {
    let database = format!("test_{}", Uuid::new_v4().simple());
    admin(&format!("CREATE DATABASE {database} {options}"));
    let mut url = url::Url::parse(&server_address()).unwrap();
    url.set_path(&database);
    TestDatabase { name: "postgres", url: url.into(), kept_in: Place::Server { database } }
}

/// Returns the address of the test server, as superuser.
pub(crate) fn server_address() -> String {
    std::env::var("SIGHTLINE_TEST_POSTGRES").unwrap_or_else(|_| {
        panic!(
            "SIGHTLINE_TEST_POSTGRES is not set: this test needs a PostgreSQL server. Run scripts/test, or \
             scripts/with-postgres cargo test"
        )
    })
}

/// Runs a statement on the test server, outside of any test's database.
fn admin(sql: &str) {
    Client::connect(&server_address(), NoTls).unwrap().batch_execute(sql).unwrap();
}

impl TestDatabase {
    /// Returns the file of an SQLite database.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(self.url.strip_prefix("sqlite:").expect("an SQLite database"))
    }

    /// Runs a statement directly on the database.
    pub(crate) fn execute(&self, sql: &str) {
        match &self.kept_in {
            Place::Folder(_) => rusqlite::Connection::open(self.path()).unwrap().execute_batch(sql).unwrap(),
            Place::Server { .. } => self.client().batch_execute(sql).unwrap(),
        }
    }

    /// Queries one whole number directly from the database.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        match &self.kept_in {
            Place::Folder(_) => {
                rusqlite::Connection::open(self.path()).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Place::Server { .. } => self.client().query_one(sql, &[]).unwrap().get(0),
        }
    }

    /// Tries a statement directly on the database, and returns its error.
    pub(crate) fn try_to(&self, sql: &str) -> Result<(), String> {
        match &self.kept_in {
            Place::Folder(_) => {
                let connection = rusqlite::Connection::open(self.path()).unwrap();
                connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
                connection.execute_batch(sql).map_err(|error| error.to_string())
            }
            Place::Server { .. } => self.client().batch_execute(sql).map_err(|error| {
                error.as_db_error().map_or_else(|| error.to_string(), |answer| answer.message().to_owned())
            }),
        }
    }

    /// Queries a column of texts directly from the database.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        match &self.kept_in {
            Place::Folder(_) => {
                let connection = rusqlite::Connection::open(self.path()).unwrap();
                let mut statement = connection.prepare(sql).unwrap();
                let rows = statement.query_map([], |row| row.get(0)).unwrap();
                rows.collect::<Result<_, _>>().unwrap()
            }
            Place::Server { .. } => {
                self.client().query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// Connects to the test's database on the server.
    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.url, NoTls).unwrap()
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        match &self.kept_in {
            Place::Folder(folder) => drop(std::fs::remove_dir_all(folder)),
            // The server itself ends soon, and a failed test must not panic again here.
            Place::Server { database } => {
                if let Ok(mut client) = Client::connect(&server_address(), NoTls) {
                    let _ = client.batch_execute(&format!("DROP DATABASE {database} WITH (FORCE)"));
                }
            }
        }
    }
}
