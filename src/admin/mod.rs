//! The admin listener: metrics, liveness and readiness for operators. It has its own threads and answers
//! while the public listener has none to spare. It needs no key, so it must be kept private.
//!
//! | file | holds |
//! |---|---|
//! | `pages` | the page of metrics |
//! | `process` | metrics of the process, from `/proc` |
//! | `exposition` | Prometheus' text format |

mod exposition;
mod pages;
mod process;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;

use crate::http::{Handler, Refusal, Reply, Request, Response};

pub use pages::{Parts, TaskTimes};

/// The content type of Prometheus' text format, in the version that all scrapers read.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
const PATHS: &str = "/metrics  metrics for Prometheus\n\
                     /healthz  whether the process serves\n/readyz  whether requests should be sent here\n";

/// Metrics, liveness and readiness.
pub struct Admin {
    started: Timestamp,
    /// Whether the shutdown has begun: the process should get no new requests, while it finishes the running ones.
    drains: AtomicBool,
    /// Empty until the server serves: until the schema is up to date, and requests are taken. Liveness is answered before the other parts exist.
    parts: OnceLock<Parts>,
}

impl Admin {
    /// Creates the admin pages without the other parts. `started` is the start of the process.
    pub fn new(started: Timestamp) -> Self {
        Self { started, drains: AtomicBool::new(false), parts: OnceLock::new() }
    }

    /// Adds the other parts, once the server serves.
    pub fn serve(&self, parts: Parts) {
        // Called once, at the start.
        let _ = self.parts.set(parts);
    }

    /// Marks the process as not ready, because the shutdown begins.
    pub fn drain(&self) {
        self.drains.store(true, Ordering::Release);
    }

    /// Answers whether requests should be sent to this process. Liveness is separate: a process that is not ready must
    /// not be killed.
    fn ready(&self) -> Response {
        let why = match self.parts.get() {
            _ if self.drains.load(Ordering::Acquire) => "shutting down\n",
            None => "starting\n",
            Some(parts) if !parts.api.has_store() => "the database does not answer, or refuses writes\n",
            Some(_) => return Response::new(200, PLAIN, *b"ready\n"),
        };
        Response::new(503, PLAIN, why.as_bytes())
    }

    fn answer(&self, request: &Request) -> Response {
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Response::empty(405).with_header("Allow", "GET, HEAD");
        }
        match request.path.as_str() {
            "/metrics" => Response::new(200, EXPOSITION, pages::page(self.started, self.parts.get())),
            "/healthz" => Response::new(200, PLAIN, *b"ok\n"),
            "/readyz" => self.ready(),
            "/" => Response::new(200, PLAIN, PATHS.as_bytes()),
            _ => Response::new(404, PLAIN, PATHS.as_bytes()),
        }
    }
}

impl Handler for Admin {
    fn handle(&self, request: Request) -> Reply {
        Reply::Now(self.answer(&request).with_header("Cache-Control", "no-store"))
    }

    fn refuse(&self, refusal: Refusal, _: Option<&Request>) -> Response {
        Response::new(refusal.parts().0, PLAIN, *b"refused\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_not_ready_while_it_starts_and_when_it_shuts_down() {
        let admin = Admin::new(Timestamp::now());
        let shown = || (admin.ready().status, admin.ready().body.to_vec());
        assert_eq!(shown(), (503, b"starting\n".to_vec()));
        admin.drain();
        assert_eq!(shown(), (503, b"shutting down\n".to_vec()));
    }
}
