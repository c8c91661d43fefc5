//! Sightline: looks up an email address, a username or a domain across many sites, live.
//!
//! # A tour of the house
//! Imports go downwards only; `tests/layers.rs` guards that.
//!
//! | floor | room | does |
//! |---|---|---|
//! | 0 | [`base`] | bricks: clock, ids, secrets, counts, log |
//! | 1 | [`modules`] | WHAT a check is: rule language, matchers, outcomes |
//! | 1 | [`account`] | WHO may do how much: plans, keys, credits |
//! | 2 | [`runs`] | DOING it: runs, events, driver threads |
//! | 3 | [`store`] | SQL: implements the `Ledger` and the `Journal` |
//! | 3 | [`net`] | sockets out: implements the `Prober` |
//! | 3 | [`http`] | sockets in: knows no product |
//! | 3 | [`report`] | a run as a file, in four forms; an account as one |
//! | 4 | [`api`] | the JSON contract, and its documentation in a browser |
//! | 4 | [`web`] | the web app, for people in a browser |
//! | 5 | [`admin`] | metrics and probes, for operators |
//! | 5 | [`sandbox`] | a simulated web for tests and demos |
//! | 6 | [`app`] | the composition root: parts put together |
//! | 6 | [`config`] | flags and environment, typed |
//! | 7 | [`cli`] | commands |

pub mod account;
pub mod admin;
pub mod api;
pub mod app;
pub mod base;
pub mod cli;
pub mod config;
pub mod http;
pub mod modules;
pub mod net;
pub mod report;
pub mod runs;
pub mod sandbox;
pub mod store;
pub mod web;
