//! [`Bundles`]: storage of the signed catalogue bundles of all instances.

use jiff::Timestamp;

use crate::account::audit::Origin;
use crate::base::storage::StorageError;

/// The most bundles that are kept: the one in use, and those to which one can go back.
pub const KEPT_BUNDLES: usize = 3;

/// A stored bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBundle {
    /// The serial.
    pub serial: u64,
    /// The time at which the bundle was made.
    pub created_at: Timestamp,
    /// The time at which the bundle was stored.
    pub stored_at: Timestamp,
    /// The whole text with its signature.
    pub text: String,
}

/// What tells whether another bundle is in use: its serial, and the time at which it was stored. A bundle with the same
/// serial may be stored again after the first one was removed.
pub type BundleVersion = (u64, Timestamp);

/// The result of storing a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddedBundle {
    /// The bundle is stored and in use.
    Added,
    /// The bundle was in use before.
    InUse,
    /// The bundle in use has the same serial and another text. Nothing was stored.
    SameSerial,
    /// The bundle in use has this greater serial. Nothing was stored.
    Older(u64),
}

/// Storage of catalogue bundles. The bundle with the greatest serial is in use. Every call is one transaction.
pub trait Bundles: Send + Sync {
    /// Returns the version of the bundle in use.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn bundle_version(&self) -> Result<Option<BundleVersion>, StorageError>;

    /// Returns the bundle in use.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn bundle(&self) -> Result<Option<StoredBundle>, StorageError>;

    /// Stores a bundle unless its serial is at most that of the bundle in use, records it in the audit, and removes all
    /// but the newest [`KEPT_BUNDLES`].
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn add_bundle(&self, bundle: &StoredBundle, by: &Origin) -> Result<AddedBundle, StorageError>;

    /// Removes the bundle in use, so that the one before it is in use again, and records it in the audit. Returns the
    /// serial of the removed bundle, or `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn remove_bundle(&self, at: Timestamp, by: &Origin) -> Result<Option<u64>, StorageError>;
}
