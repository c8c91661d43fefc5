//! Sign-in to the web app: passwords, sessions, set-up links.
//!
//! | file | holds |
//! |---|---|
//! | [`service`] | the use cases: sign in, read the session, sign out, set up, change the password |
//! | [`password`] | rules for passwords, and Argon2id with bounded concurrency |
//! | [`token`] | random tokens and their hashes |

pub mod password;
pub mod service;
pub mod token;

pub use service::{SignInError, SignIns};
