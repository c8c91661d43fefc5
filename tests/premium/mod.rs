//! Checks in browsers.

mod browser;
mod egress;
mod healing;
mod lab;
