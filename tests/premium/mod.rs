//! Premium searches: checks in browsers beside all others, what they cost, and who may make them; the browsers
//! themselves, and the egress proxy through which they reach the web.

mod browser;
mod egress;
mod egress_proxy;
mod lab;
mod real;
mod recovery;
mod runs;
mod simulated;
