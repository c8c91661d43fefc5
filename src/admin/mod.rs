//! What an operator's machines ask, on a listener of its own: metrics, liveness, readiness. It has its own threads
//! and answers while the public side has none to spare; it knows no key, so it is to be kept private.
//!
//! | file | holds |
//! |---|---|
//! | `readiness` | whether requests should be sent here |
//! | `exposition` | Prometheus' text format |
//! | `metrics` | which families there are, and where their figures come from |
//! | `traffic`, `work`, `storage` | families of the public side, of searches, of the store |
//! | `process` | what the system says of this process |
//!
//! To add a figure: count it in the room where it arises (`base::count`), add a family in the file of that room
//! here. A label never holds what a client chose: no query, no key, no id.

mod exposition;
mod metrics;
mod process;
mod readiness;
mod storage;
mod traffic;
mod work;

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::api::Api;
use crate::base::clock::Clock;
use crate::http::{Gauge, Handler, Refusal, Reply, Request, Response, Traffic};
use crate::modules::module::Module;
use crate::runs::health::verdict::ModuleHealth;
use crate::runs::service::Runs;
use crate::store::Store;
pub use readiness::Readiness;

/// The text format of Prometheus, in the version that everything that scrapes reads.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
const PATHS: &str = "/metrics  figures for Prometheus\n/metrics/modules  the same for each module\n\
                     /healthz  whether the process serves\n/readyz  whether requests should be sent here\n";

/// What the figures come from, once the server is put together.
pub struct Parts {
    /// The contract's side.
    pub api: Arc<Api>,
    /// The web app's requests and answers.
    pub web: Arc<Traffic>,
    /// Searches.
    pub runs: Arc<Runs>,
    /// The store.
    pub store: Arc<Store>,
    /// The public server.
    pub gauge: Gauge,
    /// Time of day.
    pub clock: Arc<dyn Clock>,
}

impl Parts {
    /// Every module of the catalogue with how it does.
    fn health_of_all(&self) -> Vec<(&Module, ModuleHealth)> {
        self.runs.module_health().of_all(self.runs.catalog().modules(), self.clock.now())
    }
}

/// Answers what operators ask.
pub struct Admin {
    started: Timestamp,
    readiness: Readiness,
    parts: OnceLock<Parts>,
}

impl Admin {
    /// Before anything else is there; `started` is the moment of the process' start.
    pub fn new(started: Timestamp) -> Self {
        Self { started, readiness: Readiness::default(), parts: OnceLock::new() }
    }

    /// The server serves from now on.
    pub fn serve(&self, parts: Parts) {
        // Called once, at the start.
        let _ = self.parts.set(parts);
        self.readiness.begin();
    }

    /// The shutdown begins.
    pub fn drain(&self) {
        self.readiness.drain();
    }

    fn ready(&self) -> Response {
        let has_store = || self.parts.get().is_some_and(|parts| parts.api.has_store());
        match self.readiness.why_not(has_store) {
            None => Response::new(200, PLAIN, *b"ready\n"),
            Some(why) => Response::new(503, PLAIN, format!("{why}\n").into_bytes()),
        }
    }

    fn answer(&self, request: &Request) -> Response {
        if !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Response::empty(405).with_header("Allow", "GET, HEAD");
        }
        match request.path.as_str() {
            "/metrics" => Response::new(200, EXPOSITION, metrics::page(self).into_bytes()),
            "/metrics/modules" => Response::new(200, EXPOSITION, metrics::modules(self).into_bytes()),
            "/healthz" => Response::new(200, PLAIN, *b"ok\n"),
            "/readyz" => self.ready(),
            "/" => Response::new(200, PLAIN, PATHS.as_bytes()),
            _ => Response::new(404, PLAIN, PATHS.as_bytes()),
        }
    }
}

/// The handler of the admin listener.
pub struct AdminHandler(pub Arc<Admin>);

impl Handler for AdminHandler {
    fn handle(&self, request: Request) -> Reply {
        Reply::Now(self.0.answer(&request).with_header("Cache-Control", "no-store"))
    }

    fn refuse(&self, refusal: Refusal, _: Option<&Request>) -> Response {
        Response::new(refusal.status(), PLAIN, *b"refused\n")
    }
}
