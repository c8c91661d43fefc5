//! Following leads: accounts are looked up in the run that found them, and other leads start runs of their own. All runs
//! below the first one, its root, are its family.
//!
//! | file | holds |
//! |---|---|
//! | [`plan`] | which leads are followed next |
//! | `advance` | starting the runs whose turn has come |
//! | `start` | starting one run |
//! | `view` | what became of each lead |
//! | [`frames`] | the frames of a stream about followed leads |
//! | [`state`] | how far leads are followed |
//! | [`reader`] | reading a family frame by frame |
//! | [`tree`] | the runs below a run, as a tree |
//! | [`service`] | families, as other layers use them |

pub(super) mod advance;
pub mod frames;
pub mod plan;
pub mod reader;
pub mod service;
mod start;
pub mod state;
pub mod tree;
mod view;
