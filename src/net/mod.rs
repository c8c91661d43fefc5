//! Outgoing requests: the resolver, the address guard, the HTTP prober on ureq, and the browser prober.
//!
//! [`prober`] sends each hop of a request with a ureq agent, and follows redirects. For a new connection `wire` resolves
//! the host, checks the addresses with [`guard`], and connects to exactly those addresses. An idle connection of
//! the agent's pool leads to addresses that were checked when it was made.
//!
//! | file | holds |
//! |---|---|
//! | [`config`] | the configuration, the outbound proxy |
//! | [`prober`] | the main loop: hops, cookies, timing |
//! | [`guard`] | the addresses that requests may go to |
//! | `wire` | resolver and guard together: connections to approved addresses, and TLS |
//! | `resolver` | `getaddrinfo` on bounded threads, with a cache |
//! | `dial`, `socks` | TCP connections, and the protocols of proxies |
//! | `connection` | the connections of ureq's agents, and the limits of the request that they serve |
//! | `head` | heads of answers, as browsers read them |
//! | `headers` | request headers |
//! | `redirect` | redirects |
//! | `body` | decompressed bodies of limited size |
//! | `failure` | conversion of errors |
//! | [`browser`] | pages rendered by Chromium, and the egress proxy for their traffic |
//! | `whois` | WHOIS queries |

mod body;
pub mod browser;
pub mod config;
mod connection;
mod dial;
mod failure;
pub mod guard;
mod head;
mod headers;
pub mod prober;
mod redirect;
mod resolver;
mod socks;
mod whois;
mod wire;

pub use browser::RealBrowsers;
pub use config::{NetConfig, OutboundProxy};
pub use prober::HttpProber;
