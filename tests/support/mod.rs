//! What several test files need.

pub mod server;
pub mod source;
