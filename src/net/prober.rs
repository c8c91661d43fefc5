//! Sends probes over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ureq::http::{HeaderMap, HeaderValue, Response as HttpResponse};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::unversioned::transport::RustlsConnector;
use ureq::{Agent, Body, Proxy};
use url::Url;

use super::approve::{Approver, as_str};
use super::config::{NetConfig, NetError, OutboundProxy, ProxyKind, root_certs};
use super::dial::{Approved, Connected, HopConnector, address_list, socks_setting};
use super::failure::probe_error;
use super::redirect::{Hop, MAX_URL_BYTES};
use super::{body, headers, redirect};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, Phase, ProbeError, Prober, Request, Response, Timing};

/// The most bytes of an answer's head.
const MAX_HEAD_BYTES: usize = 32 * 1024;

/// More than a head, else a head that is too large would look like a connection that broke.
const INPUT_BUFFER_BYTES: usize = MAX_HEAD_BYTES + 4 * 1024;

/// Holds the longest header that is sent: an address for the sandbox.
const OUTPUT_BUFFER_BYTES: usize = 16 * 1024;

/// The HTTP prober. One serves all check workers.
///
/// An agent of ureq is made for each hop, from shared parts: that costs microseconds, gives each hop its
/// own deadline and approved addresses, and leaves no connection pool to queue for. Connections are not
/// reused: a run asks hundreds of hosts once.
pub struct HttpProber {
    user_agent: HeaderValue,
    connect_timeout: Duration,
    sandbox: Option<SocketAddr>,
    proxy: Option<Arc<OutboundProxy>>,
    socks: Option<Proxy>,
    roots: RootCerts,
    tls: Arc<RustlsConnector>,
    approver: Approver,
}

/// The head of an answer, its body unread.
struct Answer {
    response: HttpResponse<Body>,
    head_at: Instant,
}

impl HttpProber {
    /// A prober with these settings.
    ///
    /// # Errors
    /// When a setting is of no use; says which and what is allowed.
    pub fn new(config: NetConfig) -> Result<Self, NetError> {
        let roots = root_certs(&config)?;
        let NetConfig { user_agent, connect_timeout, allow_private_targets, outbound_proxy, sandbox, .. } =
            config;
        let is_visible = |text: &str| text.bytes().all(|b| (0x20..0x7f).contains(&b));
        let user_agent = Some(user_agent.trim())
            .filter(|text| (1..=256).contains(&text.len()) && is_visible(text))
            .and_then(|text| HeaderValue::from_str(text).ok())
            .ok_or(NetError::UserAgent)?;
        let proxy = outbound_proxy.as_deref().map(OutboundProxy::parse).transpose()?.map(Arc::new);
        let socks = match proxy.as_deref() {
            Some(proxy) if proxy.kind == ProxyKind::Socks5 => {
                Some(socks_setting(proxy).map_err(|_| NetError::Proxy("has no valid host"))?)
            }
            _ => None,
        };
        Ok(Self {
            user_agent,
            connect_timeout,
            sandbox,
            // The sandbox is in this process: no proxy on the way.
            proxy: proxy.filter(|_| sandbox.is_none()),
            socks: socks.filter(|_| sandbox.is_none()),
            roots,
            tls: Arc::default(),
            approver: Approver::new(allow_private_targets),
        })
    }

    fn first_hop(&self, request: &Request) -> Result<Hop, ProbeError> {
        let mut url = request.url.clone();
        redirect::tidy(&mut url);
        if !matches!(url.scheme(), "http" | "https") || url.as_str().len() > MAX_URL_BYTES {
            return Err(ProbeError::Protocol(format!(
                "the request's address is not one of http or https of at most {MAX_URL_BYTES} bytes"
            )));
        }
        Ok(Hop {
            index: 0,
            method: request.method,
            url,
            headers: headers::of_request(request, &self.user_agent)?,
            // POST and PUT have a body, be it an empty one.
            has_body: request.body.is_some() || matches!(request.method, Method::Post | Method::Put),
            is_downgraded: false,
        })
    }

    /// Sends one hop and takes the head of its answer.
    fn exchange(
        &self,
        hop: &Hop,
        request: &Request,
        jar: &CookieJar,
        deadline: Instant,
        timing: &mut Timing,
    ) -> Result<Answer, ProbeError> {
        let started = Instant::now();
        let approved = self.approve(&hop.url, deadline)?;
        let resolved_at = Instant::now();
        timing.resolve += resolved_at - started;
        let message = self.message(hop, request, jar)?;
        let remaining = deadline.saturating_duration_since(resolved_at);
        if remaining.is_zero() {
            return Err(ProbeError::Timeout(Phase::Connect));
        }
        let connected = Connected::default();
        let agent = self.agent(approved, remaining, connected.clone());
        let body = request.body.as_ref().filter(|_| hop.has_body).map_or(&[][..], |(_, bytes)| bytes);
        let result = match hop.has_body {
            true => agent.run(message.map(|()| body)),
            false => agent.run(message),
        };
        let head_at = Instant::now();
        let connected_at = connected.at();
        timing.connect += connected_at.unwrap_or(head_at) - resolved_at;
        timing.first_byte += head_at - connected_at.unwrap_or(head_at);
        let phase = if connected_at.is_some() { Phase::FirstByte } else { Phase::Connect };
        let response = result.map_err(|e| probe_error(e, phase))?;
        Ok(Answer { response, head_at })
    }

    /// Where the socket may connect to: the addresses of the host that pass the guard.
    fn approve(&self, url: &Url, deadline: Instant) -> Result<Approved, ProbeError> {
        if let Some(sandbox) = self.sandbox {
            return Ok(Approved { target: address_list([sandbox]), proxy: address_list([]) });
        }
        let proxy = match self.proxy.as_deref() {
            Some(proxy) => self.approver.resolve(&as_str(&proxy.host), proxy.port, deadline)?,
            None => Vec::new(),
        };
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(ProbeError::Protocol("the request's address has no host".into()));
        };
        let target = self.approver.approve(&host, port, deadline)?;
        Ok(Approved { target: address_list(target), proxy: address_list(proxy) })
    }

    /// The hop's request as ureq takes it.
    fn message(
        &self,
        hop: &Hop,
        request: &Request,
        jar: &CookieJar,
    ) -> Result<ureq::http::Request<()>, ProbeError> {
        let mut url = hop.url.clone();
        let mut headers = hop.headers.clone();
        if let Some(cookies) =
            hop.url.host_str().filter(|_| !hop.is_downgraded).and_then(|host| jar.header_for(host))
        {
            headers::add_cookies(&mut headers, &cookies);
        }
        if self.sandbox.is_some() {
            headers::add_sandbox_marks(&mut headers, request, &hop.url, hop.index)?;
            // The default port goes with its scheme, so `Host` stays the bare name.
            let _ = url.set_scheme("http");
        }
        let mut message = ureq::http::Request::builder()
            .method(hop.method.as_str())
            .uri(url.as_str())
            .body(())
            .map_err(|e| probe_error(e.into(), Phase::Connect))?;
        *message.headers_mut() = headers;
        Ok(message)
    }

    fn agent(&self, approved: Approved, remaining: Duration, connected: Connected) -> Agent {
        let config = Agent::config_builder()
            // Else ureq would take one from the environment, and the guard would be passed by.
            .proxy(self.socks.clone())
            .tls_config(TlsConfig::builder().root_certs(self.roots.clone()).build())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(0)
            .max_response_header_size(MAX_HEAD_BYTES)
            .input_buffer_size(INPUT_BUFFER_BYTES)
            .output_buffer_size(OUTPUT_BUFFER_BYTES)
            .timeout_global(Some(remaining))
            .timeout_connect(Some(self.connect_timeout.min(remaining)))
            .build();
        let connector = HopConnector {
            proxy: self.proxy.clone(),
            approved: approved.clone(),
            tls: Arc::clone(&self.tls),
            connected,
        };
        Agent::with_parts(config, connector, approved)
    }
}

impl Prober for HttpProber {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        // The simulated web hands over its pages as a browser would, once they are drawn.
        if request.via == Via::Browser && self.sandbox.is_none() {
            return Err(ProbeError::Unavailable("no browser is configured".into()));
        }
        let mut timing = Timing::default();
        let mut hop = self.first_hop(request)?;
        loop {
            let answer = self.exchange(&hop, request, jar, deadline, &mut timing)?;
            keep_cookies(jar, &hop.url, answer.response.headers());
            let status = answer.response.status().as_u16();
            match redirect::next(&hop, status, answer.response.headers(), request.max_redirects)? {
                Some(next) => hop = next,
                None => return read_answer(answer, hop.url, request.body_limit, timing),
            }
        }
    }

    fn keep_house(&self, now: Instant) {
        self.approver.sweep(now);
    }
}

fn keep_cookies(jar: &mut CookieJar, url: &Url, headers: &HeaderMap) {
    let Some(host) = url.host_str() else { return };
    for cookie in headers.get_all(ureq::http::header::SET_COOKIE) {
        jar.store(host, &String::from_utf8_lossy(cookie.as_bytes()));
    }
}

fn read_answer(
    answer: Answer,
    final_url: Url,
    limit: usize,
    mut timing: Timing,
) -> Result<Response, ProbeError> {
    let (parts, body) = answer.response.into_parts();
    let (body, truncated) = match limit {
        // Whoever wants nothing of the body does not wait for it.
        0 => (Vec::new(), body.content_length() != Some(0)),
        _ => body::read(&parts.headers, body, limit)?,
    };
    timing.body = answer.head_at.elapsed();
    let headers = parts
        .headers
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    Ok(Response { status: parts.status.as_u16(), final_url, headers, body, truncated, timing })
}
