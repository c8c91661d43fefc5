//! What several test files need.

pub(crate) mod databases;
pub mod server;
pub mod source;
