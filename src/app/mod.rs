//! The composition root: turns the configuration into parts, and puts them together.
//!
//! | file | holds |
//! |---|---|
//! | `parts` | catalogue, prober, checker, runs: what serving and searching share |
//! | `browsers` | browsers, as they are configured |
//! | `front` | the API and the web app, behind one server |
//! | `serve` | the server, from its start to its end |
//! | `search` | one search without a server |
//! | `proof` | a catalogue proved |
//! | `keys` | keys that no module asks for |
//! | `welcome` | the first account, its key and its set-up link |
//! | `suppression` | the file of what is never searched |
//! | `admin` | the listener for metrics and probes |
//! | `notify` | what the service manager is told |
//! | `ears` | what other instances tell, passed on to the parts that want to know |
//! | `housekeeper` | what has to be done every now and then |

mod admin;
mod browsers;
mod ears;
mod front;
mod housekeeper;
mod keys;
mod notify;
mod parts;
mod proof;
mod search;
mod serve;
mod suppression;
mod welcome;

use std::fmt;

pub use keys::check as check_keys;
pub use proof::{ProofRequest, prove_modules};
pub use search::{SearchEvent, SearchRequest, search};
pub use serve::serve;

/// Why a command could not be carried out. The text never holds a secret.
#[derive(Debug)]
pub enum AppError {
    /// What was configured cannot be used: a catalogue file with mistakes, say.
    Config(String),
    /// It went wrong: the address is taken, the store is not reachable, …
    Failed(String),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for AppError {}
