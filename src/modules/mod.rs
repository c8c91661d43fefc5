//! Catalogue entries, and the checks that apply them to a query. Nothing in here opens sockets or uses SQL.
//!
//! A **module** (a compiled entry of the catalogue) applied to a **query** is a **check**. A check sends one
//! to three **probes** through a [`probe::Prober`], tests each answer with **matchers**, and ends in an
//! [`outcome::Outcome`]. A hit yields **findings** through **extractors**.
//!
//! | module | contents |
//! |---|---|
//! | [`definition`] | the rule language as serde types: the reference for catalogue authors |
//! | [`catalog`] | loading, validating, formatting and selecting entries |
//! | [`module`], `compile` | an entry that can run, and the mistakes that keep it from running |
//! | [`query`] | search types, validation, normal forms |
//! | [`probe`] | request, response, the `Prober` trait |
//! | [`check`] | a module applied to a query: its probes, outcome and findings |
//! | [`checker`] | the prober, the keys and the caches that all checks share |
//! | [`judge`](mod@judge) | the outcome of the answers: barriers first, then the rules for miss and hit |
//! | [`outcome`] | the outcome of a check, with its evidence and findings |
//! | [`reason`] | the reason of an outcome, one word each |
//! | [`rules_version`] | the version of the rules that led to a conclusion |
//! | [`confidence`] | the confidence of a hit |
//! | [`control`] | the control check: a made-up name that the module must miss, and a known account that it must hit |
//! | [`terms`] | the deadline of a check, and the hosts that it may contact |
//! | [`profile_index`] | the account to which the address of a profile belongs |
//! | [`sample`](mod@sample) | a random text that a regex matches |
//! | [`import`] | conversion of other projects' site lists to entries |
//! | [`kept`] | the judged answers of hits, as evidence |
//! | [`keys`] | the operator's keys for services that need one |
//! | [`learn`] | rules that are learned from the answers of a site |
//! | [`shared_hosts`] | hosts that belong to no one person or organization |
//! | `answer` | the text, JSON and HTML of a response |
//! | `barrier` | the global list of barriers |
//! | `digest` | digests of a body |
//! | `extract` | extractors |
//! | `html` | CSS selectors, matched in one streaming pass |
//! | `identity` | the account that an answer's page belongs to |
//! | `active_check` | the sources of a check, asked in order, and the best verdict |
//! | `near` | suggestions for misspelt names |
//! | `plan` | the requests of probes |
//! | `pointer` | JSON pointers |
//! | `public_suffix` | the Public Suffix List |
//! | `script_json` | JSON from sites and in their scripts |
//! | `tables` | the tables beside the catalogue |
//! | `template` | templates, with escaping by position |
//!
//! # Extending the rule language
//! - **A condition of rules** needs a field and its test in `definition` (`matcher`, `json` or `css`). The simulated
//!   web makes answers for it in `sandbox::pages` (`matcher` or `json`).
//! - **A kind of extractor** needs a variant in `definition::source` and code in `extract::extractor`.
//! - **A transform** needs a variant of [`definition::Transform`] and code in `extract::transform`.
//! - **A barrier** needs a line in `catalog/tables/barriers.json`, and two pages in the tests of `barrier`: one
//!   with the barrier and one that only resembles it.

mod active_check;
pub(crate) mod answer;
mod barrier;
pub mod catalog;
pub mod check;
pub mod checker;
mod compile;
pub mod confidence;
pub mod control;
pub mod definition;
pub(crate) mod digest;
mod extract;
pub(crate) mod html;
mod identity;
pub mod import;
pub mod judge;
pub mod kept;
pub mod keys;
pub mod learn;
pub mod module;
pub(crate) mod near;
pub mod outcome;
pub(crate) mod pattern;
pub(crate) mod plan;
pub(crate) mod pointer;
pub mod probe;
pub mod profile_index;
mod public_suffix;
pub mod query;
pub mod reason;
pub mod rules_version;
pub mod sample;
mod script_json;
pub mod shared_hosts;
pub(crate) mod tables;
pub(crate) mod template;
pub mod terms;
mod text;
pub mod variants;
