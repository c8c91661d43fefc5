//! What several test files need.

pub mod server;
