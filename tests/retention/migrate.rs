//! `migrate`.

use crate::cli::ran;
use crate::support::databases::{TestDatabase, empty_databases};

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
