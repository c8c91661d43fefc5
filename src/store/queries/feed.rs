//! The last good catalogue feed. It is kept in a table that was made for bundles with serials.

use super::*;

const KEPT: &str = "SELECT document FROM catalog_bundles ORDER BY created_at DESC LIMIT 1";
const FORGET: &str = "DELETE FROM catalog_bundles";
const KEEP: &str = "INSERT INTO catalog_bundles (serial, created_at, stored_at, document) \
     VALUES (?1, ?2, ?2, ?3) ON CONFLICT (serial) DO NOTHING";

impl Store {
    /// Returns the text of the newest feed that was kept.
    pub fn catalog_feed(&self) -> Result<Option<String>> {
        self.first(background("catalog_feed"), KEPT, values![])
    }

    /// Keeps a feed instead of all others, also of newer ones, which no trusted key may have signed.
    pub fn keep_catalog_feed(&self, created_at: Timestamp, text: &str) -> Result<()> {
        self.write("keep_catalog_feed", |tx| {
            tx.execute(FORGET, values![])?;
            tx.execute(KEEP, values![created_at.as_second(), created_at, text]).map(drop)
        })
    }
}
