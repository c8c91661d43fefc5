//! The admin listener: opened before anything else, closed after everything else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use log::{info, warn};

use super::AppError;
use crate::admin::{Admin, AdminHandler};
use crate::base::clock::{Clock, SystemClock};
use crate::http::{RunningServer, Server, ServerConfig};

/// A scrape is quick work.
const WORKERS: usize = 2;
const QUEUE: usize = 64;
/// Answers that wait or are read slowly: there is no reason for more.
const SLOW_READERS: usize = 8;
/// A few scrapers and probes; who opens more gets the others closed.
const CONNECTIONS: usize = 64;
/// For answers that are just being written.
const DRAIN: Duration = Duration::from_millis(200);

/// The admin side, listening or not.
pub(super) struct AdminSide {
    pub(super) admin: Arc<Admin>,
    server: Option<RunningServer>,
}

impl AdminSide {
    /// Listens, where there is an address: liveness is answered from here on.
    pub(super) fn open(address: Option<SocketAddr>) -> Result<Self, AppError> {
        let admin = Arc::new(Admin::new(SystemClock.now()));
        let server = match address {
            Some(address) => Some(listen(address, &admin)?),
            None => None,
        };
        Ok(Self { admin, server })
    }

    /// Answers to the last; then goes.
    pub(super) fn close(self) {
        if let Some(server) = self.server {
            server.shutdown(DRAIN);
        }
    }
}

fn listen(address: SocketAddr, admin: &Arc<Admin>) -> Result<RunningServer, AppError> {
    let failed = |error: std::io::Error| AppError::Failed(format!("the admin listener: {error}"));
    let config = ServerConfig {
        listen: address,
        request_workers: WORKERS,
        request_queue: QUEUE,
        max_streams: SLOW_READERS,
        body_workers: 1,
        max_body_bytes: 1024,
        max_connections: Some(CONNECTIONS),
        // The public side sets it for both.
        adjust_descriptor_limit: false,
        ..ServerConfig::default()
    };
    let server = Server::bind(&config).map_err(failed)?;
    let bound = server.local_addr();
    let server = server.start(Arc::new(AdminHandler(Arc::clone(admin)))).map_err(failed)?;
    info!("metrics and probes on http://{bound}");
    if !bound.ip().to_canonical().is_loopback() {
        warn!("the admin listener on {bound} asks for no key: keep it where operators alone can reach it");
    }
    Ok(server)
}
