//! Answers of the egress proxy itself.

use std::io::{self, Write};
use std::net::TcpStream;

pub(super) const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
pub(super) const FORBIDDEN: &[u8] =
    b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
/// The answer to `CONNECT` if the simulated web, which has no TLS, is the destination.
pub(super) const NO_TLS: &[u8] =
    b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
pub(super) const UNREACHABLE: &[u8] =
    b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Writes an answer to a client.
pub(super) fn answer(mut client: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    client.write_all(bytes)
}
