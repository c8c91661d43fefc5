//! WHOIS queries ([RFC 3912](https://www.rfc-editor.org/rfc/rfc3912)): one line to the server, which answers with text
//! and closes the connection.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use ureq::Error;

use super::config::{OutboundProxy, ProxyKind, percent_decode};
use super::dial::{connect_head, read_connect_status};
use super::failure::{connect_error, failed_connection, probe_error};
use super::idle::Target;
use crate::modules::probe::{Phase, ProbeError, Request, Response, Timing};

/// The maximum length of a query, in bytes. It is the length of the longest host name.
const MAX_QUERY: usize = 253;

/// The size of the buffer for reading an answer, in bytes.
const BUFFER: usize = 8 * 1024;

/// Returns the query of a request, which is the path of its address. Returns `None` if it is not one line of printable
/// ASCII.
pub(super) fn query(request: &Request) -> Option<String> {
    let path = request.url.path();
    let text = percent_decode(path.strip_prefix('/').unwrap_or(path))?;
    let is_line = text.bytes().all(|b| (0x20..0x7f).contains(&b));
    (is_line && (1..=MAX_QUERY).contains(&text.len())).then_some(text)
}

/// Sends the request to its approved addresses, or through the outbound proxy, and reads the answer.
///
/// # Errors
/// Returns an error if there is no answer. An answer that stops before the deadline without an end is an error, too.
pub(super) fn send(
    request: &Request,
    target: &Target,
    proxy: Option<&OutboundProxy>,
    connect_timeout: Duration,
    deadline: Instant,
) -> Result<Response, ProbeError> {
    let query = query(request).ok_or_else(|| {
        ProbeError::Protocol("a WHOIS query must be one line of at most 253 ASCII characters".into())
    })?;
    let started = Instant::now();
    let mut stream = Timed { stream: connect(target, proxy, connect_timeout, deadline)?, deadline };
    let connected_at = Instant::now();
    let answer = stream.write_all(format!("{query}\r\n").as_bytes()).and_then(|()| stream.first_bytes());
    let mut body = answer.map_err(|error| failed(error, Phase::FirstByte))?;
    let first_at = Instant::now();
    let limit = u64::try_from(request.body_limit).unwrap_or(u64::MAX);
    let rest = limit.saturating_add(1).saturating_sub(u64::try_from(body.len()).unwrap_or(u64::MAX));
    if let Err(error) = (&mut stream).take(rest).read_to_end(&mut body) {
        return Err(failed(error, Phase::Body));
    }
    let truncated = body.len() > request.body_limit;
    body.truncate(request.body_limit);
    Ok(Response {
        status: 200,
        final_url: request.url.clone(),
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body,
        truncated,
        timing: Timing {
            connect: connected_at - started,
            first_byte: first_at - connected_at,
            body: first_at.elapsed(),
            ..Timing::default()
        },
    })
}

/// Connects to the first address that accepts the connection.
fn connect(
    target: &Target,
    proxy: Option<&OutboundProxy>,
    connect_timeout: Duration,
    deadline: Instant,
) -> Result<TcpStream, ProbeError> {
    let limit = deadline.min(Instant::now() + connect_timeout);
    let Some(proxy) = proxy else { return dial(&target.addresses, limit) };
    if proxy.kind != ProxyKind::Http {
        return Err(ProbeError::Unavailable("WHOIS queries need an HTTP proxy that allows CONNECT".into()));
    }
    let address =
        target.addresses.first().ok_or_else(|| ProbeError::Dns("the host has no address".into()))?;
    let mut stream = Timed { stream: dial(&target.proxy, limit)?, deadline: limit };
    stream
        .write_all(connect_head(proxy, address).as_bytes())
        .map_err(|error| failed(error, Phase::Connect))?;
    match read_connect_status(&mut stream) {
        Ok(200..300) => Ok(stream.stream),
        Ok(status) => Err(ProbeError::Connect(format!("the outbound proxy answered {status}"))),
        Err(Error::Io(error)) => Err(failed(error, Phase::Connect)),
        Err(error) => Err(connect_error(error, &target.proxy)),
    }
}

fn dial(addresses: &[SocketAddr], limit: Instant) -> Result<TcpStream, ProbeError> {
    let mut last = None;
    for address in addresses {
        let Some(time) = remaining(limit) else { break };
        match TcpStream::connect_timeout(address, time) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) if !is_timeout(&error) => Err(failed_connection(&error, addresses)),
        _ => Err(ProbeError::Timeout(Phase::Connect)),
    }
}

/// Returns the time until `limit`, or `None` if it has passed.
fn remaining(limit: Instant) -> Option<Duration> {
    Some(limit.saturating_duration_since(Instant::now())).filter(|time| !time.is_zero())
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock)
}

fn failed(error: io::Error, phase: Phase) -> ProbeError {
    match is_timeout(&error) {
        true => ProbeError::Timeout(phase),
        false => probe_error(Error::Io(error), phase),
    }
}

/// A connection whose reads and writes end at a deadline.
struct Timed {
    stream: TcpStream,
    deadline: Instant,
}

impl Timed {
    fn time(&self) -> io::Result<Duration> {
        remaining(self.deadline).ok_or_else(|| io::ErrorKind::TimedOut.into())
    }

    /// Returns the bytes of the first read. They are empty if the server closes the connection without an answer.
    fn first_bytes(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; BUFFER];
        let length = self.read(&mut buffer)?;
        Ok(buffer[..length].to_vec())
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.time()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.time()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
