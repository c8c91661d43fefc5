//! Sightline: looks up an email address, a username or a domain across many sites, live.
//!
//! Sightline is a synchronous service on threads. A server has a JSON API, a web app and tools for language models (MCP);
//! the command line runs searches without a server. The manual ([`manual`], `src/manual/*.md`) is for users and operators. This page is
//! for readers of the code.
//!
//! # The layers
//! Each module of the crate is a layer. A layer imports only layers above it in this table, and its files do not
//! import each other in circles. `tests/layers.rs` checks both.
//!
//! | layer | holds |
//! |---|---|
//! | [`base`] | clock, ids, secrets, text, counters, log format |
//! | [`manual`] | the pages of the manual, rendered |
//! | [`modules`] | checks: the catalogue and its rule language, matchers, extractors, outcomes; no sockets, no SQL |
//! | [`http`] | the HTTP server: connections, requests, responses, streams; knows nothing about searches |
//! | [`model`] | plain data that the layers below share: runs, results, batches, watches, webhooks; why something is refused |
//! | [`net`] | outgoing requests: implements `modules`' `Prober` with HTTP and with browsers |
//! | [`store`] | the database: one [`store::Store`], for SQLite and PostgreSQL |
//! | [`account`] | accounts, keys, sessions, plans, credits, rate limits |
//! | [`runs`] | runs: their lifecycle, driver threads, events, scheduling, health, leases |
//! | [`watches`] | watches: searches that are repeated, and what changes between their runs |
//! | [`webhooks`] | webhooks: events, signatures, deliveries and their threads |
//! | [`report`] | a run as a file in eight formats, and the export of an account |
//! | [`service`] | the use cases that the API, the web app and MCP share |
//! | [`api`] | the JSON API with its OpenAPI document and its documentation pages, and MCP |
//! | [`web`] | the web app |
//! | [`admin`] | metrics, liveness and readiness |
//! | [`config`] | flags and environment variables, typed and checked |
//! | [`sandbox`] | a simulated web for tests and demos |
//! | [`app`] | the composition root, which builds and connects all parts |
//! | [`cli`] | the commands |
//!
//! # The way of a search
//! 1. [`http`] reads the request and passes it to a worker thread; [`api`] finds the route.
//! 2. [`account`] finds the account of the key and counts the request for its rate limits.
//! 3. `api` decodes and validates the body: the query, and the choice of modules.
//! 4. [`runs`] starts the run. One transaction charges the credit and creates the run.
//! 5. A driver thread takes the run. It sends checks to a shared pool of workers, within the run's own limit and the
//!    limit of each host.
//! 6. A check lets [`modules`] build its requests and [`net`] send them. Rules decide the outcome from the answers.
//!    Extractors turn a hit into results.
//! 7. The driver numbers and stores the results. Then it publishes them as events.
//! 8. Readers (a stream, a waiting request, a poll) read the events from memory while the run is live on this instance,
//!    and from [`store`] otherwise.
//!
//! Results are stored before anybody can see them, so a restart or another instance continues with the same results.
//!
//! # Where to begin
//! The documentation of each layer lists its files and how to add to it. The page `src/manual/architecture.md` has the
//! threads with their limits, and recipes for common changes.

pub mod account;
pub mod admin;
pub mod api;
pub mod app;
pub mod base;
pub mod cli;
pub mod config;
pub mod http;
pub mod manual;
pub mod model;
pub mod modules;
pub mod net;
pub mod report;
pub mod runs;
pub mod sandbox;
pub mod service;
pub mod store;
pub mod watches;
pub mod web;
pub mod webhooks;
