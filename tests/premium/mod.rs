//! Premium searches: checks in browsers beside all others, what they cost, and who may make them.

mod credits;
mod real;
mod runs;
