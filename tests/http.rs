//! Tests of the HTTP server over raw sockets.

mod encoding;
mod fuzz;
mod fuzz_model;
mod hostile;
mod hostile_cases;
pub(crate) mod kit;
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
}
