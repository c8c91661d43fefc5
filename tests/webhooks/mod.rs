//! Webhooks over real sockets: the API, signatures, and receivers that misbehave.

mod hostile;
pub(crate) mod lab;
mod sending;

mod campaigns {
    mod receivers;
}
