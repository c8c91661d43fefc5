//! The API, black-box: the real binary over real sockets, on both databases.

mod bad_input;
mod credits;
mod docs;
mod evidence;
mod headers;
mod health;
mod leads;
mod made_up;
mod mail;
mod merging;
pub(crate) mod openapi;
mod streams;
mod transcripts;
