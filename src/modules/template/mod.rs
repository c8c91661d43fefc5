//! Templates, which are parsed once and filled with values. Every value is escaped for its place.
//!
//! See [`super::definition`] for the syntax of templates.

mod compiled;
mod escape;
mod filter;
mod host;
mod optional;
mod parse;
mod place;
mod slot;

pub(crate) use compiled::Template;
pub(crate) use host::Host;
pub(crate) use place::{FillError, Kind};
pub(crate) use slot::{Saved, Values, Variable};

#[cfg(test)]
mod tests;
