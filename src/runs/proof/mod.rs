//! Proofs of a catalogue. Every module is queried for its known names, which must hit, and for made-up names, which
//! must miss. On a simulated web it is also queried for names on failing sites, where it must neither hit nor miss.
//!
//! | file | holds |
//! |---|---|
//! | [`question`] | the queries for a module and their expected outcomes |
//! | [`verdict`] | the verdict on a module's answers |
//! | `options` | the settings of a proof, and its interruption |
//! | `prover` | the execution of the checks: many modules at once, within the limits of hosts |
//!
//! To add a failure, add its answer to the sandbox and its line to `app::proof`.

mod options;
mod prover;
pub mod question;
pub mod verdict;

pub use options::{ProofOptions, ProofProgress, SimulatedFault, Stop};
pub use prover::prove;
pub use verdict::{ModuleProof, Verdict};
