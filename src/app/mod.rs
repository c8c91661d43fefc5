//! The composition root: builds the parts from the configuration and connects them.
//!
//! | file | holds |
//! |---|---|
//! | `engine` | catalogue, prober, checker and keys, which all commands share that ask sites |
//! | `services` | what all surfaces and tasks of `serve`, `mcp` and `search` need, built by one function |
//! | `serve` | runs a server until it is asked to stop; serves its tools over standard input and output |
//! | `listening` | the public listener and that for metrics and probes |
//! | `maintenance` | periodic work |
//! | `feed` | the catalogue feed: fetches it and keeps it |
//! | `suppression` | reads and watches the file of identifiers that are never searched |
//! | `webhooks` | the key for the secrets of webhooks |
//! | `first_start` | creates the first account, its key and its set-up link |
//! | `service_manager` | messages to the service manager |
//! | `search` | searches without a server |
//! | `proof` | tests a catalogue, and learns rules from the answers of sites |
//! | `error` | the error that ends a command |

mod engine;
mod error;
mod feed;
mod first_start;
mod listening;
mod maintenance;
mod proof;
mod search;
mod serve;
mod service_manager;
mod services;
mod suppression;
mod webhooks;

pub use engine::check_keys;
pub use error::Failure;
pub use proof::{learn_entries, prove_modules};
pub use search::{SearchEvent, search};
pub use serve::{serve, serve_lines};
