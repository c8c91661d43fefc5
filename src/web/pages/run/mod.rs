//! The page of a run, at one address while it runs and after it has ended.
//!
//! | file | holds |
//! |---|---|
//! | [`page`](mod@page) | the page as the server renders it |
//! | [`cards`] | results as cards |
//! | [`coverage`] | the modules by outcome |
//! | [`events`] | the data for the page's script |
//! | [`export`] | the run as a file |
//! | [`graph`] | what the results point to |
//! | [`diff`] | what changed since another run |
//! | [`family`] | the searches for leads, as a tree |
//! | [`follow`] | follows one lead |
//! | [`leads`] | leads in a table and on cards |
//! | [`lookup`] | finds the run of an address |
//! | [`people`] | the people of the run as cards |
//! | [`thumbnail`] | the profile picture of a result |
//! | [`stop`] | stops the run, or asks again what gave no answer |
//! | [`again`] | starts the same search again |
//! | [`notes`] | what the owner notes about the run and its results |
//! | [`delete`] | deletes the run |

pub(in crate::web) mod again;
mod cards;
mod coverage;
pub(in crate::web) mod delete;
pub(in crate::web) mod diff;
pub(in crate::web) mod events;
pub(in crate::web) mod export;
pub(in crate::web) mod family;
pub(in crate::web) mod follow;
pub(in crate::web) mod graph;
pub(in crate::web) mod leads;
mod lookup;
pub(in crate::web) mod notes;
pub(in crate::web) mod page;
mod people;
pub(in crate::web) mod stop;
pub(in crate::web) mod thumbnail;
