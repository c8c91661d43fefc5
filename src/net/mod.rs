//! Outgoing requests: the resolver, the address guard, the HTTP prober on ureq, and the browser prober.
//!
//! For each hop of a request [`prober`] resolves the host, checks the addresses with [`guard`], and connects to exactly
//! those addresses, or uses an idle connection to them. ureq sends the request over this connection and reads the
//! answer, up to the request's limit. A redirect starts the next hop.
//!
//! | file | holds |
//! |---|---|
//! | [`config`] | the configuration, the outbound proxy |
//! | [`prober`] | the main loop: hops, cookies, timing |
//! | [`guard`] | the addresses that requests may go to |
//! | `approve` | resolver and guard together |
//! | `resolver` | `getaddrinfo` on bounded threads, with a cache |
//! | `client` | a ureq agent with one connection |
//! | `idle` | idle connections |
//! | `dial`, `socks` | TCP connections, direct or through the outbound proxy |
//! | `tls` | certificate authorities, TLS handshakes and sessions |
//! | `transport`, `buffers` | a connection as ureq sees it |
//! | `progress` | how far a request has come on its connection, and how many bytes it may receive |
//! | `head` | heads of HTTP messages, as the egress proxy reads them |
//! | `headers` | request headers |
//! | `redirect` | redirects |
//! | `body` | decompressed bodies of limited size |
//! | `failure` | conversion of errors |
//! | [`browser`] | pages rendered by Chromium, and the egress proxy for their traffic |
//! | `whois` | WHOIS queries |

mod approve;
mod body;
pub mod browser;
mod buffers;
mod client;
pub mod config;
mod dial;
mod failure;
pub mod guard;
mod head;
mod headers;
mod idle;
pub mod prober;
mod progress;
mod redirect;
mod resolver;
mod socks;
mod tls;
mod transport;
mod whois;

pub use browser::{BrowserConfig, BrowserError, RealBrowsers};
pub use config::{NetConfig, OutboundProxy, ProxyError};
pub use prober::HttpProber;
