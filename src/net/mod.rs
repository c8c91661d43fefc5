//! Sockets out: the guarding resolver and the HTTP prober over ureq.
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
//! | `resolver` | bounded threads around `getaddrinfo`, a small cache |
//! | `dial` | ureq's connector: TCP or proxy, then TLS; phases |
//! | `headers` | what is sent along |
//! | `redirect` | what the next hop is |
//! | `body` | capped, decompressed bodies |
//! | `failure` | ureq's errors in our words |

mod body;
pub mod config;
mod dial;
mod failure;
pub mod guard;
mod headers;
pub mod prober;
mod redirect;
mod resolver;

pub use config::{NetConfig, NetError};
pub use prober::HttpProber;
