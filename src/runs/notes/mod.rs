//! What the owner of a run notes: tags and a note on the run, notes and marks on its results.
//!
//! | file | holds |
//! |---|---|
//! | [`annotation`] | the notes and their limits |
//! | [`storage`] | the storage that they need |
//! | [`notebook`] | changes notes, and tells readers of live runs |
//!
//! Notes are no part of a result as it was found: drivers never see them, and streams, diffs and watches leave them out.

pub mod annotation;
pub mod notebook;
pub mod storage;
