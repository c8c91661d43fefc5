//! WHOIS queries ([RFC 3912](https://www.rfc-editor.org/rfc/rfc3912)): one line to the server, which answers with text
//! and closes the connection.

use std::io::{Read, Write};
use std::time::Instant;

use super::dial::Timed;
use super::failure::probe_error;
use super::wire::Wire;
use crate::base::encoding::percent_decode;
use crate::modules::probe::{ProbeError, Request, Response};
use crate::modules::reason::Reason;

/// The maximum length of a query, in bytes. It is the length of the longest host name.
const MAX_QUERY: usize = 253;

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
pub(super) fn send(request: &Request, wire: &Wire, deadline: Instant) -> Result<Response, ProbeError> {
    let query = query(request).ok_or_else(|| {
        Reason::Protocol.because("a WHOIS query must be one line of at most 253 ASCII characters")
    })?;
    let (connection, _) = wire.dial(&request.url, deadline)?;
    let mut stream = Timed { stream: &connection, deadline };
    let (mut body, limit) = (Vec::new(), (request.body_limit as u64).saturating_add(1));
    let answer = stream.write_all(format!("{query}\r\n").as_bytes());
    if let Err(error) = answer.and_then(|()| (&mut stream).take(limit).read_to_end(&mut body)) {
        let phase = if body.is_empty() { Reason::TimeoutFirstByte } else { Reason::TimeoutBody };
        return Err(probe_error(error.into(), phase));
    }
    let truncated = body.len() > request.body_limit;
    body.truncate(request.body_limit);
    Ok(Response {
        status: 200,
        final_url: request.url.clone(),
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body,
        truncated,
    })
}
