//! Bundles of catalogue entries, which all instances on a database share.

use jiff::Timestamp;

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
