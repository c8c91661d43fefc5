//! Outgoing TCP connections with a deadline, and the tunnels of an HTTP proxy.

use std::borrow::Borrow;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::config::Credentials;
use super::failure::{failed_connection, is_timeout};
use crate::modules::probe::ProbeError;

/// The minimum time for connecting to one of several addresses.
const MIN_CONNECT_TIME: Duration = Duration::from_millis(500);

/// The maximum size of a proxy's answer to CONNECT, in bytes.
const MAX_PROXY_HEAD: usize = 8 * 1024;

/// Where a connection leads.
#[derive(Debug)]
pub(super) struct Target {
    /// The host in the URL.
    pub(super) host: String,
    pub(super) port: u16,
    /// The approved addresses of the host. There are none if the proxy resolves its name.
    pub(super) addresses: Vec<SocketAddr>,
}

impl Target {
    /// Returns the host as a proxy gets it: without the dot that marks a whole name.
    pub(super) fn name(&self) -> &str {
        self.host.strip_suffix('.').unwrap_or(&self.host)
    }
}

/// Tries one address after the other. Each address gets an equal share of the time. The last failure counts: a timeout
/// says more than an earlier address that this machine has no route to.
pub(super) fn dial(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, ProbeError> {
    let mut failure = io::Error::from(io::ErrorKind::TimedOut);
    for (index, address) in addresses.iter().enumerate() {
        let Some(left) = remaining(deadline) else {
            failure = io::ErrorKind::TimedOut.into();
            break;
        };
        let share = left / u32::try_from(addresses.len() - index).unwrap_or(1);
        match TcpStream::connect_timeout(address, share.max(MIN_CONNECT_TIME).min(left)) {
            Ok(stream) => {
                // A request must not wait for the acknowledgement of the one before it.
                stream.set_nodelay(true).map_err(|error| failed_connection(&error, addresses))?;
                return Ok(stream);
            }
            Err(error) => failure = error,
        }
    }
    Err(failed_connection(&failure, addresses))
}

/// Asks an HTTP proxy for a tunnel to `target`. The answer is read byte by byte, so that no byte after its head is lost.
pub(super) fn open_tunnel(
    stream: &mut Timed<&TcpStream>,
    target: &Target,
    credentials: Option<&Credentials>,
) -> io::Result<()> {
    let target = match target.addresses.first() {
        Some(address) => address.to_string(),
        None => format!("{}:{}", target.name(), target.port),
    };
    let authorization = match credentials {
        Some(credentials) => {
            let (user, password) = credentials.expose();
            format!("Proxy-Authorization: Basic {}\r\n", BASE64_STANDARD.encode(format!("{user}:{password}")))
        }
        None => String::new(),
    };
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n");
    stream.write_all(request.as_bytes())?;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_PROXY_HEAD {
            return Err(io::Error::other("the outbound proxy's answer is too long"));
        }
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    match status(&head) {
        Some(200..300) => Ok(()),
        Some(status) => Err(io::Error::other(format!("the outbound proxy answered {status}"))),
        None => Err(io::Error::other("the outbound proxy's answer is not HTTP")),
    }
}

fn status(head: &[u8]) -> Option<u16> {
    let head = String::from_utf8_lossy(head);
    head.strip_prefix("HTTP/1.")?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Returns the time until `deadline`, or `None` if it has passed.
fn remaining(deadline: Instant) -> Option<Duration> {
    Some(deadline.saturating_duration_since(Instant::now())).filter(|time| !time.is_zero())
}

/// A connection whose reads and writes fail with [`io::ErrorKind::TimedOut`] after a deadline, even if the peer sends or
/// takes single bytes.
#[derive(Debug)]
pub(super) struct Timed<S> {
    pub(super) stream: S,
    pub(super) deadline: Instant,
    /// The number of bytes that were read.
    pub(super) received: u64,
}

impl<S: Borrow<TcpStream>> Timed<S> {
    pub(super) fn new(stream: S, deadline: Instant) -> Self {
        Self { stream, deadline, received: 0 }
    }

    /// Does a read or a write in the time that is left. Unix reports the timeout of a socket as `WouldBlock`.
    fn within(
        &self,
        mut act: impl FnMut(&TcpStream, Option<Duration>) -> io::Result<usize>,
    ) -> io::Result<usize> {
        loop {
            let left = remaining(self.deadline).ok_or(io::ErrorKind::TimedOut)?;
            match act(self.stream.borrow(), Some(left)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Err(io::ErrorKind::TimedOut.into()),
                done => return done,
            }
        }
    }
}

impl<S: Borrow<TcpStream>> Read for Timed<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            |mut stream: &TcpStream, left| stream.set_read_timeout(left).and_then(|()| stream.read(buffer));
        let amount = self.within(read)?;
        self.received += amount as u64;
        Ok(amount)
    }
}

impl<S: Borrow<TcpStream>> Write for Timed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[io::IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, bufs: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.within(|mut stream, left| {
            stream.set_write_timeout(left).and_then(|()| stream.write_vectored(bufs))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Socket, Type};

    use super::*;
    use crate::modules::reason::Reason;

    /// Returns a socket on a free port, and its address.
    fn bound() -> (Socket, SocketAddr) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        (socket, address)
    }

    #[test]
    fn the_failure_of_the_last_address_counts() {
        let (_refusing, refusing) = bound();
        let (full, silent) = bound();
        full.listen(0).unwrap();
        let connect = || TcpStream::connect_timeout(&silent, Duration::from_secs(1)).ok();
        let _queue: Vec<TcpStream> = std::iter::from_fn(connect).collect();
        let failure = |addresses: &[SocketAddr], seconds| {
            dial(addresses, Instant::now() + Duration::from_secs(seconds)).unwrap_err()
        };
        assert_eq!(failure(&[refusing, silent], 1), ProbeError::late(Reason::TimeoutConnect));
        assert_eq!(failure(&[silent, silent], 1), ProbeError::late(Reason::TimeoutConnect));
        // The second half of the time is for the other address, also on a machine that pauses this thread.
        assert!(matches!(failure(&[silent, refusing], 8), ProbeError { reason: Reason::Connect, .. }));
    }
}
