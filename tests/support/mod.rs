//! What several test files need.

pub(crate) mod databases;
