//! The listening socket. On Linux accepted connections inherit all of its options.
//!
//! Fault of tiny_http: it sets no option on its sockets, neither `TCP_NODELAY` nor a timeout. Cure: the options are set
//! on the listening socket. Tests: `connections_inherit_every_option`, `a_silent_connection_is_closed`,
//! `a_stream_reader_that_takes_nothing_is_cut_off`, `a_stream_to_a_reader_that_vanished_ends`.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use super::config::{BACKLOG, SEND_BUFFER_BYTES, ServerConfig};

/// Opens the listening socket.
pub(super) fn open(config: &ServerConfig) -> io::Result<TcpListener> {
    let address = config.listen;
    let named = |error: Errno| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).map_err(named)?;
    // Otherwise a restart would have to wait until the connections of the previous process time out.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        // `[::]` means all IPv4 and IPv6 addresses, regardless of the system's default.
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    bind(&socket, &address).map_err(named)?;
    // The options are set before `listen`, because the scale of the TCP window is negotiated when a connection
    // begins.
    set_options(&socket, config)?;
    listen(&socket, BACKLOG).map_err(named)?;
    Ok(socket.into())
}

fn set_options(socket: &OwnedFd, config: &ServerConfig) -> Result<(), Errno> {
    // Otherwise an answer in two writes waits for the peer's delayed acknowledgement: 40 ms.
    sockopt::set_tcp_nodelay(socket, true)?;
    // It holds for `accept()`, too, which the connections of `accept::knock` keep from waiting so long.
    sockopt::set_socket_timeout(socket, Timeout::Recv, Some(config.idle_timeout))?;
    sockopt::set_socket_send_buffer_size(socket, SEND_BUFFER_BYTES)?;
    // A peer that acknowledges data but takes none of it is timed out, too (from Linux 5.11 on).
    let peer_timeout = u32::try_from(config.peer_timeout.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(socket, peer_timeout)?;
    // The number of keepalive probes need not be set: the user timeout takes precedence.
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, config.peer_timeout)?;
    sockopt::set_tcp_keepintvl(socket, (config.peer_timeout / 4).max(Duration::from_secs(1)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

    use socket2::SockRef;

    use super::*;

    #[test]
    fn connections_inherit_every_option() {
        let idle_timeout = Duration::from_secs(7);
        let config =
            ServerConfig { listen: ([127, 0, 0, 1], 0).into(), idle_timeout, ..ServerConfig::default() };
        let listener = open(&config).unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let socket = SockRef::from(&accepted);
        assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
        assert_eq!(socket.tcp_keepalive_time().unwrap(), config.peer_timeout);
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(config.peer_timeout));
        assert_eq!(socket.read_timeout().unwrap(), Some(idle_timeout));
        assert_eq!(socket.send_buffer_size().unwrap(), SEND_BUFFER_BYTES * 2);
    }
}
