//! Webhooks over real sockets: the API, signatures, receivers that misbehave, and processes that are killed.

mod api;
mod hostile;
mod kills;
pub(crate) mod lab;
mod sending;

mod campaigns {
    mod receivers;
}
