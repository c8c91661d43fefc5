//! What several test files need.

pub mod server;
pub mod source;
pub(crate) mod databases;
