//! The list of migrations, and the check of a database's schema.
//!
//! New migrations are only appended. Each runs once, in its own transaction, which also adds its name and the SHA-256
//! of its text to the table `schema_version`.

use sha2::{Digest, Sha256};

use super::error::OpenError;
use crate::base::encoding::hex;

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
        hex(&Sha256::digest(text.as_bytes()))
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
    migration!("0023_queue_counts"),
];

/// The checksums of earlier texts of a migration, which some databases have. Once all migrations have been executed, the
/// schema of such a database is the same.
const EARLIER_TEXTS: &[(&str, &str)] = &[
    ("0022_queue_order", "067ba66a252f938500b010cda374ff8dbae82467b83109d74411dd3da17d6546"),
    ("0023_queue_counts", "a991f8f943b8d40879f74b59387da726a90a53fe1b41fba43111c29cc4391237"),
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
        Some(checksum) => {
            *checksum == migration.checksum(dialect)
                || EARLIER_TEXTS.contains(&(migration.name, checksum.as_str()))
        }
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

    /// The first digits of the checksums of the migrations that databases may have: SQLite's, then PostgreSQL's. None of
    /// them changes, since a database that has it would be refused, unless it is in `EARLIER_TEXTS`.
    const RELEASED: [(&str, &str, &str); 23] = [
        ("0001_foundation", "21ea928401ff7402", "322a803031e82150"),
        ("0002_several_sources", "615f608314fcc949", "a0668149c609055a"),
        ("0003_module_health", "5a8f6e6a0b39463e", "8abafa58880af20b"),
        ("0004_shared", "31b91f52c010c674", "e79f1473a77c4816"),
        ("0005_audit_and_retention", "d0acb893a3b2d93f", "32d1621914d8e8b1"),
        ("0006_runs_ended", "d408ba5366158fae", "d408ba5366158fae"),
        ("0007_lists_filtered", "492960a33ddf62de", "492960a33ddf62de"),
        ("0008_web", "a7e59a15796eadb6", "fd59a22e4e03f993"),
        ("0009_queue", "1b299fa8701f4546", "692846423861507a"),
        ("0010_running", "995aaa2b70b18f3c", "09b1dea0a7b2a4fc"),
        ("0011_deadlines", "db913f5c18732577", "35077e267e21a77c"),
        ("0012_host_circuits", "bd29386d02b47002", "2aae7974ae7cc3d4"),
        ("0013_module_quarantines", "b2ea025e995663d2", "aa2b682a565e1a6f"),
        ("0014_catalog_bundles", "7ee089ebc9e0f361", "621c431e0bc1d316"),
        ("0015_families", "3e565a2e19f6beea", "1a0211db20c1c06f"),
        ("0016_thumbnails", "2e7308ba61b00a9a", "3d945d3054b54f46"),
        ("0017_webhooks", "3a83c95cc6c211de", "09ac15b2e669ab1e"),
        ("0018_watches", "e265663dfad9a1a5", "998c23f81bf68679"),
        ("0019_batches", "b577c482d769f105", "d3b81fb16d27a4d9"),
        ("0020_stopping", "9374905828a32cfe", "d5030e4b29058db1"),
        ("0021_notes", "13e05dd4ac6149e0", "623dc5f5864642ad"),
        ("0022_queue_order", "7850d37a0bdf21bc", "7850d37a0bdf21bc"),
        ("0023_queue_counts", "5e1d5e5110577901", "5e1d5e5110577901"),
    ];

    #[test]
    fn migration_names_are_numbered_without_a_gap() {
        for (version, migration) in (1..).zip(MIGRATIONS) {
            assert!(migration.name.starts_with(&format!("{version:04}_")), "{}", migration.name);
        }
    }

    #[test]
    fn a_released_migration_never_changes() {
        for ((name, sqlite, postgres), migration) in RELEASED.iter().zip(MIGRATIONS) {
            assert_eq!(migration.name, *name);
            for (dialect, known) in [(Dialect::Sqlite, sqlite), (Dialect::Postgres, postgres)] {
                let checksum = migration.checksum(dialect);
                assert!(checksum.starts_with(known), "{name} for {dialect:?}: {checksum}");
            }
        }
    }

    #[test]
    fn line_ends_do_not_count() {
        let with = |sqlite| Migration { name: "x", sqlite, postgres: "" }.checksum(Dialect::Sqlite);
        assert_eq!(with("a\r\nb\r\n"), with("a\nb\n"));
        assert_ne!(with("a\nb"), with("a b"));
    }
}
