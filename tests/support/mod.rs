//! Helpers that several groups of tests share.

pub(crate) mod admin;
pub(crate) mod browser;
pub(crate) mod chance;
pub(crate) mod databases;
pub(crate) mod event_stream;
pub(crate) mod folder;
pub(crate) mod held_site;
pub(crate) mod manual;
pub(crate) mod modules;
pub(crate) mod nginx;
pub(crate) mod npm;
pub(crate) mod private_postgres;
pub(crate) mod process;
pub(crate) mod python;
pub(crate) mod relay;
pub(crate) mod server;
pub(crate) mod site;
pub(crate) mod tier;
pub(crate) mod transcript;
pub(crate) mod waiting;
pub(crate) mod wire;

pub(crate) use waiting::{awaited, eventually, has_ended, race};
