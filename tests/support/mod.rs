//! What several test files need.

pub(crate) mod databases;
pub(crate) mod folder;
pub(crate) mod nginx;
pub(crate) mod server;
pub(crate) mod source;
pub(crate) mod waiting;
pub(crate) mod wire;

pub(crate) use waiting::{awaited, eventually};
