//! Where a reader of a live run stands.

/// A reader's place in a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    pub(super) next_event: Option<u64>,
    pub(super) last_result: u32,
    pub(super) reports_seen: usize,
    pub(super) done_seen: bool,
}

impl Cursor {
    /// Leaves out results up to and including that id.
    pub fn after(result: u32) -> Self {
        Self::at(result, 0)
    }

    /// The same, and the first so many modules that ended.
    pub fn at(result: u32, reports: usize) -> Self {
        Self { last_result: result, reports_seen: reports, ..Self::default() }
    }

    /// The id of the last result that was read.
    pub fn last_result(&self) -> u32 {
        self.last_result
    }
}
