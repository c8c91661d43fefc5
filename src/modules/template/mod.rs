//! Templates: texts with variables, whose values are escaped for their place.
//!
//! | file | contents |
//! |---|---|
//! | `text` | parsing and filling |
//! | `filter` | the filters of variables |
//! | `host` | the host of a URL |

mod filter;
mod host;
mod text;

pub(crate) use host::Host;
pub(crate) use text::{FillError, HeaderTemplate, Kind, Saved, Template, UrlTemplate, Values, Variable};

#[cfg(test)]
mod tests;
