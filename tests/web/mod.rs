//! What people see: pages in a real browser.

mod browser;
mod docs;
mod searches;
