//! The listeners: the public one with its handler, and the admin listener for metrics and probes, which opens before the
//! public one and closes after it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use log::{info, warn};

use super::error::Failure;
use crate::admin::Admin;
use crate::api::{Api, docs};
use crate::config::ServerConfig;
use crate::http::{self, Handler, Refusal, Reply, Request, Response, Router, RunningServer, Server};
use crate::web::{Web, is_app_path};

/// The paths to which lists of searches are sent, with the maximum size of a list.
const LARGER_BODIES: &[(&str, usize)] = &[("/v1/batches", MAX_LIST_BYTES), ("/app/batches", MAX_LIST_BYTES)];
/// The maximum size of a list of searches in bytes.
const MAX_LIST_BYTES: usize = 2 * 1024 * 1024;
/// Threads that answer requests of the admin listener. Scrapes and probes are short, so two are enough.
const ADMIN_WORKERS: usize = 2;
const ADMIN_QUEUE: usize = 64;
/// The most answers that may be written to slow clients at once.
const ADMIN_SLOW_READERS: usize = 8;

/// Opens the configured address.
///
/// # Errors
/// Fails if the address cannot be opened. Returns a configuration error if other machines can reach the
/// address and neither `--trusted-proxy` nor `--without-proxy` is given.
pub(super) fn open(config: &ServerConfig) -> Result<Server, Failure> {
    let address = config.listen;
    let is_public = !address.ip().to_canonical().is_loopback();
    if is_public && config.without_proxy {
        warn!(
            "listening on {address} without a reverse proxy: some requests can use up connections permanently"
        );
    } else if is_public && config.trusted_proxies.is_empty() {
        return Err(Failure::usage(format!(
            "--listen {address} can be reached from other machines, and no reverse proxy is named: the HTTP \
             library cannot fend off every hostile request alone (see `sightline manual operations`); \
             use a loopback address, an address behind a proxy that --trusted-proxy names, or \
             --without-proxy if it is meant to be without one"
        )));
    }
    let server = http::ServerConfig {
        listen: address,
        max_streams: config.max_streams,
        larger_bodies: LARGER_BODIES,
        trusted_proxies: config.trusted_proxies.clone(),
        ..http::ServerConfig::default()
    };
    Server::bind(&server).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => {
            let (ip, port) = (address.ip(), address.port().checked_add(1).unwrap_or_default());
            Failure::failed(format!(
                "cannot listen on {address}: another program uses this port; choose another one, such as --listen {}, or \
                 --listen {ip}:0 for any free one",
                SocketAddr::new(ip, port)
            ))
        }
        _ => Failure::failed(error),
    })
}

/// The handler of the public listener.
pub(super) struct PublicHandler {
    pub(super) api: Router<Api>,
    pub(super) web: Router<Web>,
}

/// Returns whether a browser asks for a page outside of the addresses for programs.
fn is_for_people(request: &Request) -> bool {
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    let is_of_programs = request.path == "/v1" || request.path.starts_with("/v1/");
    is_read && !is_of_programs && request.header("accept").is_some_and(|accept| accept.contains("text/html"))
}

impl Handler for PublicHandler {
    fn handle(&self, request: Request) -> Reply {
        let has_page = || self.api.has_path(&request.path) && docs::has_file(&request.path);
        if is_app_path(&request.path) || is_for_people(&request) && !has_page() {
            self.web.handle(request)
        } else {
            self.api.handle(request)
        }
    }

    fn refuse(&self, refusal: Refusal, request: Option<&Request>) -> Response {
        match request {
            Some(own) if is_app_path(&own.path) || is_for_people(own) => self.web.refuse(refusal, request),
            _ => self.api.refuse(refusal, request),
        }
    }
}

/// Opens the admin listener. Liveness is answered from here on.
pub(super) fn open_admin(address: SocketAddr, admin: &Arc<Admin>) -> Result<RunningServer, Failure> {
    let failed = |error: io::Error| Failure::failed(error).at("the admin listener");
    let config = http::ServerConfig {
        listen: address,
        request_workers: ADMIN_WORKERS,
        request_queue: ADMIN_QUEUE,
        max_streams: ADMIN_SLOW_READERS,
        max_body_bytes: 1024,
        ..http::ServerConfig::default()
    };
    let server = Server::bind(&config).map_err(failed)?;
    let bound = server.local_addr();
    let server = server.start(Arc::clone(admin) as _).map_err(failed)?;
    info!("metrics and probes on http://{bound}");
    if !bound.ip().to_canonical().is_loopback() {
        warn!("the admin listener on {bound} asks for no key: only operators should be able to reach it");
    }
    Ok(server)
}
