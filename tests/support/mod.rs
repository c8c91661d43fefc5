//! What several test files need.

pub mod databases;
pub mod server;
pub mod source;
