//! The list of migrations, and which schemas are refused.
//!
//! Migrations only append. Each runs once, in a transaction of its own, which also notes it in the table
//! `schema_version`.

use super::error::OpenError;

/// One step from a schema to the next; versions count from 1.
#[derive(Debug)]
pub(super) struct Migration {
    /// File name without its ending.
    pub(super) name: &'static str,
    /// For SQLite.
    pub(super) sqlite: &'static str,
    /// For PostgreSQL.
    pub(super) postgres: &'static str,
}

macro_rules! migration {
    ($name:literal) => {
        Migration {
            name: $name,
            sqlite: include_str!(concat!("../../sql/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../sql/postgres/", $name, ".sql")),
        }
    };
}

/// All of them, oldest first.
pub(super) const MIGRATIONS: &[Migration] = &[
    migration!("0001_foundation"),
    migration!("0002_several_sources"),
    migration!("0003_module_health"),
    migration!("0004_shared"),
];

/// A migration with its version.
pub(super) type Step = (i64, &'static Migration);

/// The next migration to run; `applied` is what the database has noted, by version.
///
/// # Errors
/// When the schema is newer than this program, or not made by these migrations.
pub(super) fn next_step(applied: &[(i64, String)]) -> Result<Option<Step>, OpenError> {
    let mut known = (1..).zip(MIGRATIONS);
    for (version, name) in applied {
        match known.next() {
            Some((expected, migration)) if expected == *version && migration.name == name => {}
            None => {
                let found = applied.last().map_or(*version, |(version, _)| *version);
                return Err(OpenError::NewerSchema { found, known: known_version() });
            }
            Some((expected, migration)) => {
                return Err(OpenError::Foreign(format!(
                    "its table schema_version has ({version}, \"{name}\") where ({expected}, \"{}\") belongs; \
                     restore a backup",
                    migration.name
                )));
            }
        }
    }
    Ok(known.next())
}

fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(i64, String)> {
        (1..).zip(MIGRATIONS).map(|(version, migration)| (version, migration.name.to_owned())).collect()
    }

    #[test]
    fn names_are_numbered_without_a_gap() {
        for (version, migration) in (1..).zip(MIGRATIONS) {
            assert!(migration.name.starts_with(&format!("{version:04}_")), "{}", migration.name);
        }
    }

    #[test]
    fn an_empty_database_starts_at_the_first_and_a_whole_one_needs_nothing() {
        assert_eq!(next_step(&[]).unwrap().map(|(version, _)| version), Some(1));
        assert!(next_step(&all()).unwrap().is_none());
    }

    #[test]
    fn a_newer_or_a_changed_schema_is_refused() {
        let mut newer = all();
        newer.push((known_version() + 1, "9999_future".into()));
        let error = next_step(&newer).unwrap_err().to_string();
        assert!(error.contains(&format!("schema version {}", known_version() + 1)), "{error}");

        let mut changed = all();
        changed[0].1 = "0001_other".into();
        assert!(next_step(&changed).unwrap_err().to_string().contains("0001_other"));
        assert!(next_step(&[(2, "0002_x".into())]).unwrap_err().to_string().contains("where (1,"));
    }
}
