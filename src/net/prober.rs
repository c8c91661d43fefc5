//! The prober that sends requests over HTTP.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::header::LOCATION;
use ureq::http::{HeaderMap, Request as Message, Response as HttpResponse};
use ureq::{Agent, AsSendBody, Body, Error};
use url::Url;

use super::config::NetConfig;
use super::connection::{Limits, Stale};
use super::failure::probe_error;
use super::redirect::{Hop, MAX_URL_BYTES};
use super::wire::Wire;
use super::{body, headers, redirect, whois};
use crate::base::encoding::encode_address;
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::modules::reason::Reason;

/// The most bytes of a redirect's body that are read, so that the next hop can use the connection.
const DRAIN_BYTES: u64 = 16 * 1024;

/// The longest time for reading the body of a redirect.
const DRAIN_TIME: Duration = Duration::from_millis(100);

/// The HTTP prober, which all check workers share.
///
/// Hundreds of threads wait for answers at once. Functions that are called before and after the wait are not inlined, so
/// that their variables do not lie on the stack below it.
pub struct HttpProber {
    pub(super) wire: Wire,
    /// Uses idle connections again: the control check of a hit usually finds one, and so does a redirect within a host.
    agent: Agent,
    /// Opens the pages for a browser.
    pub browser: Option<Arc<dyn Prober>>,
}

impl HttpProber {
    /// Creates a prober.
    pub fn new(config: NetConfig) -> Self {
        let wire = Wire::new(config);
        Self { agent: wire.agent(), wire, browser: None }
    }

    #[inline(never)]
    fn first_hop(&self, request: &Request) -> Result<Hop, ProbeError> {
        let mut url = request.url.clone();
        redirect::remove_unsent_parts(&mut url);
        if !matches!(url.scheme(), "http" | "https") || url.as_str().len() > MAX_URL_BYTES {
            return Err(Reason::Protocol.because(format!(
                "the URL of a request must be http or https, and at most {MAX_URL_BYTES} bytes long"
            )));
        }
        Ok(Hop {
            index: 0,
            method: request.method,
            url,
            headers: headers::of_request(request)?,
            // POST and PUT have a body, which may be empty.
            has_body: request.body.is_some() || matches!(request.method, Method::Post | Method::Put),
            is_downgraded: false,
        })
    }

    /// Sends one hop and reads the head of its answer.
    fn exchange(
        &self,
        hop: &Hop,
        request: &Request,
        jar: &CookieJar,
    ) -> Result<HttpResponse<Body>, ProbeError> {
        Limits::grant_hop();
        loop {
            let result = match &request.body {
                _ if !hop.has_body => self.agent.run(self.message(hop, jar, ())?),
                None => self.agent.run(self.message(hop, jar, &[][..])?),
                Some((_, body)) => self.agent.run(self.message(hop, jar, &body[..])?),
            };
            match result {
                Err(Error::Other(error)) if error.is::<Stale>() => {}
                result => return result.map_err(|error| probe_error(error, Reason::TimeoutFirstByte)),
            }
        }
    }

    /// Builds the request of a hop for ureq. One that must not be sent twice gets a new connection, because a server may close
    /// an idle one without saying whether it has seen the request.
    #[inline(never)]
    fn message<B: AsSendBody>(&self, hop: &Hop, jar: &CookieJar, body: B) -> Result<Message<B>, ProbeError> {
        let mut headers = hop.headers.clone();
        if let Some(cookies) =
            hop.url.host_str().filter(|_| !hop.is_downgraded).and_then(|host| jar.header_for(host))
        {
            headers::add_cookies(&mut headers, &cookies);
        }
        let mut message = Message::builder()
            .method(hop.method.as_str())
            .uri(hop.url.as_str())
            .body(body)
            .map_err(|e| probe_error(e.into(), Reason::TimeoutConnect))?;
        *message.headers_mut() = headers;
        if matches!(hop.method, Method::Get | Method::Head) {
            return Ok(message);
        }
        Ok(self.agent.configure_request(message).max_idle_age(Duration::ZERO).build())
    }
}

impl Prober for HttpProber {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        match request.via {
            Via::Http => {}
            Via::Browser => match &self.browser {
                Some(browser) => return browser.send(request, jar, deadline),
                None => return Err(Reason::Unavailable.because("no browser is configured")),
            },
            Via::Whois => return whois::send(request, &self.wire, deadline),
        }
        Limits::begin(request.body_limit, deadline);
        let mut hop = self.first_hop(request)?;
        loop {
            let answer = self.exchange(&hop, request, jar);
            let answer =
                answer.map_err(|error| if hop.index > 0 { error.after_redirect() } else { error })?;
            keep_cookies(jar, &hop.url, answer.headers());
            let status = answer.status().as_u16();
            match redirect::next(&hop, status, answer.headers(), request.max_redirects)? {
                Some(next) => {
                    if next.url.origin() == hop.url.origin() {
                        drain(answer, deadline);
                    }
                    hop = next;
                }
                None => return read_answer(answer, hop.url, request.body_limit),
            }
        }
    }

    fn evict_expired(&self, now: Instant) {
        self.wire.resolver.answers.sweep(now);
    }
}

/// Reads the body of a redirect if it is short and arrives at once, so that the next hop can use the connection.
#[inline(never)]
fn drain(answer: HttpResponse<Body>, deadline: Instant) {
    let mut body = answer.into_body().into_reader().take(DRAIN_BYTES);
    // After an error or a longer body, the connection is closed.
    Limits::set_deadline(deadline.min(Instant::now() + DRAIN_TIME));
    let _ = io::copy(&mut body, &mut io::sink());
    Limits::set_deadline(deadline);
}

#[inline(never)]
fn keep_cookies(jar: &mut CookieJar, url: &Url, headers: &HeaderMap) {
    let Some(host) = url.host_str() else { return };
    for cookie in headers.get_all(ureq::http::header::SET_COOKIE) {
        jar.store(host, &String::from_utf8_lossy(cookie.as_bytes()));
    }
}

#[inline(never)]
fn read_answer(response: HttpResponse<Body>, final_url: Url, limit: usize) -> Result<Response, ProbeError> {
    let (parts, body) = response.into_parts();
    let (body, truncated) = match limit {
        // A request that does not read the body does not wait for it.
        0 => (Vec::new(), body.content_length() != Some(0)),
        _ => body::read(&parts.headers, body, limit)?,
    };
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| {
            let value = match std::str::from_utf8(value.as_bytes()) {
                Ok(text) => text.to_owned(),
                // The text must be the address that the bytes are.
                Err(_) if *name == LOCATION => encode_address(value.as_bytes()),
                Err(_) => String::from_utf8_lossy(value.as_bytes()).into_owned(),
            };
            (name.as_str().to_owned(), value)
        })
        .collect();
    Ok(Response { status: parts.status.as_u16(), final_url, headers, body, truncated })
}
