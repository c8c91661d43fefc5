//! [`Web`]: the parts from which pages are made, and redirects to other pages.

use std::ops::Deref;
use std::sync::Arc;

use url::Url;

use super::cookies::{Cookie, Cookies, Notice};
use super::error::Answer;
use crate::account::sign_in::SignIns;
use crate::base::address::path_prefix;
use crate::http::{LoadReader, Reply, Response};
use crate::service::Services;

/// The operator's configuration of the web app.
#[derive(Debug, Clone)]
pub struct WebConfig {
    /// The address that clients use, without a slash at its end.
    pub base_url: String,
    /// Whether a simulated web answers every search. Every page shows it then.
    pub sandbox: bool,
}

/// The parts from which pages are made.
pub struct Parts {
    /// What the web app shares with the API.
    pub services: Services,
    /// The sessions, and the use cases of signing in.
    pub sign_ins: Arc<SignIns>,
    /// The load of the server.
    pub load_reader: LoadReader,
}

/// The web app.
pub struct Web {
    pub(super) config: WebConfig,
    pub(super) parts: Parts,
    pub(super) root: String,
    pub(super) origin: String,
    pub(super) cookies: Cookies,
}

impl Deref for Web {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.parts.services
    }
}

impl Web {
    /// Creates the web app from these parts.
    pub fn new(config: WebConfig, parts: Parts) -> Self {
        let url = Url::parse(&config.base_url).ok();
        let root = path_prefix(&config.base_url);
        let origin = url.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        let session_lifetime = parts.sign_ins.limits().longest;
        let cookies = Cookies::new(config.base_url.starts_with("https:"), &root, session_lifetime);
        Self { config, parts, root, origin, cookies }
    }

    /// Returns a redirect (303) to another page of the app. `path` begins with `/app`.
    pub(super) fn redirect(&self, path: &str) -> Answer {
        self.redirect_with(path, &[])
    }

    /// Returns a redirect (303) to another page of the app, which shows the notice.
    pub(super) fn redirect_with_notice(&self, path: &str, notice: Notice) -> Answer {
        self.redirect_with(path, &[(Cookie::Notice, &notice.number())])
    }

    /// Returns a redirect (303) to another page of the app, which sets these cookies.
    pub(super) fn redirect_with(&self, path: &str, cookies: &[(Cookie, &str)]) -> Answer {
        let response = Response::empty(303).with_header("Location", format!("{}{path}", self.root));
        let set = |response: Response, (cookie, value): &(Cookie, &str)| {
            response.with_header("Set-Cookie", self.cookies.set(*cookie, value))
        };
        Ok(Reply::Now(cookies.iter().fold(response, set)))
    }
}
