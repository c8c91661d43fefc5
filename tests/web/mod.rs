//! What people see: pages in a real browser.

mod browser;
mod chromium;
mod docs;
mod searches;
