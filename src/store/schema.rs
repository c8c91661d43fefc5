//! The versions of the schema.
//!
//! A new database begins with `schema.sql`, which is version 23. Each later version is a numbered file in both folders
//! of `sql/`, with a line here. A file that was released never changes. Each runs once, in its own transaction, which
//! also adds its version to the table `schema_version`.

use super::error::{OpenError, Result};
use super::tx::Tx;
use super::value::values;

use crate::model::audit::{Action, AuditEvent, Origin};

/// A step to a version of the schema.
#[derive(Debug)]
pub(super) struct Migration {
    pub(super) version: i64,
    pub(super) name: &'static str,
    pub(super) sqlite: &'static str,
    pub(super) postgres: &'static str,
}

impl Migration {
    /// Runs the step in a transaction, and records it.
    pub(super) fn run(&self, tx: &mut Tx<'_>, by: &Origin) -> Result<(), OpenError> {
        let mut run = || -> Result<()> {
            tx.batch(self.sqlite, self.postgres)?;
            let noted = "INSERT INTO schema_version (version, name, applied_at) VALUES (?1, ?2, {now})";
            tx.execute(noted, values![self.version, self.name])?;
            let event = AuditEvent::of_service(Action::Migrated).with("version", self.version);
            tx.note(&AuditEvent { object: Some(self.name.to_owned()), ..event }, by)
        };
        run().map_err(|cause| OpenError::Migration { name: self.name, cause })?;
        log::info!("the database has schema version {} ({}) now", self.version, self.name);
        Ok(())
    }
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../../sql/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../../sql/postgres/", $name, ".sql")),
        }
    };
}

/// All steps, oldest first. The first one makes a new database.
pub(super) const MIGRATIONS: &[Migration] = &[
    migration!(23, "schema"),
    migration!(24, "0024_unconfirmed"),
    migration!(25, "0025_rate_limits"),
    migration!(26, "0026_searches"),
    migration!(27, "0027_running"),
    migration!(28, "0028_learnt"),
    migration!(29, "0029_reports"),
    migration!(30, "0030_links"),
];

/// Returns the steps that a database of that version lacks, oldest first. A new database has no version.
///
/// # Errors
/// Returns an error if the database is older or newer than this program supports.
pub(super) fn pending(found: Option<i64>) -> Result<&'static [Migration], OpenError> {
    let Some(found) = found else { return Ok(MIGRATIONS) };
    let (oldest, newest) = (MIGRATIONS[0].version, MIGRATIONS[MIGRATIONS.len() - 1].version);
    if found < oldest {
        return Err(OpenError::OlderSchema { found, oldest });
    }
    match MIGRATIONS.iter().position(|migration| migration.version == found) {
        Some(at) => Ok(&MIGRATIONS[at + 1..]),
        None => Err(OpenError::NewerSchema { found, known: newest }),
    }
}
