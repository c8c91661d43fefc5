//! What several test files need.

pub(crate) mod browser;
pub(crate) mod cutter;
pub(crate) mod databases;
pub(crate) mod folder;
pub(crate) mod nginx;
pub(crate) mod npm;
pub(crate) mod python;
pub(crate) mod server;
pub(crate) mod source;
pub(crate) mod wire;
