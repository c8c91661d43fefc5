//! The listening socket. All of its options are inherited by the connections (Linux).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use listenfd::ListenFd;
use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use super::config::{
    BACKLOG, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES, SEND_PATIENCE, SIGNS_OF_LIFE, ServerConfig,
};

/// Opens the listening socket.
pub(super) fn open(config: &ServerConfig) -> io::Result<TcpListener> {
    let address = config.listen;
    let named =
        |error: io::Error| io::Error::new(error.kind(), format!("can't listen on {address}: {error}"));
    let socket =
        Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP)).map_err(named)?;
    // A restart must not wait for the connections of the last process to time out.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // `[::]` shall mean all addresses, whatever the system's default.
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into()).map_err(named)?;
    // Before it listens: the window's scale is settled when a connection begins.
    set_options(&SockRef::from(&socket), config)?;
    socket.listen(BACKLOG).map_err(named)?;
    Ok(socket.into())
}

/// A socket that the service manager opened for us (`LISTEN_FDS`), if there is one.
///
/// # Errors
/// When what was handed over is no TCP socket.
pub fn activated_listener() -> io::Result<Option<TcpListener>> {
    ListenFd::from_env().take_tcp_listener(0).map_err(|error| {
        let text = format!("LISTEN_FDS: {error}; one listening TCP socket is allowed");
        io::Error::new(error.kind(), text)
    })
}

/// Makes a socket that someone else opened like one of ours.
pub(super) fn adopt(listener: &TcpListener, config: &ServerConfig) -> io::Result<()> {
    let socket = SockRef::from(listener);
    if !socket.is_listener()? {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the socket handed over does not listen"));
    }
    listener.set_nonblocking(false)?;
    set_options(&socket, config)
}

fn set_options(socket: &SockRef<'_>, config: &ServerConfig) -> io::Result<()> {
    // Without it an answer in two writes meets the peer's delayed acknowledgement: 40 ms.
    socket.set_tcp_nodelay(true)?;
    socket.set_read_timeout(Some(config.idle_timeout))?;
    socket.set_write_timeout(Some(SEND_PATIENCE))?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.set_tcp_user_timeout(Some(config.vanish_timeout))?;
    // The kernel's own count of unanswered questions does not matter: the user timeout overrules it.
    let every = (config.vanish_timeout / SIGNS_OF_LIFE).max(Duration::from_secs(1));
    socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(config.keepalive_after).with_interval(every))
}

/// Where to knock to reach this socket from here.
pub(super) fn own_address(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let mut own = bound;
    own.set_ip(ip);
    own
}

/// What tiny_http can't ward off needs a proxy in front of an open network.
pub(super) fn warn_if_open(bound: SocketAddr) {
    if !bound.ip().to_canonical().is_loopback() {
        log::warn!(
            "listening on {bound}, which others can reach: put a reverse proxy in front of it; \
             only a proxy stops slow and malformed requests from using up connections"
        );
    }
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
            // The kernel counts in ticks.
            assert!(socket.write_timeout().unwrap().unwrap() < SEND_PATIENCE * 2);
            assert_eq!(socket.recv_buffer_size().unwrap(), RECEIVE_BUFFER_BYTES * 2);
            assert_eq!(socket.send_buffer_size().unwrap(), SEND_BUFFER_BYTES * 2);
        }
    }

    /// Why there is no `--listen unix:PATH`: the turns of a connection's requests, the end of a flood, the
    /// deadlines of heads and bodies and every close need to know whose a request is, and tiny_http does not
    /// say. Should it begin to, this fails, and such a listener can be built.
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
        // It removes the file.
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
