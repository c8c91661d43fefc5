//! Pages rendered by Chromium, driven by the Chrome DevTools Protocol.
//!
//! A request with [`Via::Browser`](crate::modules::definition::Via) leases a place of the `pool`, opens a page in an empty
//! context (`cdp`), and checks the page again and again until one of the request's marks matches (`page`,
//! `page_state.js`). The page's HTML is then the answer. All traffic of a page goes through the `egress` proxy of its
//! place. A failure affects only that request: a browser that no longer answers is replaced, and a broken page takes its
//! context with it.
//!
//! | file | holds |
//! |---|---|
//! | `process`, `watchdog.sh` | Chromium: the process and its watchdog, or the operator's |
//! | `pool` | the browser, the places for pages, and the way of a request |
//! | `cdp`, `write_page.js` | a page: its connection, its context, commands and events |
//! | `page`, `page_state.js` | waiting for a page |
//! | `egress` | the egress proxy, through which all traffic of the pages goes |
//!
//! The headers of a request are ignored: a browser sends its own.

mod cdp;
mod egress;
mod page;
mod pool;
mod process;

pub use pool::{EgressProxyAddress, RealBrowsers};
pub use process::BrowserSource;
