//! `migrate`, and servers that start at once.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::cli::{ran, sightline};
use crate::support::databases::{TestDatabase, empty_databases, sqlite};

fn migrate(database: &TestDatabase, flags: &[&str]) -> crate::cli::Ran {
    ran(&[&["migrate", "--database", &database.url], flags].concat(), &[])
}

#[test]
fn a_dry_run_says_what_a_run_then_does() {
    for database in empty_databases() {
        let dry = migrate(&database, &["--dry-run"]).code_is(1);
        assert!(dry.out.starts_with("would run schema\nwould run 0024_"), "{}", dry.out);
        if database.name == "sqlite" {
            assert!(!database.path().exists(), "a dry run made a file");
        } else {
            let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
            assert_eq!(database.number(tables), 0);
        }
        let done = migrate(&database, &[]).code_is(0);
        assert_eq!(done.out.lines().filter(|line| line.starts_with("ran ")).count(), dry.out.lines().count());
        assert!(done.out.ends_with(" is up to date\n"), "{}", done.out);
        for flags in [&["--dry-run"][..], &[]] {
            let nothing = migrate(&database, flags).code_is(0);
            assert!(
                nothing.out.ends_with(" is up to date\n") && nothing.out.lines().count() == 1,
                "{}",
                nothing.out
            );
        }
        let audit = ran(&["audit", "--database", &database.url], &[]).code_is(0).out;
        assert!(audit.contains(" schema.migrated by cli object=schema"), "{audit}");
    }
}

#[test]
fn an_older_program_explains_a_newer_schema() {
    for database in empty_databases() {
        migrate(&database, &[]).code_is(0);
        database.execute(
            "INSERT INTO schema_version (version, name, applied_at) \
             SELECT 9999, '9999_future', applied_at FROM schema_version WHERE version = 23",
        );
        let newer = "start the newer version of sightline that made it, or restore a backup";
        migrate(&database, &[]).code_is(3).err_has(newer);
        migrate(&database, &["--dry-run"]).code_is(3).err_has(newer);
        let serve = ["serve", "--sandbox", "--listen", "127.0.0.1:0", "--database", &database.url];
        ran(&serve, &[]).code_is(3).err_has(newer).err_has("schema version 9999");
        ran(&["account", "list", "--database", &database.url], &[]).code_is(3).err_has(newer);
    }
}

/// A started server, its first line on standard output, and its standard error.
struct Started {
    child: Child,
    first: String,
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts eight servers at once on a new database.
fn eight(database: &TestDatabase) -> Vec<Started> {
    let children: Vec<Child> = (0..8)
        .map(|_| {
            let args = ["serve", "--sandbox=perfect", "--check-workers=4", "--listen", "127.0.0.1:0"];
            sightline(&[&args[..], &["--database", &database.url]].concat(), &[])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let first_line = |mut child: Child| {
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        Started { child, first }
    };
    children.into_iter().map(first_line).collect()
}

#[test]
fn only_one_of_eight_servers_on_one_sqlite_file_starts() {
    let database = sqlite();
    let mut started = eight(&database);
    let serving = started.iter().filter(|server| server.first.starts_with("listening on ")).count();
    assert_eq!(serving, 1, "{:?}", started.iter().map(|server| &server.first).collect::<Vec<_>>());
    for refused in started.iter_mut().filter(|server| server.first.is_empty()) {
        assert_eq!(refused.child.wait().unwrap().code(), Some(3));
        let mut said = String::new();
        std::io::Read::read_to_string(&mut refused.child.stderr.take().unwrap(), &mut said).unwrap();
        assert!(said.contains("in use by another server") && said.contains("use PostgreSQL"), "{said}");
    }
}

#[test]
fn eight_servers_on_one_fresh_postgres_database_all_serve() {
    let database = crate::support::databases::empty_postgres();
    let started = eight(&database);
    for server in &started {
        assert!(server.first.starts_with("listening on "), "{:?}", server.first);
    }
    assert_eq!(database.number("SELECT count(*) - count(DISTINCT version) FROM schema_version"), 0);
    assert_eq!(database.number("SELECT count(*) FROM accounts"), 1);
}
