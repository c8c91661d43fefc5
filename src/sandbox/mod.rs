//! A simulated web that plays every module of the catalogue.
//!
//! A [`Sandbox`] is an HTTP server on a loopback port of its own. A prober in sandbox mode sends every
//! request to it instead of to the site, in plain HTTP, and says in `X-Sightline-*` headers which module
//! asks for what. The engine, the prober and the matchers are the real ones; nothing outside is asked.
//!
//! | file | holds |
//! |---|---|
//! | [`options`](self) | what the simulated web is like: seed, delays, shares of sites that misbehave |
//! | `world` | who exists where, how each site behaves, how long it takes; names to rely on |
//! | `web` | from a request to what comes of it |
//! | `stage/` | answers that make a module hit or miss, from its own rules, tried out on them |
//! | `browsers`, `script` | premium modules: pages as a browser would hand them over, or as it gets them |
//! | `trouble` | challenge pages, login walls and other trouble |
//! | `server`, `wire` | the little HTTP server |
//!
//! # Names that client developers can rely on
//! Queries that begin with `nobody` exist nowhere, with `everybody` everywhere; with `blocked`, `limited`,
//! `silent` or `broken` every site behaves so. In an email address the local part counts, in a domain the
//! first label. All else is drawn from the seed and the names: the same query has the same results.
//!
//! # To add a way of misbehaving
//! [`Mood`] and [`Shares`] in `options.rs`, its answer in `trouble.rs`; for client developers a name in
//! `world.rs`.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::modules::module::Module;

mod browsers;
mod draw;
mod options;
mod script;
mod server;
mod stage;
mod trouble;
mod web;
mod wire;
mod world;

pub use browsers::SimulatedBrowsers;
pub use options::{Mood, SandboxOptions, Shares};
pub use stage::Problem;
pub use web::Requests;

use server::{Host, Server};
use web::Web;

/// The running simulated web; it stops when dropped.
pub struct Sandbox {
    server: Server,
    web: Arc<Web>,
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("addr", &self.addr()).finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Starts to answer for these modules on a free loopback port.
    ///
    /// # Errors
    /// `InvalidInput` when the options are impossible; otherwise no port or no threads were to be had.
    pub fn start(
        modules: impl IntoIterator<Item = Arc<Module>>,
        options: SandboxOptions,
    ) -> io::Result<Self> {
        options.validate()?;
        let web = Arc::new(Web::new(modules, options));
        let host: Arc<dyn Host> = Arc::clone(&web) as _;
        let server = Server::start(host)?;
        Ok(Self { server, web })
    }

    /// Where it listens: `127.0.0.1` and a port.
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// How often it was asked so far.
    pub fn requests(&self) -> Requests {
        self.web.requests()
    }

    /// The modules for which it cannot give answers that hit and answers that miss, sorted by module;
    /// their rules cannot tell the two apart. Tries every module out: seconds for a large catalogue.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.web.sites().flat_map(stage::Site::problems).collect();
        problems.sort_by(|one, other| (&one.module, &one.what).cmp(&(&other.module, &other.what)));
        problems
    }
}
