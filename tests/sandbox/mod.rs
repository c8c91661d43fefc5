//! The simulated web: black-box, through the real engine and the real prober.

mod builtin;
mod lab;
mod language;
mod traffic;
