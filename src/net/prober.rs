//! The prober that sends requests over HTTP.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::Body;
use ureq::http::header::LOCATION;
use ureq::http::{HeaderMap, HeaderValue, Response as HttpResponse};
use url::Url;

use super::approve::Approver;
use super::client::{Dialing, HopClient, http_config};
use super::config::NetConfig;
use super::failure::probe_error;
use super::idle::{IdleConnections, Target};
use super::progress::{Allowance, HOP_BYTES};
use super::redirect::{Hop, MAX_URL_BYTES};
use super::tls::Tls;
use super::{body, headers, redirect, whois};
use crate::base::encoding::encode_address;
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, LocalFault, Phase, ProbeError, Prober, Request, Response};

/// The most bytes of a redirect's body that are read, so that the next hop can use the connection.
const DRAIN_BYTES: u64 = 16 * 1024;

/// The longest time for reading the body of a redirect.
const DRAIN_TIME: Duration = Duration::from_millis(100);

/// The HTTP prober, which all check workers share.
///
/// Each hop has its own approved addresses and deadline. It uses an idle connection if there is one to exactly these
/// addresses: the control check of a hit usually finds one, and so does a redirect within a host.
///
/// Hundreds of threads wait for answers at once. Functions that are called before and after the wait are not inlined, so
/// that their variables do not lie on the stack below it.
pub struct HttpProber {
    user_agent: HeaderValue,
    dialing: Dialing,
    idle: IdleConnections<HopClient>,
    approver: Approver,
    browser: Option<Arc<dyn Prober>>,
}

/// An answer whose head has been read and whose body has not.
struct Answer {
    client: HopClient,
    response: HttpResponse<Body>,
}

impl HttpProber {
    /// Creates a prober.
    pub fn new(config: NetConfig) -> Self {
        let NetConfig { user_agent, connect_timeout, outbound_proxy: proxy, .. } = config;
        let tls = Tls::new(config.authorities.as_deref().unwrap_or_default());
        Self {
            user_agent,
            dialing: Dialing { connect_timeout, proxy, tls, http: http_config() },
            idle: IdleConnections::new(),
            approver: Approver::new(config.allow_private_targets),
            browser: None,
        }
    }

    /// Has pages for a browser opened by `browser`.
    #[must_use]
    pub fn with_browser(mut self, browser: Arc<dyn Prober>) -> Self {
        self.browser = Some(browser);
        self
    }

    #[inline(never)]
    fn first_hop(&self, request: &Request) -> Result<Hop, ProbeError> {
        let mut url = request.url.clone();
        redirect::remove_unsent_parts(&mut url);
        if !matches!(url.scheme(), "http" | "https") || url.as_str().len() > MAX_URL_BYTES {
            return Err(ProbeError::Protocol(format!(
                "the URL of a request must be http or https, and at most {MAX_URL_BYTES} bytes long"
            )));
        }
        Ok(Hop {
            index: 0,
            method: request.method,
            url,
            headers: headers::of_request(request, &self.user_agent)?,
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
        deadline: Instant,
        allowance: &Allowance,
    ) -> Result<Answer, ProbeError> {
        let target = self.approve(&hop.url, deadline)?;
        allowance.grant(HOP_BYTES);
        let mut idle = self.idle_client(hop, &target);
        loop {
            let is_reused = idle.is_some();
            let client = match idle.take() {
                Some(client) => client,
                None => self.connect(&target, allowance, deadline)?,
            };
            let result = match &request.body {
                _ if !hop.has_body => client.run(self.message(hop, jar, ())?, allowance, deadline),
                None => client.run(self.message(hop, jar, &[][..])?, allowance, deadline),
                Some((_, body)) => client.run(self.message(hop, jar, &body[..])?, allowance, deadline),
            };
            if is_reused && client.went_unanswered(&result) {
                continue;
            }
            let response = result.map_err(|error| probe_error(error, Phase::FirstByte))?;
            return Ok(Answer { client, response });
        }
    }

    /// Returns an idle client for the target. A request that must not be sent twice never gets one, because a server may
    /// close an idle connection without saying whether it has seen the request.
    fn idle_client(&self, hop: &Hop, target: &Target) -> Option<HopClient> {
        let is_repeatable = matches!(hop.method, Method::Get | Method::Head);
        is_repeatable.then(|| self.idle.take(target, Instant::now())).flatten()
    }

    /// Connects to the target. If idle connections hold the last file descriptors or ports, they are closed.
    #[inline(never)]
    fn connect(
        &self,
        target: &Target,
        allowance: &Allowance,
        deadline: Instant,
    ) -> Result<HopClient, ProbeError> {
        match HopClient::connect(&self.dialing, target, allowance, deadline) {
            Err(ProbeError::Local(LocalFault::Resources, _)) if self.idle.close_all() => {
                HopClient::connect(&self.dialing, target, allowance, deadline)
            }
            result => result,
        }
    }

    /// Keeps the client if its connection can be used again.
    fn keep(&self, client: HopClient) {
        if client.is_open() {
            self.idle.put(client.target.clone(), client, Instant::now());
        }
    }

    /// Reads the body of a redirect if it is short and arrives at once, so that the next hop can use the connection.
    #[inline(never)]
    fn drain(&self, answer: Answer) {
        let Answer { client, response } = answer;
        client.end_before(Instant::now() + DRAIN_TIME);
        let mut body = response.into_body().into_reader().take(DRAIN_BYTES);
        // After an error or a longer body, the connection is closed.
        let _ = io::copy(&mut body, &mut io::sink());
        drop(body);
        self.keep(client);
    }

    /// Resolves the host of a URL and keeps the addresses that pass the guard.
    #[inline(never)]
    fn approve(&self, url: &Url, deadline: Instant) -> Result<Target, ProbeError> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(ProbeError::Protocol("the URL of the request has no host".into()));
        };
        let is_tls = url.scheme() == "https";
        self.approver.target(&host, (port, is_tls), self.dialing.proxy.as_ref(), deadline)
    }

    /// Sends a WHOIS query to the approved addresses of its host.
    #[inline(never)]
    fn whois(&self, request: &Request, deadline: Instant) -> Result<Response, ProbeError> {
        let target = self.approve(&request.url, deadline)?;
        let Dialing { proxy, connect_timeout, .. } = &self.dialing;
        whois::send(request, &target, proxy.as_ref(), *connect_timeout, deadline)
    }

    /// Builds the request of a hop for ureq.
    #[inline(never)]
    fn message<B>(&self, hop: &Hop, jar: &CookieJar, body: B) -> Result<ureq::http::Request<B>, ProbeError> {
        let mut headers = hop.headers.clone();
        if let Some(cookies) =
            hop.url.host_str().filter(|_| !hop.is_downgraded).and_then(|host| jar.header_for(host))
        {
            headers::add_cookies(&mut headers, &cookies);
        }
        let mut message = ureq::http::Request::builder()
            .method(hop.method.as_str())
            .uri(hop.url.as_str())
            .body(body)
            .map_err(|e| probe_error(e.into(), Phase::Connect))?;
        *message.headers_mut() = headers;
        Ok(message)
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
                None => return Err(ProbeError::Unavailable("no browser is configured".into())),
            },
            Via::Whois => return self.whois(request, deadline),
        }
        let allowance = Allowance::for_body(request.body_limit);
        let mut hop = self.first_hop(request)?;
        loop {
            let answer = self.exchange(&hop, request, jar, deadline, &allowance);
            let answer =
                answer.map_err(|error| if hop.index > 0 { error.after_redirect() } else { error })?;
            keep_cookies(jar, &hop.url, answer.response.headers());
            let status = answer.response.status().as_u16();
            match redirect::next(&hop, status, answer.response.headers(), request.max_redirects)? {
                Some(next) => {
                    if next.url.origin() == hop.url.origin() {
                        self.drain(answer);
                    }
                    hop = next;
                }
                None => {
                    let Answer { client, response } = answer;
                    let answer = read_answer(response, hop.url, request.body_limit)?;
                    self.keep(client);
                    return Ok(answer);
                }
            }
        }
    }

    fn evict_expired(&self, now: Instant) {
        self.approver.sweep(now);
        self.idle.close_expired(now);
        if let Some(browser) = &self.browser {
            browser.evict_expired(now);
        }
    }
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
