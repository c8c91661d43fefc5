//! Converts errors of ureq and of the system to [`ProbeError`], which distinguishes faults of the site from faults of
//! this machine.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rustix::io::Errno;
use ureq::Error;

use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;

/// Converts an error of ureq that arose in `phase`.
pub(super) fn probe_error(error: Error, phase: Reason) -> ProbeError {
    match error {
        Error::Timeout(_) => ProbeError::late(phase),
        Error::Io(e) => io_error(&e, phase),
        Error::Other(error) if error.is::<ProbeError>() => error
            .downcast::<ProbeError>()
            .map_or_else(|other| Reason::Protocol.because(other.to_string()), |it| *it),
        _ if phase == Reason::TimeoutBody => Reason::Body.because(error.to_string()),
        // The texts of these errors contain the URL.
        Error::BadUri(_) | Error::Http(_) => {
            Reason::Protocol.because("the request cannot be sent: invalid URL or header")
        }
        _ => Reason::Protocol.because(error.to_string()),
    }
}

/// Returns the error after connecting to all of these addresses has failed. `error` is the last failure.
pub(super) fn failed_connection(error: &io::Error, addresses: &[SocketAddr]) -> ProbeError {
    let fault = match Errno::from_io_error(error) {
        Some(Errno::NETUNREACH | Errno::NETDOWN | Errno::ADDRNOTAVAIL)
            // Another address may have been reached and have refused the connection.
            if !addresses.iter().any(has_route) =>
        {
            Reason::NoNetwork
        }
        // There is no free local port or, with IPv6, no local address.
        Some(Errno::ADDRNOTAVAIL) if addresses.iter().all(SocketAddr::is_ipv4) => Reason::LocalResources,
        _ => return io_error(error, Reason::TimeoutConnect),
    };
    fault.because(error.to_string())
}

/// Returns a local fault if the error means that this machine is out of descriptors or memory.
pub(super) fn out_of_resources(error: &io::Error) -> Option<ProbeError> {
    let is_ours =
        matches!(Errno::from_io_error(error)?, Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS);
    is_ours.then(|| Reason::LocalResources.because(error.to_string()))
}

/// Returns whether a read, a write or a connection has timed out.
pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

fn io_error(error: &io::Error, phase: Reason) -> ProbeError {
    if is_timeout(error) {
        return ProbeError::late(phase);
    }
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return Reason::Tls.because(tls.to_string());
    }
    match phase {
        Reason::TimeoutBody => Reason::Body.because(error.to_string()),
        _ => out_of_resources(error).unwrap_or_else(|| Reason::Connect.because(error.to_string())),
    }
}

/// Returns whether this machine has a route to that address. No packet is sent.
fn has_route(address: &SocketAddr) -> bool {
    let any = match address {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    UdpSocket::bind(any).and_then(|socket| socket.connect(address)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(errno: Errno) -> io::Error {
        errno.into()
    }

    #[test]
    fn running_out_of_resources_is_not_a_fault_of_the_site() {
        let reason = |errno| probe_error(Error::Io(error(errno)), Reason::TimeoutConnect).reason.as_str();
        for errno in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS] {
            assert_eq!(reason(errno), "local_resources", "{errno}");
        }
        for errno in [Errno::CONNREFUSED, Errno::CONNRESET, Errno::HOSTUNREACH] {
            assert_eq!(reason(errno), "connect", "{errno}");
        }
    }

    #[test]
    fn without_a_route_to_any_address_there_is_no_network() {
        let reachable = SocketAddr::from(([127, 0, 0, 1], 9));
        // Without `SO_BROADCAST` the broadcast address is unreachable.
        let unreachable = SocketAddr::from(([255, 255, 255, 255], 9));
        let reason =
            |errno, addresses: &[SocketAddr]| failed_connection(&error(errno), addresses).reason.as_str();
        for errno in [Errno::NETUNREACH, Errno::NETDOWN] {
            assert_eq!(reason(errno, &[unreachable]), "no_network", "{errno}");
            assert_eq!(reason(errno, &[reachable, unreachable]), "connect", "{errno}");
        }
        assert_eq!(reason(Errno::ADDRNOTAVAIL, &[reachable]), "local_resources");
        assert_eq!(reason(Errno::CONNREFUSED, &[unreachable]), "connect");
    }
}
