//! Premium searches: checks in browsers beside all others, what they cost, and who may make them; the browsers
//! themselves, and the guard that they reach the web through.

mod browser;
mod credits;
mod egress;
mod firefox;
mod guard;
mod healing;
mod lab;
mod played;
mod real;
mod runs;
