//! Signing in to the web app: passwords, sessions, set-up links.
//!
//! | file | holds |
//! |---|---|
//! | [`service`] | the use cases: sign in, who is it, sign out, set up, change the password |
//! | [`password`] | which passwords are taken; Argon2id, a few at a time |
//! | [`token`] | random tokens and what the store knows them by |
//! | [`session`] | sessions, and how long they last |
//! | [`attempts`] | how often it may be tried |
//! | [`keeping`] | what this asks of storage |

pub mod attempts;
pub mod keeping;
pub mod password;
pub mod service;
pub mod session;
pub mod token;

pub use keeping::SignInStore;
pub use service::{SignInError, SignIns};
