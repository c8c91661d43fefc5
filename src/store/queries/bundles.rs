//! Signed catalogue bundles, of which the one with the greatest serial is in use.

use super::prelude::*;

row! { StoredBundle from "" { serial, created_at, stored_at, text = "document" } }

const IN_USE: &str = "SELECT {row} FROM catalog_bundles ORDER BY serial DESC LIMIT 1";
const VERSION: &str = "SELECT serial, stored_at FROM catalog_bundles ORDER BY serial DESC LIMIT 1";
const INSERT: &str = "INSERT INTO catalog_bundles (serial, created_at, stored_at, document) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (serial) DO NOTHING";
const FORGET: &str = "DELETE FROM catalog_bundles WHERE serial NOT IN \
     (SELECT serial FROM catalog_bundles ORDER BY serial DESC LIMIT ?1)";
const REMOVE: &str = "DELETE FROM catalog_bundles \
     WHERE serial = (SELECT max(serial) FROM catalog_bundles) RETURNING serial";

impl Store {
    /// Returns the version of the bundle in use.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn bundle_version(&self) -> Result<Option<BundleVersion>> {
        self.first(background("bundle_version"), VERSION, values![])
    }

    /// Returns the bundle in use.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn bundle(&self) -> Result<Option<StoredBundle>> {
        self.first(background("bundle"), IN_USE, values![])
    }

    /// Stores a bundle unless its serial is at most that of the bundle in use, records it in the audit, and removes all
    /// but the newest [`KEPT_BUNDLES`].
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn add_bundle(&self, bundle: &StoredBundle, by: &Origin) -> Result<AddedBundle> {
        let serial = bundle.serial;
        self.write("add_bundle", |tx| {
            if let Some(in_use) = tx.first::<StoredBundle>(IN_USE, values![])? {
                if in_use.serial > serial {
                    return Ok(AddedBundle::Older(in_use.serial));
                }
                if in_use.serial == serial {
                    let is_same = in_use.text == bundle.text;
                    return Ok(if is_same { AddedBundle::InUse } else { AddedBundle::SameSerial });
                }
            }
            let row = values![serial, bundle.created_at, bundle.stored_at, bundle.text.as_str()];
            if tx.execute(INSERT, row)? == 0 {
                return Err(StorageError::contended("another command stored a bundle with this serial"));
            }
            tx.execute(FORGET, values![KEPT_BUNDLES])?;
            let event = AuditEvent::of_service(Action::CatalogUpdated).with("serial", bundle.serial);
            tx.note(&event, bundle.stored_at, by)?;
            Ok(AddedBundle::Added)
        })
    }

    /// Removes the bundle in use, so that the one before it is in use again, and records it in the audit. Returns the
    /// serial of the removed bundle, or `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub fn remove_bundle(&self, at: Timestamp, by: &Origin) -> Result<Option<u64>> {
        self.write("remove_bundle", |tx| {
            let Some(serial) = tx.first::<u64>(REMOVE, values![])? else { return Ok(None) };
            let event = AuditEvent::of_service(Action::CatalogRolledBack).with("serial", serial);
            tx.note(&event, at, by)?;
            Ok(Some(serial))
        })
    }
}
