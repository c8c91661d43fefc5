//! Plain data that the layers below share. A record is described once: the store reads it, the services fill it, and the
//! API, the web app and the reports show it.

pub mod account;
pub mod audit;
pub mod batch;
pub mod coverage;
pub mod credits;
pub mod diff;
pub mod drive;
pub mod entity;
pub mod event;
pub mod family;
pub mod follow;
pub mod health;
pub mod notes;
pub mod page;
pub mod quota;
pub mod refusal;
pub mod run;
pub mod search;
pub mod sign_in;
pub mod start;
pub mod tally;
pub mod watch;
pub mod webhook;
