//! The listening socket. On Linux accepted connections inherit all of its options.
//!
//! Fault of tiny_http: it sets no option on its sockets, neither `TCP_NODELAY` nor a timeout. Cure: the options are set
//! on the listening socket. Tests: `connections_inherit_every_option`, `a_silent_connection_is_closed`,
//! `a_stream_reader_that_takes_nothing_is_cut_off`, `a_stream_to_a_reader_that_vanished_ends`.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use super::config::{BACKLOG, SEND_BUFFER_BYTES, ServerConfig};

/// Opens the listening socket.
pub(super) fn open(config: &ServerConfig) -> io::Result<TcpListener> {
    let address = config.listen;
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(named)?;
    // Otherwise a restart would have to wait until the connections of the previous process time out.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // `[::]` means all IPv4 and IPv6 addresses, regardless of the system's default.
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into()).map_err(named)?;
    // The options are set before `listen`, because the scale of the TCP window is negotiated when a connection
    // begins.
    set_options(&SockRef::from(&socket), config)?;
    socket.listen(BACKLOG).map_err(named)?;
    Ok(socket.into())
}

fn set_options(socket: &SockRef<'_>, config: &ServerConfig) -> io::Result<()> {
    // Otherwise an answer in two writes waits for the peer's delayed acknowledgement: 40 ms.
    socket.set_tcp_nodelay(true)?;
    // It holds for `accept()`, too, which the connections of `accept::knock` keep from waiting so long.
    socket.set_read_timeout(Some(config.idle_timeout))?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    // A peer that acknowledges data but takes none of it is timed out, too (from Linux 5.11 on).
    socket.set_tcp_user_timeout(Some(config.peer_timeout))?;
    // The number of keepalive probes need not be set: the user timeout takes precedence.
    let every = (config.peer_timeout / 4).max(Duration::from_secs(1));
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(config.peer_timeout).with_interval(every))
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;

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
