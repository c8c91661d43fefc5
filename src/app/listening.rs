//! The public listening socket.

use std::io;
use std::net::SocketAddr;

use log::warn;

use super::AppError;
use crate::base::descriptors;
use crate::config::ServerConfig;
use crate::http::{self, Server};

/// The paths to which lists of searches are sent, with the maximum size of a list.
const LARGER_BODIES: &[(&str, usize)] = &[("/v1/batches", MAX_LIST_BYTES), ("/app/batches", MAX_LIST_BYTES)];
/// The maximum size of a list of searches in bytes.
const MAX_LIST_BYTES: usize = 2 * 1024 * 1024;

/// Opens the configured address, or takes the socket that a service manager passes (`LISTEN_FDS`).
///
/// # Errors
/// Fails if the address cannot be opened. Returns a configuration error if other machines can reach the
/// address and neither `--trusted-proxy` nor `--without-proxy` is given.
pub(super) fn open(config: &ServerConfig) -> Result<Server, AppError> {
    descriptors::adjust_limit();
    let server = http::ServerConfig {
        listen: config.listen,
        request_workers: config.request_workers,
        max_streams: config.max_streams,
        larger_bodies: LARGER_BODIES,
        trusted_proxies: config.trusted_proxies.clone(),
        ..http::ServerConfig::default()
    };
    match http::activated_listener().map_err(AppError::failed)? {
        Some(listener) => {
            let bound = listener.local_addr().map_err(AppError::failed)?;
            check_exposure("the socket in LISTEN_FDS", bound, config)?;
            Server::from_listener(listener, &server)
        }
        None => {
            check_exposure("--listen", config.listen, config)?;
            return Server::bind(&server).map_err(|error| cannot_listen(config.listen, error));
        }
    }
    .map_err(AppError::failed)
}

/// Returns the error of an address that cannot be opened.
fn cannot_listen(address: SocketAddr, error: io::Error) -> AppError {
    if error.kind() != io::ErrorKind::AddrInUse {
        return AppError::failed(error);
    }
    let other = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or_default());
    AppError::failed(format!(
        "cannot listen on {address}: another program uses this port; choose another one, such as --listen {other}, or \
         --listen {}:0 for any free one",
        other.ip()
    ))
}

/// Refuses an address that other machines can reach, unless the operator names a proxy or accepts the risk.
fn check_exposure(what: &str, address: SocketAddr, config: &ServerConfig) -> Result<(), AppError> {
    if address.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    if config.without_proxy {
        warn!(
            "listening on {address} without a reverse proxy: some requests can use up connections permanently"
        );
        return Ok(());
    }
    if config.trusted_proxies.is_empty() {
        return Err(AppError::config(format!(
            "{what} {address} can be reached from other machines, and no reverse proxy is named: the HTTP \
             library cannot fend off every hostile request by itself (see `sightline manual operations`); \
             allowed is a loopback address, an address behind a proxy that --trusted-proxy names, or \
             --without-proxy if it is meant to be without one"
        )));
    }
    Ok(())
}
