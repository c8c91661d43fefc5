//! The composition root: builds the parts from the configuration and connects them.
//!
//! | file | holds |
//! |---|---|
//! | `parts` | catalogue, prober, checker and runs, which `serve` and `search` share |
//! | `browsers` | the browsers of the configuration |
//! | `bundles` | the catalogue bundle in use, watched for changes |
//! | `bundle_source` | reads a bundle from a file or from the web |
//! | `database` | opens the database, and waits for a PostgreSQL server |
//! | `public_handler` | dispatches requests to the API and the web app |
//! | `instance` | all parts of a server |
//! | `listening` | the public listening socket |
//! | `serve` | runs a server until it is told to stop |
//! | `shutdown` | stops a server in bounded time |
//! | `search` | one search without a server |
//! | `mcp` | the tools of a server over standard input and output |
//! | `proof` | tests a catalogue against the real or the simulated web |
//! | `learning` | learns rules from the answers of sites |
//! | `keys` | finds keys that no module uses |
//! | `first_start` | creates the first account, its key and its set-up link |
//! | `suppression` | reads and watches the file of identifiers that are never searched |
//! | `webhooks` | the key for the secrets of webhooks, and the threads that send deliveries |
//! | `admin` | the listener for metrics and probes |
//! | `service_manager` | messages to the service manager |
//! | `subscriber` | passes notifications of other instances to the parts |
//! | `maintenance` | periodic work |
//! | `error` | the error that ends a command |

mod admin;
mod browsers;
mod bundle_source;
mod bundles;
mod database;
mod error;
mod first_start;
mod instance;
mod keys;
mod learning;
mod listening;
mod maintenance;
mod mcp;
mod parts;
mod proof;
mod public_handler;
mod search;
mod serve;
mod service_manager;
mod shutdown;
mod subscriber;
mod suppression;
mod webhooks;

pub use bundle_source::read_bundle;
pub use error::AppError;
pub use keys::check as check_keys;
pub use learning::learn_entries;
pub use mcp::serve_lines;
pub use proof::{ProofRequest, prove_modules};
pub use search::{ListEvent, SearchEvent, SearchRequest, Searched, account_in, search, search_all};
pub use serve::serve;
