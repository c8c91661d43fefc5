//! The admin listener for metrics and probes. It opens before the public listener and closes after it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use log::{info, warn};

use super::error::AppError;
use crate::admin::{Admin, AdminHandler};
use crate::base::clock::{Clock, SystemClock};
use crate::http::{RunningServer, Server, ServerConfig};

/// Threads that answer requests. Scrapes and probes are short, so two are enough.
const WORKERS: usize = 2;
const QUEUE: usize = 64;
/// The most answers that may be written to slow clients at once.
const SLOW_READERS: usize = 8;
/// The longest time that the shutdown waits for answers that are being written.
const DRAIN: Duration = Duration::from_millis(200);

/// The admin listener, or nothing where no address is configured.
pub(super) struct AdminSide {
    pub(super) admin: Arc<Admin>,
    server: Option<RunningServer>,
}

impl AdminSide {
    /// Starts to listen if there is an address. Liveness is answered from here on.
    pub(super) fn open(address: Option<SocketAddr>) -> Result<Self, AppError> {
        let admin = Arc::new(Admin::new(SystemClock.now()));
        let server = match address {
            Some(address) => Some(listen(address, &admin)?),
            None => None,
        };
        Ok(Self { admin, server })
    }

    /// Finishes the answers that are being written, then closes the listener.
    pub(super) fn close(self) {
        if let Some(server) = self.server {
            server.shutdown(DRAIN);
        }
    }
}

fn listen(address: SocketAddr, admin: &Arc<Admin>) -> Result<RunningServer, AppError> {
    let failed = |error: std::io::Error| AppError::failed(error).at("the admin listener");
    let config = ServerConfig {
        listen: address,
        request_workers: WORKERS,
        request_queue: QUEUE,
        max_streams: SLOW_READERS,
        max_body_bytes: 1024,
        ..ServerConfig::default()
    };
    let server = Server::bind(&config).map_err(failed)?;
    let bound = server.local_addr();
    let server = server.start(Arc::new(AdminHandler(Arc::clone(admin)))).map_err(failed)?;
    info!("metrics and probes on http://{bound}");
    if !bound.ip().to_canonical().is_loopback() {
        warn!("the admin listener on {bound} asks for no key: only operators should be able to reach it");
    }
    Ok(server)
}
