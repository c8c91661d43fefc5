//! Tests of the HTTP server over raw sockets.

mod activation;
pub(crate) mod chance;
mod encoding;
mod expected;
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
mod streams;

mod campaigns {
    mod capacity;
    mod soak;
    mod soak_clients;
}
