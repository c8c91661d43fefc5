//! The egress guard: an HTTP proxy of ours through which all traffic of a browser goes, so that no page,
//! redirect, script or sub-resource reaches an address that may not be asked.
//!
//! Each browser session has a [`Gate`], a port of its own, that is open only while a page is looked at (a
//! [`Visit`]). Names are resolved here, their addresses held against the guard, and exactly those connected
//! to. It knows two requests: `CONNECT host:port` (TLS, WebSockets), and the absolute form for plain HTTP.
//!
//! | file | holds |
//! |---|---|
//! | `gate` | the port, its threads and limits |
//! | `visit` | what belongs to one page: deadline, bytes, what was refused |
//! | `head` | heads of requests and answers |
//! | `forward` | plain HTTP, one request a connection |
//! | `tunnel` | bytes both ways |
//! | `uplink` | connections out: direct, or through the operator's proxy |
//! | `socks` | how a SOCKS5 proxy is asked |
//! | `played` | answers of a simulated web |

mod forward;
mod gate;
mod head;
mod played;
mod socks;
mod tunnel;
mod uplink;
mod visit;

pub(super) use gate::{Clients, Gate, Way};
pub(super) use played::{real_of, staged};
pub(super) use uplink::{OwnPorts, Uplink};
pub(super) use visit::Visit;
