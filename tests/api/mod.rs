//! The API, black-box: the real binary over real sockets, on both databases.

mod bad_input;
mod credits;
mod docs;
mod export;
mod following;
mod headers;
mod health;
mod leads;
mod made_up;
mod mail;
mod merging;
mod modes;
mod openapi;
mod reading;
mod selection;
mod stopping;
mod streams;
mod transcripts;
