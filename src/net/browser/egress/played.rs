//! Answers of a simulated web. TLS cannot be ended here, so its pages are opened under names of their own
//! (`http://HOST.sandbox/` for `https://HOST/`), which lead back to the real ones before anybody is asked.

use std::io::{self, Write};
use std::net::TcpStream;

use url::Url;

use super::forward::target;
use super::gate::{BAD_REQUEST, answer};
use super::head::Head;
use super::visit::{Timed, Visit};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};

/// Stands behind the host of an address of https; of http.
const SECURE: &str = ".sandbox";
const PLAIN: &str = ".plain.sandbox";
/// Redirects within the simulated web.
const MAX_REDIRECTS: u8 = 10;
/// The most bytes of a page: a shell with scripts.
const MAX_BODY: usize = 1024 * 1024;

/// The address under which a page of the simulated web is opened.
pub(in crate::net) fn staged(url: &Url) -> Option<Url> {
    let suffix = if url.scheme() == "https" { SECURE } else { PLAIN };
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let path = &url[url::Position::BeforePath..];
    Url::parse(&format!("http://{}{suffix}{port}{path}", url.host_str()?)).ok()
}

/// The address that an address of the simulated web stands for; any other is its own.
pub(in crate::net) fn real_of(url: &Url) -> Url {
    let host = url.host_str().unwrap_or_default();
    let (scheme, host) = match (host.strip_suffix(PLAIN), host.strip_suffix(SECURE)) {
        (Some(host), _) => ("http", host),
        (None, Some(host)) => ("https", host),
        (None, None) => return url.clone(),
    };
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let path = &url[url::Position::BeforePath..];
    Url::parse(&format!("{scheme}://{host}{port}{path}")).unwrap_or_else(|_| url.clone())
}

/// Answers a request from the simulated web. Redirects are followed there, and shown as one.
pub(super) fn request(web: &dyn Prober, client: &TcpStream, visit: &Visit, head: &Head) -> io::Result<()> {
    let Some((method, url)) = target(head) else { return answer(client, BAD_REQUEST) };
    let (is_head, url) = (method == "HEAD", real_of(&url));
    let known = visit.ahead.lock().remove(url.as_str());
    let response = match known {
        Some(response) => response,
        None => match ask(web, visit, &url) {
            Ok(response) => response,
            Err(error) => {
                if let Some(host) = staged(&url).and_then(|url| url.host().map(|host| host.to_owned())) {
                    visit.refuse(&host, error);
                }
                return Ok(());
            }
        },
    };
    if response.final_url == url {
        return write(&mut Timed::new(client, visit)?, &response, is_head);
    }
    let Some(location) = staged(&response.final_url) else { return Ok(()) };
    let moved = format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    visit.ahead.lock().insert(response.final_url.to_string(), response);
    answer(client, moved.as_bytes())
}

fn ask(web: &dyn Prober, visit: &Visit, url: &Url) -> Result<Response, ProbeError> {
    let request = Request {
        method: Method::Get,
        via: Via::Http,
        url: url.clone(),
        headers: Vec::new(),
        body: None,
        max_redirects: MAX_REDIRECTS,
        body_limit: MAX_BODY,
        render: None,
        trace: visit.trace.clone(),
    };
    web.send(&request, &mut CookieJar::default(), visit.deadline)
}

fn write(client: &mut impl Write, response: &Response, is_head: bool) -> io::Result<()> {
    // The body is decoded, and its length ours to say.
    const NOT_PASSED_ON: [&str; 5] =
        ["connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"];
    let mut out = format!("HTTP/1.1 {} Played\r\n", response.status);
    for (name, value) in &response.headers {
        if !NOT_PASSED_ON.contains(&name.as_str()) && !value.contains(['\r', '\n']) {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    out.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", response.body.len()));
    client.write_all(out.as_bytes())?;
    if is_head { Ok(()) } else { client.write_all(&response.body) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_the_stage_and_back() {
        for (real, stage) in [
            ("https://a.example/u/x?y=1#z", "http://a.example.sandbox/u/x?y=1#z"),
            ("https://a.example:8443/", "http://a.example.sandbox:8443/"),
            ("http://a.example/é", "http://a.example.plain.sandbox/%C3%A9"),
        ] {
            let real = Url::parse(real).unwrap();
            let there = staged(&real).unwrap();
            assert_eq!(there.as_str(), stage);
            assert_eq!(real_of(&there), real);
        }
        let other = Url::parse("about:blank").unwrap();
        assert_eq!(real_of(&other), other);
    }
}
