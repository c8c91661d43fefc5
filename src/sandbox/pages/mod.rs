//! Answers that make a module hit or miss, made from its own rules.
//!
//! A **plan** defines an answer: the rule of `hit` or `miss` that it fulfils, the probe, the status and the form of
//! the body. A **draft** is such an answer under construction. A **trial** runs plans through the real engine until one has the intended outcome. The answers to every query
//! are made from that plan.
//!
//! | file | holds |
//! |---|---|
//! | `site` | the site of a module: its plans, their trials, and its answers |
//! | `plan` | plans, the most natural first, and the answers that they make |
//! | `matcher` | drafts that fulfil a rule |
//! | `json` | JSON: documents that fulfil conditions, pointers, pieces of text |
//! | `draft` | an answer, its parts, and a page |
//! | `values`, `sample`, `dns` | parts for extractors, plausible values |
//! | `context` | module and query: filled templates, texts sampled from patterns |

mod context;
mod dns;
mod draft;
mod json;
mod matcher;
mod plan;
mod sample;
mod site;
mod values;

pub use site::Problem;
pub(super) use site::Site;
