//! Sightline: the binary.
fn main() {}
