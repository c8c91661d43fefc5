//! Basic types that every layer may use: addresses, a cache, the clock, encodings, identifiers, secrets,
//! signatures, log set-up, text from outside, enums of words.
//!
//! Nothing here depends on the purpose of the program.

pub mod address;
pub mod cache;
pub mod certificates;
pub mod clock;
pub mod count;
pub mod descriptors;
pub mod encoding;
pub mod ids;
pub mod log;
pub mod pages;
pub mod secret;
pub mod signature;
pub mod storage;
pub mod text;
pub mod threads;
pub(crate) mod words;
