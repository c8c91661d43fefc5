//! Plain HTTP: a request in absolute form (RFC 9112, section 3.2.2), one a connection.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use url::Url;

use super::gate::{BAD_REQUEST, answer};
use super::head::{self, Head, invalid};
use super::uplink::Uplink;
use super::visit::{Timed, Visit};

const CHUNK_BYTES: usize = 16 * 1024;

/// Passes a request on and its answer back.
///
/// Whoever may not be asked, or does not answer, is not answered for: a browser would show what we say as
/// the site's own page.
pub(super) fn request(uplink: &Uplink, client: &TcpStream, visit: &Visit, head: &Head) -> io::Result<()> {
    let (Some((method, url)), Ok(length)) = (target(head), head.content_length()) else {
        return answer(client, BAD_REQUEST);
    };
    let Some(host) = url.host().map(|host| host.to_owned()) else { return answer(client, BAD_REQUEST) };
    let server = match uplink.connect(&host, url.port_or_known_default().unwrap_or(80), visit) {
        Ok(server) => server,
        Err(error) => {
            visit.refuse(&host, error);
            return Ok(());
        }
    };
    let mut to_server = Timed::new(&server, visit)?;
    let line = format!("{method} {} HTTP/1.1", origin_form(&url));
    to_server.write_all(&head.passed_on(&line))?;
    let mut to_client = Timed::new(client, visit)?;
    // A server may answer before it has read a body, and hang up on the rest of it.
    let _ = send_body(&mut to_client, &mut to_server, &head.rest, length);
    pass_answer(&mut to_server, &mut to_client, visit)
}

/// Method and address of a request in absolute form.
pub(super) fn target(head: &Head) -> Option<(&str, Url)> {
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

/// Heads up to the final one, then the body as it is, to its end.
fn pass_answer(server: &mut impl Read, client: &mut impl Write, visit: &Visit) -> io::Result<()> {
    let mut begun = Vec::new();
    let rest = loop {
        let head = head::read_on(server, begun)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head.status().ok_or_else(|| invalid("the answer is not HTTP"))?;
        client.write_all(&head.passed_on(&head.line))?;
        if status >= 200 {
            break head.rest;
        }
        begun = head.rest;
    };
    visit.count(rest.len())?;
    client.write_all(&rest)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match server.read(&mut chunk)? {
            0 => return Ok(()),
            count => {
                visit.count(count)?;
                client.write_all(&chunk[..count])?;
            }
        }
    }
}
