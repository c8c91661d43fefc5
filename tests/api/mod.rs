//! The contract, black-box: the real binary over real sockets, on both databases.

mod bad_input;
mod credits;
mod export;
mod headers;
mod health;
mod limits;
mod merging;
mod modes;
mod reading;
mod selection;
mod streams;
