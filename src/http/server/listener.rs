//! The listening socket. On Linux accepted connections inherit all of its options.
//!
//! Fault of tiny_http: it sets no option on its sockets, neither `TCP_NODELAY` nor a timeout. Workaround: the options
//! are set on the listening socket. Test: `connections_inherit_every_option`.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use listenfd::ListenFd;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::http::config::{
    BACKLOG, KEEPALIVE_PROBES, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES, ServerConfig, WRITE_WAIT,
};

/// Opens the listening socket.
pub(crate) fn open(config: &ServerConfig) -> io::Result<TcpListener> {
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

/// Returns the listening socket that the service manager has opened (`LISTEN_FDS`), if there is one.
///
/// # Errors
/// Returns an error if the descriptor is not a TCP socket.
pub fn activated_listener() -> io::Result<Option<TcpListener>> {
    ListenFd::from_env().take_tcp_listener(0).map_err(|error| {
        let text = format!("LISTEN_FDS: {error}; one listening TCP socket is allowed");
        io::Error::new(error.kind(), text)
    })
}

/// Sets the options of the server on a listening socket that another process has opened.
pub(crate) fn adopt(listener: &TcpListener, config: &ServerConfig) -> io::Result<()> {
    let socket = SockRef::from(listener);
    if !socket.is_listener()? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the inherited socket does not listen"));
    }
    listener.set_nonblocking(false)?;
    set_options(&socket, config)
}

fn set_options(socket: &SockRef<'_>, config: &ServerConfig) -> io::Result<()> {
    // Otherwise an answer in two writes waits for the peer's delayed acknowledgement: 40 ms.
    socket.set_tcp_nodelay(true)?;
    socket.set_read_timeout(Some(config.idle_timeout))?;
    socket.set_write_timeout(Some(WRITE_WAIT))?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.set_tcp_user_timeout(Some(config.vanish_timeout))?;
    // The number of keepalive probes need not be set: the user timeout takes precedence.
    let every = (config.vanish_timeout / KEEPALIVE_PROBES).max(Duration::from_secs(1));
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(config.keepalive_after).with_interval(every))
}

/// Returns an address on which this process reaches its own listening socket.
pub(crate) fn own_address(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let mut own = bound;
    own.set_ip(ip);
    own
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
        let foreign = TcpListener::bind("127.0.0.1:0").unwrap();
        adopt(&foreign, &config).unwrap();
        for listener in [listener, foreign] {
            let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let socket = SockRef::from(&accepted);
            assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap());
            assert_eq!(socket.tcp_keepalive_time().unwrap(), config.keepalive_after);
            assert_eq!(socket.tcp_user_timeout().unwrap(), Some(config.vanish_timeout));
            assert_eq!(socket.read_timeout().unwrap(), Some(idle_timeout));
            // The kernel rounds to its clock tick.
            assert!(socket.write_timeout().unwrap().unwrap() < WRITE_WAIT * 2);
            assert_eq!(socket.recv_buffer_size().unwrap(), RECEIVE_BUFFER_BYTES * 2);
            assert_eq!(socket.send_buffer_size().unwrap(), SEND_BUFFER_BYTES * 2);
        }
    }

    /// Documents why there is no `--listen unix:PATH`. Ordering the requests of a connection, every deadline and
    /// every close need the connection of a request, which tiny_http does not report for Unix sockets. If a version
    /// of tiny_http does, this test fails, and such a listener can be added.
    #[test]
    fn tiny_http_does_not_tell_the_peers_of_a_unix_socket_apart() {
        use std::io::Write;
        use std::os::unix::net::{UnixListener, UnixStream};

        let path = std::env::temp_dir().join(format!("sightline-{}.sock", uuid::Uuid::new_v4().simple()));
        let server = tiny_http::Server::from_listener(UnixListener::bind(&path).unwrap(), None).unwrap();
        let mut clients = [UnixStream::connect(&path).unwrap(), UnixStream::connect(&path).unwrap()];
        for client in &mut clients {
            client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let request = server.recv().unwrap();
            assert_eq!(
                (request.remote_addr(), format!("{request:?}").as_str()),
                (None, "Request(GET / from None)")
            );
        }
        // This removes the file.
        drop(server);
    }

    #[test]
    fn an_unspecified_address_is_reached_by_loopback() {
        for (bound, own) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("10.0.0.1:1", "10.0.0.1:1"),
            ("127.0.0.2:1", "127.0.0.2:1"),
        ] {
            assert_eq!(own_address(bound.parse().unwrap()), own.parse().unwrap());
        }
    }
}
