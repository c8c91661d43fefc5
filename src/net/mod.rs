//! Outgoing requests: the resolver, the address guard, the HTTP prober on ureq, and the browser prober.
//!
//! For each hop of a request [`prober`] resolves the host, checks the addresses with [`guard`], and gives exactly those
//! addresses to ureq, which connects to no others, or uses an idle connection to them. A redirect starts the next hop.
//! Any other answer is read up to the request's limit.
//!
//! | file | holds |
//! |---|---|
//! | [`config`] | the configuration, the outbound proxy |
//! | [`prober`] | the main loop: hops, cookies, timing |
//! | [`guard`] | the addresses that requests may go to |
//! | `approve` | resolver and guard together |
//! | `resolver` | `getaddrinfo` on bounded threads, with a cache |
//! | `allowance` | a limit on the bytes that a request receives |
//! | `client` | a ureq agent with one connection |
//! | `idle` | idle connections |
//! | `dial` | ureq's connector: TCP or proxy, then TLS |
//! | `tls` | certificate authorities, TLS handshakes and sessions |
//! | `transport`, `buffers` | a connection as ureq sees it |
//! | `progress` | how far a request has come on its connection |
//! | `headers` | request headers |
//! | `redirect` | redirects |
//! | `body` | decompressed bodies of limited size |
//! | `failure` | conversion of errors |
//! | [`browser`] | pages rendered by real browsers, and the egress proxy for their traffic |
//! | [`by_transport`] | chooses between HTTP and the browser |
//! | `whois` | WHOIS queries |

mod allowance;
mod approve;
mod body;
pub mod browser;
mod buffers;
pub mod by_transport;
mod client;
pub mod config;
mod dial;
mod failure;
pub mod guard;
mod headers;
mod idle;
pub mod prober;
mod progress;
mod redirect;
mod resolver;
mod tls;
mod transport;
mod whois;

pub use browser::{BrowserConfig, BrowserError, BrowserLoad, RealBrowsers};
pub use by_transport::ByTransport;
pub use config::{NetConfig, NetError};
pub use prober::HttpProber;
