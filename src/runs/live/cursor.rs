//! Positions of readers in live and in stored runs.

/// The position of a reader in a live run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    pub(super) next_event: Option<u64>,
    /// The id up to which results are left out, even if they change.
    pub(super) left_out: u32,
    pub(super) last_result: u32,
    /// The revision up to which changes were read.
    pub(super) revision: u64,
    pub(super) reports_seen: usize,
    pub(super) done_seen: bool,
    pub(super) told: u64,
}

/// The position of a reader in the stored part of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The id up to which results are left out.
    pub left_out: u32,
    /// The id of the last result that was read.
    pub last_result: u32,
    /// The revision up to which everything was read. It is `None` if nothing was read.
    pub revision: Option<u64>,
    /// The number of ended modules that were read.
    pub reports: usize,
}

impl Cursor {
    /// Creates a position that leaves out results up to and including that id.
    pub fn after(result: u32) -> Self {
        Self::at(Place { left_out: result, ..Place::default() })
    }

    /// Creates a position that continues that of a reader of the store.
    pub fn at(place: Place) -> Self {
        Self {
            left_out: place.left_out,
            last_result: place.last_result.max(place.left_out),
            revision: place.revision.unwrap_or(0),
            reports_seen: place.reports,
            ..Self::default()
        }
    }

    /// Returns the position at which a reader of the store continues after [`Next::Stopped`](super::Next::Stopped).
    pub fn place(&self) -> Place {
        Place {
            left_out: self.left_out,
            last_result: self.last_result,
            revision: Some(self.told),
            reports: self.reports_seen,
        }
    }
}
