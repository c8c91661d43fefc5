//! Following leads: accounts are looked up in the run that found them, and other leads start runs of their own. All runs
//! below the first one, its root, are its family.
//!
//! | file | holds |
//! |---|---|
//! | [`plan`] | which leads are followed next, and what became of each |
//! | `advance` | starting the runs whose turn has come |
//! | [`state`] | how far leads are followed, and the runs below a run |
//! | [`service`] | families, as other layers use them |

pub(super) mod advance;
pub mod plan;
pub mod service;
pub mod state;
