//! The connections of ureq's agents: dialled to approved addresses, with or without TLS, and within the limits of the
//! request that they serve.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Write};
use std::mem;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustls::ClientConnection;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error, Timeout};
use url::Url;

use super::body::ACCEPT_ENCODING;
use super::dial::Timed;
use super::failure::is_timeout;
use super::head;
use super::headers::DEFAULT_ACCEPT;
use super::wire::Wire;
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;

/// The maximum size of an answer's head, in bytes.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// The most bytes that are read at once while a head is awaited.
const HEAD_STEP: usize = 4 * 1024;
/// The size of the input buffer. It holds the largest head, which may come in many steps, and what was read after it.
const INPUT_BYTES: usize = MAX_HEAD_BYTES + HEAD_STEP;
/// The size of the output buffer. It suffices for the longest line that is sent, which holds a URL or cookies.
const OUTPUT_BYTES: usize = 16 * 1024;
/// The maximum number of idle connections. A control check, or a redirect, usually follows at once.
const MAX_IDLE: usize = 32;
/// The maximum number of idle connections to one host.
const MAX_IDLE_PER_HOST: usize = 2;
/// The time after which an idle connection is not used again. Many servers close theirs after five seconds.
const MAX_IDLE_TIME: Duration = Duration::from_secs(5);

/// The number of bytes allowed for each hop besides its body: the head, and the TLS handshake with its certificates.
const HOP_BYTES: u64 = 128 * 1024;
/// The number of bytes allowed for a body besides twice its decoded limit: chunk heads, TLS records, compressed
/// blocks. Compressed data is never much longer than the decoded data, except for a stream of empty blocks.
const BODY_OVERHEAD: u64 = 64 * 1024;

/// The limits of a request. They hold at the socket, so that everything counts: TLS, heads, interim answers, chunk
/// heads, trailers and bodies. A thread makes one request at a time, and its connections look the limits up, because
/// ureq gives them neither.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    deadline: Instant,
    /// The number of bytes that all hops together may receive, and that they have received.
    granted: u64,
    received: u64,
}

thread_local! {
    static LIMITS: Cell<Limits> = Cell::new(Limits { deadline: Instant::now(), granted: 0, received: 0 });
}

impl Limits {
    /// Begins a request of this thread, for a body of `body_limit` decoded bytes.
    pub(super) fn begin(body_limit: usize, deadline: Instant) {
        let granted = 2 * body_limit as u64 + BODY_OVERHEAD;
        LIMITS.set(Self { deadline, granted, received: 0 });
    }

    /// Allows the bytes of another hop.
    pub(super) fn grant_hop() {
        Self::change(|limits| limits.granted += HOP_BYTES);
    }

    /// Changes the deadline, for a part of the request.
    pub(super) fn set_deadline(deadline: Instant) {
        Self::change(|limits| limits.deadline = deadline);
    }

    fn change(change: impl FnOnce(&mut Self)) {
        let mut limits = LIMITS.get();
        change(&mut limits);
        LIMITS.set(limits);
    }

    fn deadline() -> Instant {
        LIMITS.get().deadline
    }

    /// Returns an error if all granted bytes have been received.
    fn check() -> Result<(), Error> {
        let Self { granted, received, .. } = LIMITS.get();
        if received < granted { Ok(()) } else { Err(Error::BodyExceedsLimit(granted)) }
    }
}

impl Wire {
    /// Returns an agent whose connections this value makes, and uses again when they are idle.
    pub(super) fn agent(&self) -> Agent {
        let config = Agent::config_builder()
            // Otherwise ureq would use a proxy from the environment.
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(self.config.user_agent.to_str().unwrap_or_default())
            .accept(DEFAULT_ACCEPT)
            .accept_encoding(ACCEPT_ENCODING)
            .max_idle_connections(MAX_IDLE)
            .max_idle_connections_per_host(MAX_IDLE_PER_HOST)
            .max_idle_age(MAX_IDLE_TIME)
            .max_response_header_size(MAX_HEAD_BYTES)
            .build();
        Agent::with_parts(config, self.clone(), self.clone())
    }

    fn open(&self, uri: &Uri) -> Result<Connection, ProbeError> {
        let url = Url::parse(&uri.to_string())
            .map_err(|_| Reason::Protocol.because("the URL of the request is not valid"))?;
        let stream = self.dial(&url, Limits::deadline())?;
        let mut socket = Timed::new(stream, Limits::deadline().min(Self::connect_deadline()));
        let host = url.host_str().filter(|_| url.scheme() == "https");
        let tls = host.map(|host| self.handshake(host, &mut socket)).transpose()?;
        let stream = Stream { socket, tls };
        let buffers = LazyBuffers::new(INPUT_BYTES, OUTPUT_BYTES);
        Ok(Connection { stream, buffers, has_answered: false, is_silent: false })
    }
}

impl Connector for Wire {
    type Out = Connection;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Connection>, Error> {
        self.open(details.uri).map(Some).map_err(|error| Error::Other(Box::new(error)))
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Wire")
    }
}

/// ureq asks for the addresses of each request, also if it has an idle connection. Those of a new one are resolved when it is
/// made.
impl Resolver for Wire {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(self.empty())
    }
}

/// A connection to a server, or a tunnel through the outbound proxy, with or without TLS.
#[derive(Debug)]
struct Stream {
    socket: Timed<TcpStream>,
    tls: Option<Box<ClientConnection>>,
}

impl Stream {
    /// Reads within the limits of the request. It can exceed the limit of bytes by one buffer.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        Limits::check().map_err(Error::into_io)?;
        self.socket.deadline = Limits::deadline();
        let read = match self.tls.as_deref_mut() {
            Some(tls) => rustls::Stream::new(tls, &mut self.socket).read(buf),
            None => self.socket.read(buf),
        };
        Limits::change(|limits| limits.received += mem::take(&mut self.socket.received));
        read
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.socket.deadline = Limits::deadline();
        match self.tls.as_deref_mut() {
            Some(tls) => rustls::Stream::new(tls, &mut self.socket).write_all(bytes),
            None => self.socket.write_all(bytes),
        }
    }

    /// Returns whether the connection is open and nothing was received that has not been read.
    fn is_quiet(&mut self) -> bool {
        let decrypted = self.tls.as_mut().map(|tls| tls.reader().read(&mut [0]));
        let unread = recv(&self.socket.stream, &mut [0], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        decrypted.is_none_or(|read| read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock))
            && unread.is_err_and(|error| error == Errno::AGAIN)
    }
}

/// The error of a request over an idle connection that got nothing back. The server may have closed the connection before
/// it could see the request.
#[derive(Debug, thiserror::Error)]
#[error("the server closed the idle connection")]
pub(super) struct Stale;

/// An established connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: Stream,
    buffers: LazyBuffers,
    /// Whether anything was received since the connection was made.
    has_answered: bool,
    /// Whether nothing was received since a request was sent. The head of its answer comes first.
    is_silent: bool,
}

impl Connection {
    /// Notes what a read has received.
    fn received(&mut self, read: io::Result<usize>) -> Result<usize, Error> {
        let amount = read.map_err(|error| self.failed(error))?;
        if amount > 0 {
            (self.has_answered, self.is_silent) = (true, false);
        }
        Ok(amount)
    }

    fn failed(&self, error: io::Error) -> Error {
        match is_timeout(&error) {
            true => Error::Timeout(Timeout::Global),
            false if self.may_be_stale() => Error::Other(Box::new(Stale)),
            false => error.into(),
        }
    }

    /// Returns whether nothing was received since a request was sent over the idle connection.
    fn may_be_stale(&self) -> bool {
        self.has_answered && self.is_silent
    }

    /// Reads an answer's head, and gives it to ureq's parser in a form that the parser accepts. Interim
    /// answers are left out. What is not HTTP is given to the parser as it is.
    fn read_head(&mut self) -> Result<bool, Error> {
        let mut head = Vec::new();
        loop {
            let begun = head.len();
            head.resize(begun + HEAD_STEP, 0);
            let read = self.stream.read(&mut head[begun..]);
            let amount = self.received(read)?;
            head.truncate(begun + amount);
            while let Some(end) = head::end_of(&head).filter(|_| may_be_http(&head)) {
                let rest = head.split_off(end);
                let whole = head::mended(head.trim_ascii_start());
                if !head::is_interim(&whole) {
                    return self.append(&[&whole[..], &rest].concat());
                }
                head = rest;
            }
            if amount == 0 && self.may_be_stale() {
                return Err(Error::Other(Box::new(Stale)));
            }
            if amount == 0 || head.len() > MAX_HEAD_BYTES || !may_be_http(&head) {
                return self.append(&head);
            }
        }
    }

    /// Gives bytes to ureq's parser. Returns whether there are any.
    fn append(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        let free = self.buffers.input_append_buf();
        let room = free.get_mut(..bytes.len());
        room.ok_or(Error::LargeResponseHeader(bytes.len(), MAX_HEAD_BYTES))?.copy_from_slice(bytes);
        self.buffers.input_appended(bytes.len());
        Ok(!bytes.is_empty())
    }
}

impl Transport for Connection {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, _: NextTimeout) -> Result<(), Error> {
        self.is_silent = true;
        let output = &self.buffers.output()[..amount];
        self.stream.write(output).map_err(|error| self.failed(error))
    }

    fn await_input(&mut self, _: NextTimeout) -> Result<bool, Error> {
        if self.is_silent {
            // Hundreds of connections may wait for an answer. Their buffers are made again when it comes.
            self.buffers = LazyBuffers::new(INPUT_BYTES, OUTPUT_BYTES);
            return self.read_head();
        }
        let read = self.stream.read(self.buffers.input_append_buf());
        let amount = self.received(read)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// Returns whether the connection can be used for another request: it is open, and nothing was received that has not
    /// been read.
    fn is_open(&mut self) -> bool {
        self.stream.is_quiet()
    }

    fn is_tls(&self) -> bool {
        self.stream.tls.is_some()
    }
}

/// Returns whether an answer of HTTP/1 may begin with these bytes. Empty lines before it do not count.
fn may_be_http(bytes: &[u8]) -> bool {
    let begun = bytes.trim_ascii_start();
    let length = begun.len().min(5);
    begun[..length].eq_ignore_ascii_case(&b"HTTP/"[..length])
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_connection_is_quiet_if_it_is_open_and_has_no_unread_bytes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(600);
        Limits::begin(1, deadline);
        let mut stream = Stream { socket: Timed::new(socket, deadline), tls: None };
        let mut peer = listener.accept().unwrap().0;
        assert!(stream.is_quiet());
        peer.write_all(b"x").unwrap();
        assert_eq!(stream.socket.stream.peek(&mut [0]).unwrap(), 1);
        assert!(!stream.is_quiet());
        assert_eq!(stream.read(&mut [0]).unwrap(), 1);
        assert!(stream.is_quiet());
        drop(peer);
        assert_eq!(stream.socket.stream.peek(&mut [0]).unwrap(), 0);
        assert!(!stream.is_quiet());
    }

    #[test]
    fn the_hops_of_a_request_share_one_byte_limit() {
        Limits::begin(1000, Instant::now());
        Limits::grant_hop();
        let receive = |bytes| Limits::change(|limits| limits.received += bytes);
        receive(2000 + BODY_OVERHEAD + 1000);
        Limits::check().unwrap();
        Limits::grant_hop();
        receive(2 * HOP_BYTES - 1001);
        Limits::check().unwrap();
        receive(1);
        assert!(matches!(Limits::check(), Err(Error::BodyExceedsLimit(_))));
    }
}
