//! Reading a request's body.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Instant;

use super::core::Core;
use super::handler::Refusal;
use super::head::Framing;

/// Reads the whole body, within the configured size and time. On a refusal part of it may be unread.
pub(super) fn read(
    request: &mut tiny_http::Request,
    framing: Framing,
    peer: SocketAddr,
    core: &Core,
) -> Result<Vec<u8>, Refusal> {
    let max = core.config.max_body_bytes;
    let announced = match framing {
        Framing::NoBody => return Ok(Vec::new()),
        Framing::Length(length) => match usize::try_from(length) {
            Ok(length) if length <= max => Some(length),
            _ => return Err(Refusal::BodyTooLarge),
        },
        Framing::Chunked => None,
    };
    let until = Instant::now() + core.config.body_timeout;
    // A read waits as long as the connection may be idle; the watch ends it when the body's time is over.
    let _watch = core.closer.watch(peer, until);
    let body = read_up_to(request.as_reader(), announced, max)
        // The decoder of chunks takes the connection's end for the body's.
        .and_then(|body| match announced {
            None if core.sockets.has_ended(peer) => Err(Refusal::Malformed("the chunked body broke off")),
            _ => Ok(body),
        });
    match body {
        Err(Refusal::Malformed(_)) if Instant::now() >= until => Err(Refusal::BodyTimeout),
        body => body,
    }
}

/// The part of [`read`] for a body that came with the head: there is nothing to wait for.
pub(super) fn read_at_hand(
    request: &mut tiny_http::Request,
    framing: Framing,
    max: usize,
) -> Result<Vec<u8>, Refusal> {
    match framing {
        Framing::NoBody => Ok(Vec::new()),
        Framing::Length(length) => match usize::try_from(length) {
            Ok(length) if length <= max => read_up_to(request.as_reader(), Some(length), max),
            _ => Err(Refusal::BodyTooLarge),
        },
        Framing::Chunked => Err(Refusal::Malformed("a chunked body can't have come with the head")),
    }
}

fn read_up_to(body: &mut dyn Read, announced: Option<usize>, max: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::with_capacity(announced.unwrap_or(0).min(FIRST_BUFFER_BYTES));
    // An announced body ends there, whatever follows; of another one, a byte too many tells.
    let most = announced.unwrap_or(max + 1) as u64;
    body.take(most).read_to_end(&mut bytes).map_err(|error| match (error.kind(), announced) {
        (ErrorKind::WouldBlock | ErrorKind::TimedOut, _) => Refusal::BodyTimeout,
        (_, Some(_)) => Refusal::Malformed("the body broke off"),
        (_, None) => Refusal::Malformed("the chunked body is broken"),
    })?;
    match announced {
        Some(length) if bytes.len() < length => Err(Refusal::Malformed("the body is shorter than announced")),
        None if bytes.len() > max => Err(Refusal::BodyTooLarge),
        _ => Ok(bytes),
    }
}

/// What a client only announces costs no more than this.
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
