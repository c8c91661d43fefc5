//! Bricks that every room may use: the clock, identifiers, secrets, log set-up, text from outside.
//!
//! Nothing in here knows what Sightline does.

pub mod clock;
pub mod count;
pub mod ids;
pub mod log;
pub mod secret;
pub mod storage;
pub mod text;
