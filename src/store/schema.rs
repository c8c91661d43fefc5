//! The list of migrations, and the check of a database's schema.
//!
//! New migrations are only appended. Each runs once, in its own transaction, which also adds its name and the SHA-256
//! of its text to the table `schema_version`.

use sha2::{Digest, Sha256};

use super::error::OpenError;

/// A step from one version of the schema to the next. Versions count from 1.
#[derive(Debug)]
pub(super) struct Migration {
    /// The file name without its extension.
    pub(super) name: &'static str,
    sqlite: &'static str,
    postgres: &'static str,
}

/// The database for which the SQL of a migration is returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Migration {
    pub(super) fn sql(&self, dialect: Dialect) -> &'static str {
        match dialect {
            Dialect::Sqlite => self.sqlite,
            Dialect::Postgres => self.postgres,
        }
    }

    /// Returns the SHA-256 of the text in hexadecimal. Line endings do not change it.
    pub(super) fn checksum(&self, dialect: Dialect) -> String {
        let text = self.sql(dialect).replace("\r\n", "\n");
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
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

/// All migrations, oldest first.
pub(super) const MIGRATIONS: &[Migration] = &[
    migration!("0001_foundation"),
    migration!("0002_several_sources"),
    migration!("0003_module_health"),
    migration!("0004_shared"),
    migration!("0005_audit_and_retention"),
    migration!("0006_runs_ended"),
    migration!("0007_lists_filtered"),
    migration!("0008_web"),
    migration!("0009_queue"),
    migration!("0010_running"),
    migration!("0011_deadlines"),
    migration!("0012_host_circuits"),
    migration!("0013_module_quarantines"),
    migration!("0014_catalog_bundles"),
    migration!("0015_families"),
    migration!("0016_thumbnails"),
    migration!("0017_webhooks"),
    migration!("0018_watches"),
    migration!("0019_batches"),
    migration!("0020_stopping"),
    migration!("0021_notes"),
    migration!("0022_queue_order"),
];

/// The first version with checksums in `schema_version` and migrations in the audit log.
const AUDITED_SINCE: i64 = 5;

/// Returns whether a schema of this version has checksums and the audit log.
pub(super) fn is_audited(version: i64) -> bool {
    version >= AUDITED_SINCE
}

/// A migration with its version.
pub(super) type Step = (i64, &'static Migration);

/// A row of `schema_version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) version: i64,
    pub(super) name: String,
    /// The checksum, or `None` if the schema has no column for it yet.
    pub(super) checksum: Option<String>,
}

/// Returns the migrations up to that version, oldest first.
pub(super) fn up_to(version: i64) -> impl Iterator<Item = Step> {
    (1..=version).zip(MIGRATIONS)
}

/// Returns the migrations that have not been executed yet, oldest first. `applied` contains the rows of
/// `schema_version`, sorted by version.
///
/// # Errors
/// Returns an error if the schema is newer than this program or was not made by these migrations.
pub(super) fn pending(applied: &[Applied], dialect: Dialect) -> Result<Vec<Step>, OpenError> {
    let newest = applied.last().map_or(0, |last| last.version);
    let mut known = (1..).zip(MIGRATIONS);
    for noted in applied {
        match known.next() {
            Some((version, migration)) if version == noted.version && migration.name == noted.name => {
                check_text(noted, migration, dialect, is_audited(newest))?;
            }
            None => return Err(OpenError::NewerSchema { found: newest, known: known_version() }),
            Some((version, migration)) => {
                return Err(OpenError::Foreign(format!(
                    "its table schema_version has ({}, \"{}\") where ({version}, \"{}\") belongs; restore a \
                     backup",
                    noted.version, noted.name, migration.name
                )));
            }
        }
    }
    Ok(known.collect())
}

fn check_text(
    noted: &Applied,
    migration: &'static Migration,
    dialect: Dialect,
    must_have: bool,
) -> Result<(), OpenError> {
    let fits = match &noted.checksum {
        Some(checksum) => *checksum == migration.checksum(dialect),
        None => !must_have,
    };
    if fits { Ok(()) } else { Err(OpenError::ChangedMigration { name: migration.name }) }
}

fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksums of released migrations, which never change: first SQLite's, then PostgreSQL's.
    const RELEASED: [(&str, &str, &str); 3] = [
        (
            "0001_foundation",
            "21ea928401ff7402e05ba3c21795f2df221e341e26e613c3bf4f11eafbd8489d",
            "322a803031e82150d9fe23f8266dd2a5789788e2b1d6adb529261b9de1de29cf",
        ),
        (
            "0002_several_sources",
            "615f608314fcc949a4052b34bd28c05f554990e3762c081a7ef41f9701e0fef5",
            "a0668149c609055ad4d6e58f80e83b8ee4f51d2a0318356e4cd4270fdc7204b2",
        ),
        (
            "0003_module_health",
            "5a8f6e6a0b39463e902e946a9e6a75ae412102fa296c7900938b46a4c249fc9a",
            "8abafa58880af20b418e0ed84f25f00f4090b624b7476be706571a7cdf4af87e",
        ),
    ];

    fn all() -> Vec<Applied> {
        up_to(known_version())
            .map(|(version, migration)| Applied {
                version,
                name: migration.name.to_owned(),
                checksum: Some(migration.checksum(Dialect::Sqlite)),
            })
            .collect()
    }

    fn refused(applied: &[Applied]) -> String {
        pending(applied, Dialect::Sqlite).unwrap_err().to_string()
    }

    #[test]
    fn migration_names_are_numbered_without_a_gap() {
        for (version, migration) in (1..).zip(MIGRATIONS) {
            assert!(migration.name.starts_with(&format!("{version:04}_")), "{}", migration.name);
        }
    }

    #[test]
    fn a_released_migration_never_changes() {
        for ((name, sqlite, postgres), migration) in RELEASED.iter().zip(MIGRATIONS) {
            let sums = (migration.checksum(Dialect::Sqlite), migration.checksum(Dialect::Postgres));
            assert_eq!((migration.name, sums), (*name, ((*sqlite).into(), (*postgres).into())));
        }
    }

    #[test]
    fn an_empty_database_needs_all_migrations_and_a_current_one_none() {
        let names = |applied: &[Applied]| -> Vec<&str> {
            pending(applied, Dialect::Sqlite).unwrap().iter().map(|(_, migration)| migration.name).collect()
        };
        assert_eq!(names(&[]).len(), MIGRATIONS.len());
        assert_eq!(names(&all()), [""; 0]);
        assert_eq!(names(&all()[..1])[0], "0002_several_sources");
    }

    #[test]
    fn a_newer_schema_is_refused() {
        let mut newer = all();
        newer.push(Applied { version: known_version() + 1, name: "9999_future".into(), checksum: None });
        let error = refused(&newer);
        assert!(error.contains(&format!("schema version {}", known_version() + 1)), "{error}");
    }

    #[test]
    fn a_schema_that_was_not_made_by_these_migrations_is_refused() {
        let mut other = all();
        other[0].name = "0001_other".into();
        assert!(refused(&other).contains("0001_other"));
        let second = Applied { version: 2, name: "0002_x".into(), checksum: None };
        assert!(refused(&[second]).contains("where (1,"));
    }

    #[test]
    fn a_changed_migration_is_refused() {
        for checksum in [Some("0".repeat(64)), None] {
            let mut changed = all();
            changed[1].checksum = checksum;
            assert!(refused(&changed).contains("0002_several_sources"));
        }
        // A schema without a column for checksums is accepted as it is.
        let old: Vec<Applied> =
            all()[..3].iter().map(|noted| Applied { checksum: None, ..noted.clone() }).collect();
        assert_eq!(pending(&old, Dialect::Sqlite).unwrap().len(), MIGRATIONS.len() - 3);
    }

    #[test]
    fn line_ends_do_not_count() {
        let with = |sqlite| Migration { name: "x", sqlite, postgres: "" }.checksum(Dialect::Sqlite);
        assert_eq!(with("a\r\nb\r\n"), with("a\nb\n"));
        assert_ne!(with("a\nb"), with("a b"));
    }
}
