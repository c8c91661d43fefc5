//! Reads request bodies.
//!
//! Fault of tiny_http: reading a body has no deadline, and a body of more than 1,024 bytes is read from the socket
//! only on request. A few stalled senders would block the worker pool. Workaround: such bodies are read on
//! threads of their own, with a deadline. Tests: `stalled_bodies_do_not_block_other_requests`,
//! `a_body_that_dribbles_is_cut_off_by_its_deadline`.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Instant;

use super::shared::Connections;
use crate::http::config::ServerConfig;
use crate::http::handler::Refusal;
use crate::http::message::head::Framing;

/// Reads the whole body, of at most `max` bytes and within the configured time. After an error part of it may be unread.
pub(crate) fn read(
    request: &mut tiny_http::Request,
    framing: Framing,
    peer: SocketAddr,
    connections: &Connections,
    config: &ServerConfig,
    max: usize,
) -> Result<Vec<u8>, Refusal> {
    let length = match framing {
        Framing::NoBody => return Ok(Vec::new()),
        Framing::Length(length) => Some(checked_length(length, max)?),
        Framing::Chunked => None,
    };
    let until = Instant::now() + config.body_timeout;
    // A read waits as long as the connection may be idle, but the deadline ends it earlier.
    let _deadline = connections.closer.set_deadline(peer, until);
    let body = read_up_to(request.as_reader(), length, max);
    match body {
        Err(Refusal::Malformed(_)) if Instant::now() >= until => Err(Refusal::BodyTimeout),
        // The decoder treats the end of the connection inside a chunk as the end of the body.
        Ok(body) if length.is_none() && !is_whole(&body) && connections.sockets.has_ended(peer) => {
            Err(Refusal::Malformed(
                "the chunked body may be incomplete, because the connection was ended: send Content-Length, or end the \
                 connection after the answer",
            ))
        }
        Ok(_) if length.is_none() && Instant::now() >= until => Err(Refusal::BodyTimeout),
        body => body,
    }
}

/// Returns whether a body cannot be the beginning of a longer one: a JSON object or array that is closed.
fn is_whole(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    matches!(body.trim_ascii(), [b'{', .., b'}'] | [b'[', .., b']'])
        && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok()
}

/// Returns a body that tiny_http has read together with the head, so that there is nothing to wait for.
pub(crate) fn read_buffered(
    request: &mut tiny_http::Request,
    framing: Framing,
    max: usize,
) -> Result<Vec<u8>, Refusal> {
    match framing {
        Framing::NoBody => Ok(Vec::new()),
        Framing::Length(length) => {
            let length = checked_length(length, max)?;
            read_up_to(request.as_reader(), Some(length), max)
        }
        Framing::Chunked => Err(Refusal::Malformed("a chunked body cannot be read with the head")),
    }
}

fn checked_length(length: u64, max: usize) -> Result<usize, Refusal> {
    usize::try_from(length).ok().filter(|length| *length <= max).ok_or(Refusal::BodyTooLarge)
}

fn read_up_to(body: &mut dyn Read, length: Option<usize>, max: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(length.unwrap_or(0).min(FIRST_BUFFER_BYTES));
    // A chunked body is too large if there is one byte more than allowed.
    let limit = length.unwrap_or(max + 1) as u64;
    body.take(limit).read_to_end(&mut bytes).map_err(|error| match (error.kind(), length) {
        (ErrorKind::WouldBlock | ErrorKind::TimedOut, _) => Refusal::BodyTimeout,
        (_, Some(_)) => Refusal::Malformed("the body is incomplete"),
        (_, None) => Refusal::Malformed("the chunked body is not valid"),
    })?;
    match length {
        Some(length) if bytes.len() < length => Err(Refusal::Malformed("the body is shorter than announced")),
        None if bytes.len() > max => Err(Refusal::BodyTooLarge),
        _ => Ok(bytes),
    }
}

/// The limit of the buffer for a body that is announced and may never come.
const FIRST_BUFFER_BYTES: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_to_its_announced_end_and_not_beyond() {
        assert_eq!(read_up_to(&mut &b"abcdef"[..], Some(4), 10), Ok(b"abcd".to_vec()));
        assert!(matches!(read_up_to(&mut &b"abc"[..], Some(4), 10), Err(Refusal::Malformed(_))));
        assert_eq!(read_up_to(&mut &b"abcd"[..], None, 4), Ok(b"abcd".to_vec()));
        assert_eq!(read_up_to(&mut &b"abcde"[..], None, 4), Err(Refusal::BodyTooLarge));
    }
}
