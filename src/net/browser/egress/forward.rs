//! Forwards plain HTTP. Each connection carries one request in absolute form (RFC 9112, section 3.2.2).

use std::io::{self, Read, Write};
use std::net::TcpStream;

use url::Url;

use super::page_load::{DeadlineStream, PageLoad};
use super::uplink::Uplink;
use crate::net::head::{self, Head, invalid};

const CHUNK_BYTES: usize = 16 * 1024;
pub(super) const BAD_REQUEST: &str = "400 Bad Request";

/// Forwards a request to the server, and the answer to the client.
///
/// If the site is refused or does not answer, the connection is closed without an answer, since a browser would show an
/// answer as the site's own page.
pub(super) fn request(
    uplink: &Uplink,
    client: &TcpStream,
    page_load: &PageLoad,
    head: &Head,
) -> io::Result<()> {
    let (Some((method, url)), Ok(length)) = (target(head), head.content_length()) else {
        return answer(client, BAD_REQUEST);
    };
    let Some(host) = url.host().map(|host| host.to_owned()) else { return answer(client, BAD_REQUEST) };
    let server = match uplink.connect(&host, url.port_or_known_default().unwrap_or(80), page_load) {
        Ok(server) => server,
        Err(error) => {
            page_load.refuse(&host, error);
            return Ok(());
        }
    };
    let mut to_server = DeadlineStream::new(&server, page_load)?;
    let line = format!("{method} {} HTTP/1.1", origin_form(&url));
    to_server.write_all(&head.forwarded(&line))?;
    let mut to_client = DeadlineStream::new(client, page_load)?;
    // A server may answer before it has read the body, and close its side.
    let _ = send_body(&mut to_client, &mut to_server, &head.rest, length);
    pass_answer(&mut to_server, &mut to_client, page_load)
}

/// Returns the method and the URL of a request in absolute form.
fn target(head: &Head) -> Option<(&str, Url)> {
    let (method, target) = head.request_line()?;
    let url = Url::parse(target).ok().filter(|url| url.scheme() == "http")?;
    Some((method, url))
}

fn origin_form(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

fn send_body(client: &mut impl Read, server: &mut impl Write, begun: &[u8], length: u64) -> io::Result<()> {
    let begun = &begun[..begun.len().min(usize::try_from(length).unwrap_or(usize::MAX))];
    server.write_all(begun)?;
    io::copy(&mut client.take(length - begun.len() as u64), server).map(drop)
}

/// Forwards interim answers, the head of the final answer, and its body without changes.
fn pass_answer(server: &mut impl Read, client: &mut impl Write, page_load: &PageLoad) -> io::Result<()> {
    let mut begun = Vec::new();
    let rest = loop {
        let head = head::read_on(server, begun)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head.status().ok_or_else(|| invalid("the answer is not HTTP"))?;
        client.write_all(&head.forwarded(&head.line))?;
        if status >= 200 {
            break head.rest;
        }
        begun = head.rest;
    };
    page_load.count(rest.len())?;
    client.write_all(&rest)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match server.read(&mut chunk)? {
            0 => return Ok(()),
            count => {
                page_load.count(count)?;
                client.write_all(&chunk[..count])?;
            }
        }
    }
}

/// Writes an answer of the proxy itself.
pub(super) fn answer(mut client: &TcpStream, status: &str) -> io::Result<()> {
    write!(client, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}
