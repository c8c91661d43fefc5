//! A simulated web with a site for every module of the catalogue.
//!
//! A [`Sandbox`] is an HTTP server on its own loopback port. In sandbox mode, a prober sends every request to this
//! server instead of the real site, as plain HTTP. `X-Sightline-*` headers name the module and the original request.
//! The engine, the prober and the matchers are the real ones. No outside host is contacted.
//!
//! | file | holds |
//! |---|---|
//! | [`options`](self) | the options: seed, delays, shares of sites that misbehave |
//! | `world` | the existing names, the behaviour and the delay of each site; names to rely on |
//! | `web` | the reaction to each request |
//! | `people/` | people whose accounts name each other, for tests of leads, graphs and people |
//! | `pages/` | answers that make a module hit or miss, made from its own rules and tested with them |
//! | `browsers`, `script` | premium modules: pages as a browser returns them, or as a real browser gets them |
//! | `portraits` | profile pictures |
//! | `drift` | changes of sites, to which rules must be adapted |
//! | `faults` | challenge pages, login pages and other misbehaviour |
//! | `server`, `wire` | the HTTP server |
//!
//! # Names that client developers can rely on
//! Queries that begin with `nobody` exist nowhere, those that begin with `everybody` exist everywhere. With
//! `blocked`, `limited`, `silent` or `broken`, every site behaves accordingly. Only the local part of an email
//! address and the first label of a domain count. Everything else is derived from the seed and the names: equal
//! queries have equal results.
//!
//! # To add a kind of misbehaviour
//! Add it to [`SiteBehavior`] and to the default shares in `options.rs`, and its answer to `faults.rs`. For client
//! developers, add a name to `world.rs`.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::modules::module::Module;

mod browsers;
mod draw;
mod drift;
mod faults;
mod options;
mod pages;
mod people;
mod portraits;
mod script;
mod server;
mod web;
mod wire;
mod world;

pub use browsers::SimulatedBrowsers;
pub use drift::{Drift, DriftKind};
pub use options::{SandboxOptions, SiteBehavior};
pub use pages::Problem;
pub use people::{PeopleKind, SeededAccount, SeededMailbox, SeededPeople, SeededRole, SeededSite};
pub use web::Requests;

use server::{Host, Server};
use web::Web;

/// A running simulated web. It stops when it is dropped.
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
    /// Starts the simulated web for these modules on a free loopback port.
    ///
    /// # Errors
    /// Returns `InvalidInput` if the options are impossible, or another error if no port or no threads are available.
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

    /// Returns the address of its server: `127.0.0.1` and a port.
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// Replaces the sites by those of these modules.
    pub fn replace(&self, modules: impl IntoIterator<Item = Arc<Module>>) {
        self.web.replace(modules);
    }

    /// Returns the counts of the requests so far.
    pub fn requests(&self) -> Requests {
        self.web.requests()
    }

    /// Returns the modules for which it cannot make answers that hit and answers that miss, sorted by module. The
    /// rules of such a module cannot tell the two apart. This tests every module, which takes seconds for a large
    /// catalogue.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = self.web.problems();
        problems.sort_by(|one, other| (&one.module, &one.what).cmp(&(&other.module, &other.what)));
        problems
    }
}
