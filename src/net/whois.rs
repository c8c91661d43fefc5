//! WHOIS queries ([RFC 3912](https://www.rfc-editor.org/rfc/rfc3912)): one line to the server, which answers with text
//! and closes the connection.

use std::io::Write;
use std::time::Instant;

use super::body::read_up_to;
use super::dial::Timed;
use super::failure::probe_error;
use super::wire::Wire;
use crate::base::encoding::percent_decode;
use crate::modules::probe::{ProbeError, Request, Response};
use crate::modules::reason::Reason;

/// The maximum length of a query, in bytes. It is the length of the longest host name.
const MAX_QUERY: usize = 253;

/// Sends the request to its approved addresses, or through the outbound proxy, and reads the answer. The query is the path
/// of the request's address.
///
/// # Errors
/// Returns an error if there is no answer. An answer that stops before the deadline without an end is an error, too.
pub(super) fn send(request: &Request, wire: &Wire, deadline: Instant) -> Result<Response, ProbeError> {
    let path = request.url.path();
    let is_line = |text: &String| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let query = percent_decode(path.strip_prefix('/').unwrap_or(path)).filter(is_line);
    let query = query.filter(|text| (1..=MAX_QUERY).contains(&text.len())).ok_or_else(|| {
        Reason::Protocol.because("a WHOIS query must be one line of at most 253 ASCII characters")
    })?;
    let connection = wire.dial(&request.url, deadline)?;
    let mut stream = Timed::new(&connection, deadline);
    let mut body = Vec::new();
    let asked = stream.write_all(format!("{query}\r\n").as_bytes());
    let read = asked.and_then(|()| read_up_to(stream, request.body_limit, &mut body));
    let truncated = read.map_err(|error| {
        let phase = if body.is_empty() { Reason::TimeoutFirstByte } else { Reason::TimeoutBody };
        probe_error(error.into(), phase)
    })?;
    Ok(Response {
        status: 200,
        final_url: request.url.clone(),
        headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
        body,
        truncated,
    })
}
