//! Tests of the HTTP server over raw sockets.

mod activation;
mod capacity;
pub(crate) mod chance;
mod encoding;
mod expected;
mod framing;
mod fuzz;
mod fuzz_model;
mod hostile;
mod hostile_cases;
mod kit;
mod load;
mod plain;
mod proxy;
mod recovery;
mod shutdown;
mod slow;
mod soak;
mod soak_clients;
mod streams;
