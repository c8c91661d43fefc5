//! WHAT a check is. Pure: no sockets, no SQL, no clock of its own.
//!
//! A **module** (an entry of the catalogue, data) applied to a **query** is a **check**. A check sends
//! one to three **probes** through a [`probe::Prober`], reads each answer with **matchers**, and ends in
//! an [`outcome::Outcome`]; a hit yields **findings** through **extractors**.
//!
//! | file | holds |
//! |---|---|
//! | [`definition`] | the rule language as serde types: the reference for catalogue authors |
//! | [`catalog`] | loading, validating, formatting, choosing entries |
//! | [`module`] | a compiled entry |
//! | [`query`] | search types, validation, normal forms |
//! | [`probe`] | request, response, the `Prober` trait |
//! | [`check`] | a module applied to a query: prepare, send, judge, extract |
//! | [`judge`](mod@judge) | barrier, then miss and hit, then unknown |
//! | [`outcome`] | how a check ended, with its evidence; findings |
//! | [`confidence`] | how sure a hit is |
//! | [`control`] | the made-up name that a module must miss |
//! | [`terms`] | how long a check may take, and whom it must leave alone |
//! | [`sample`](mod@sample) | a text that a regex matches |
//! | [`import`] | other people's lists, made into entries |
//! | [`keys`] | the operator's keys for services that want one |
//! | [`traits`] | what can be told of a module without asking it |
//! | [`mistake`] | what is wrong with an entry |
//!
//! Inside: `document` (JSON that says no name twice unseen), `identity` (whose page an answer is),
//! `template` (escaping by place), `answer` (text, JSON, HTML of a response), `html` (selectors in one
//! streaming pass), `script_json` (JSON in scripts), `json_size` (what JSON costs), `digest`, `pointer`, `rule` (matchers), `extract`
//! (extractors), `barrier` (the global list), `plan` (a compiled probe), `inquiry` (its probes sent in
//! order), `sender` (cookies, deadline, one retry), [`feed`] (lists that all checks share), `pages`
//! (further pages of a hit), `render` (what a browser waits for), `memo` (found out once, shared), `scope` and `lint` (what makes no sense).
//!
//! # To add
//! - **a condition** to rules: its field in [`definition`], its line in `catalog::shape`, its test in
//!   `rule::matcher` (or `rule::json`), its contradictions in `rule::contradiction`.
//! - **an extractor kind**: `extract::source`, and the table at the top of [`definition`].
//! - **a transform**: [`definition::Transform`], `extract::transform`, `catalog::shape`.
//! - **a wall**: one line in `barrier::list`, a page and one that only looks like it in its tests.

mod answer;
mod barrier;
pub mod catalog;
pub mod check;
pub mod confidence;
pub mod control;
pub mod definition;
pub(crate) mod digest;
mod document;
mod extract;
pub mod feed;
mod html;
mod identity;
pub mod import;
mod inquiry;
mod json_size;
pub mod judge;
pub mod keys;
mod lint;
mod memo;
pub mod mistake;
pub mod module;
pub mod outcome;
mod pages;
pub(crate) mod pattern;
mod plan;
mod pointer;
pub mod probe;
pub mod query;
mod render;
mod rule;
pub mod sample;
mod scope;
mod script_json;
mod sender;
pub(crate) mod template;
pub mod terms;
mod text;
pub mod traits;
