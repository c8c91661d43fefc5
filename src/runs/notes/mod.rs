//! What the owner of a run notes: tags and a note on the run, notes and marks on its results.
//!
//! | file | holds |
//! |---|---|
//! | [`notebook`] | changes notes, and tells readers of live runs |
//!
//! Notes are no part of a result as it was found: drivers never see them, and streams, diffs and watches leave them out.

pub mod notebook;
