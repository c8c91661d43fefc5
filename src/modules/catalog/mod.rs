//! The catalogue: loads, validates, formats and selects entries.
//!
//! A file is a JSON array of entries ([`Entry`](super::definition::Entry)). The built-in files are in
//! `sites/`, divided by search type and category, in the form that [`format`](mod@format) writes. A file may
//! also be another tool's list: see [`super::import`]. A signed [`Feed`] updates the catalogue of running servers.
//!
//! To add a module, write its entry and run `sightline catalog format` on the file. A new file must also be
//! listed in `builtin`.

mod builtin;
mod choice;
mod feed;
pub mod format;
mod load;
mod read;

pub use choice::{Choice, ChoiceError, MAX_NAMES};
pub use feed::{Feed, FeedReport, FeedVersion};
pub use load::{Catalog, Selection};
pub use read::{CatalogError, MAX_FILE_BYTES, decode, file as read_file};

pub use super::definition::json_schema;
