//! Sockets out: the guarding resolver, the HTTP prober over ureq, and the browsers.
//!
//! A hop of a request goes this way: [`prober`] asks the resolver for addresses, holds them against the
//! [`guard`], and hands exactly those to ureq, which connects to nothing else. The answer's head comes back;
//! a redirect starts the next hop, anything else is read up to the request's limit.
//!
//! | file | holds |
//! |---|---|
//! | [`config`] | settings, the outbound proxy |
//! | [`prober`] | the main loop: hops, cookies, timing |
//! | [`guard`] | which addresses may be asked |
//! | `approve` | resolver and guard together |
//! | `resolver` | bounded threads around `getaddrinfo`, a small cache |
//! | `dial` | ureq's connector: TCP or proxy, then TLS; phases |
//! | `headers` | what is sent along |
//! | `redirect` | what the next hop is |
//! | `body` | capped, decompressed bodies |
//! | `failure` | ureq's errors in our words |
//! | [`browser`] | pages rendered by real browsers, and the guard of their traffic |
//! | [`carrier`] | who carries which request |

mod approve;
mod body;
pub mod browser;
pub mod carrier;
pub mod config;
mod dial;
mod failure;
pub mod guard;
mod headers;
pub mod prober;
mod redirect;
mod resolver;

pub use browser::{BrowserConfig, BrowserError, BrowserLoad, RealBrowsers};
pub use carrier::Carriers;
pub use config::{NetConfig, NetError};
pub use prober::HttpProber;
