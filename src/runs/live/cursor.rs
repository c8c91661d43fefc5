//! Where a reader of a live run stands.

/// A reader's place in a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    pub(super) next_event: Option<u64>,
    /// Results up to this one are left out, changed or not.
    pub(super) left_out: u32,
    pub(super) last_result: u32,
    /// Changes up to this write have been read.
    pub(super) revision: u64,
    pub(super) reports_seen: usize,
    pub(super) done_seen: bool,
    pub(super) told: u64,
}

/// Where a reader stands in what the store has of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Results up to this one are left out.
    pub left_out: u32,
    /// The last result that was read.
    pub last_result: u32,
    /// Everything up to this write has been read; `None`: nothing has.
    pub revision: Option<u64>,
    /// So many modules that ended have been read.
    pub reports: usize,
}

impl Cursor {
    /// Leaves out results up to and including that id.
    pub fn after(result: u32) -> Self {
        Self::at(Place { left_out: result, ..Place::default() })
    }

    /// Goes on where a reader of the store stands.
    pub fn at(place: Place) -> Self {
        Self {
            left_out: place.left_out,
            last_result: place.last_result.max(place.left_out),
            revision: place.revision.unwrap_or(0),
            reports_seen: place.reports,
            ..Self::default()
        }
    }

    /// Where a reader of the store goes on after [`Next::Stopped`](super::Next::Stopped).
    pub fn place(&self) -> Place {
        Place {
            left_out: self.left_out,
            last_result: self.last_result,
            revision: Some(self.told),
            reports: self.reports_seen,
        }
    }
}
