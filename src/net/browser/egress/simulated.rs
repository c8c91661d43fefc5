//! Answers of the simulated web. The proxy has no certificates for TLS, so pages are opened under other URLs
//! (`http://HOST.sandbox/` for `https://HOST/`), which are converted back before the simulated web is called.

use std::io::{self, Write};
use std::net::TcpStream;

use url::Url;

use super::answers::{BAD_REQUEST, answer};
use super::forward::target;
use super::page_load::{DeadlineStream, PageLoad};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::net::head::Head;

/// The suffix of the host for an https URL.
const SECURE: &str = ".sandbox";
/// The suffix of the host for an http URL.
const PLAIN: &str = ".plain.sandbox";
/// The maximum number of redirects within the simulated web.
const MAX_REDIRECTS: u8 = 10;
/// The maximum size of a page, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// Returns the URL under which a page of the simulated web is opened.
pub(in crate::net) fn simulated_url(url: &Url) -> Option<Url> {
    let suffix = if url.scheme() == "https" { SECURE } else { PLAIN };
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let path = &url[url::Position::BeforePath..];
    Url::parse(&format!("http://{}{suffix}{port}{path}", url.host_str()?)).ok()
}

/// Converts a URL of the simulated web back. Returns any other URL unchanged.
pub(in crate::net) fn real_url(url: &Url) -> Url {
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

/// Answers a request from the simulated web. Several redirects are combined into one.
pub(super) fn request(
    web: &dyn Prober,
    client: &TcpStream,
    page_load: &PageLoad,
    head: &Head,
) -> io::Result<()> {
    let Some((method, url)) = target(head) else { return answer(client, BAD_REQUEST) };
    let (is_head, url) = (method == "HEAD", real_url(&url));
    let known = page_load.ahead.lock().remove(url.as_str());
    let response = match known {
        Some(response) => response,
        None => match ask(web, page_load, &url) {
            Ok(response) => response,
            Err(error) => {
                if let Some(host) = simulated_url(&url).and_then(|url| url.host().map(|host| host.to_owned()))
                {
                    page_load.refuse(&host, error);
                }
                return Ok(());
            }
        },
    };
    if response.final_url == url {
        return write(&mut DeadlineStream::new(client, page_load)?, &response, is_head);
    }
    let Some(location) = simulated_url(&response.final_url) else { return Ok(()) };
    let moved = format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    page_load.ahead.lock().insert(response.final_url.to_string(), response);
    answer(client, moved.as_bytes())
}

fn ask(web: &dyn Prober, page_load: &PageLoad, url: &Url) -> Result<Response, ProbeError> {
    let request = Request {
        method: Method::Get,
        via: Via::Http,
        url: url.clone(),
        headers: Vec::new(),
        body: None,
        max_redirects: MAX_REDIRECTS,
        body_limit: MAX_BODY,
        render: None,
        trace: page_load.trace.clone(),
    };
    web.send(&request, &mut CookieJar::default(), page_load.deadline)
}

fn write(client: &mut impl Write, response: &Response, is_head: bool) -> io::Result<()> {
    // The body is decoded, so that its length and coding have changed.
    const NOT_FORWARDED: [&str; 5] =
        ["connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"];
    let mut out = format!("HTTP/1.1 {} Simulated\r\n", response.status);
    for (name, value) in &response.headers {
        if !NOT_FORWARDED.contains(&name.as_str()) && !value.contains(['\r', '\n']) {
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
    fn urls_are_converted_and_converted_back() {
        for (real, simulated) in [
            ("https://a.example/u/x?y=1#z", "http://a.example.sandbox/u/x?y=1#z"),
            ("https://a.example:8443/", "http://a.example.sandbox:8443/"),
            ("http://a.example/é", "http://a.example.plain.sandbox/%C3%A9"),
        ] {
            let real = Url::parse(real).unwrap();
            let there = simulated_url(&real).unwrap();
            assert_eq!(there.as_str(), simulated);
            assert_eq!(real_url(&there), real);
        }
        let other = Url::parse("about:blank").unwrap();
        assert_eq!(real_url(&other), other);
    }
}
