//! The simulated web: black-box, through the real engine. Every built-in module is
//! played by `catalog check --sandbox --faults`: see `tests/catalog/proof.rs`.

mod drift;
mod drifts;
mod families;
mod lab;
mod language;
mod people;
mod traffic;
mod truth;
