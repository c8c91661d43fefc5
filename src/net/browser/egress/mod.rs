//! The egress proxy: an HTTP proxy for all traffic of the browsers, so that no page, redirect, script or sub-resource
//! reaches an address that is not public.
//!
//! Each place for a page has an [`EgressProxy`] on a port of its own, which forwards only during a [`PageLoad`] to a
//! page. It resolves names, checks the addresses with the guard, and connects to exactly those addresses. It supports
//! two requests: `CONNECT host:port` for TLS and WebSockets, and the absolute form for plain HTTP.
//!
//! | file | holds |
//! |---|---|
//! | `proxy` | the port, its threads and limits |
//! | `page_load` | the load of one page: deadline, bytes, refused hosts |
//! | `forward` | forwarding of plain HTTP, one request for each connection |
//! | `tunnel` | relaying of bytes in both directions |
//! | `uplink` | outgoing connections, direct or through the operator's proxy |

mod forward;
mod page_load;
mod proxy;
mod tunnel;
mod uplink;

pub(super) use page_load::PageLoad;
pub(super) use proxy::EgressProxy;
pub(super) use uplink::{OwnPorts, Uplink};
