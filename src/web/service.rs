//! [`Web`]: configuration, parts, cookies and redirects, which all pages share.

use std::ops::Deref;
use std::sync::Arc;

use url::Url;

use super::cookies::{Cookie, Cookies};
use super::error::WebError;
use super::notice::Notice;
use super::visit::Visit;
use crate::account::sign_in::SignIns;
use crate::account::sign_in::service::Opened;
use crate::base::address::path_prefix;
use crate::http::{LoadReader, Reply, Response};
use crate::service::Services;

/// The time for which a notice waits for its page.
const NOTICE_LIFETIME: std::time::Duration = std::time::Duration::from_secs(60);

/// The most bytes of a secret that a page shows once.
const MOST_SECRET_BYTES: usize = 128;

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

impl Deref for Parts {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

/// The web app.
pub struct Web {
    pub(super) config: WebConfig,
    pub(super) parts: Parts,
    pub(super) root: String,
    pub(super) origin: String,
    pub(super) cookies: Cookies,
}

impl Web {
    /// Creates the web app from these parts.
    pub fn new(config: WebConfig, parts: Parts) -> Self {
        let url = Url::parse(&config.base_url).ok();
        let root = path_prefix(&config.base_url);
        let origin = url.as_ref().map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        let cookies = Cookies::new(config.base_url.starts_with("https:"), &root);
        Self { config, parts, root, origin, cookies }
    }

    /// Returns the use cases that the web app shares with the API.
    pub(super) fn services(&self) -> &Services {
        &self.parts.services
    }

    /// Returns a redirect (303) to another page of the app. `path` begins with `/app`.
    pub fn redirect(&self, path: &str) -> Response {
        Response::empty(303).with_header("Location", format!("{}{path}", self.root))
    }

    /// Returns a redirect (303) to another page of the app, which shows the notice.
    pub fn redirect_with_notice(&self, path: &str, notice: Notice) -> Response {
        let cookie = self.cookies.set(Cookie::Notice, notice.as_str(), NOTICE_LIFETIME);
        self.redirect(path).with_header("Set-Cookie", cookie)
    }

    /// Returns a redirect (303) to another page of the app, which shows the secret once.
    pub(super) fn redirect_with_secret(&self, path: &str, secret: &str) -> Response {
        let cookie = self.cookies.set(Cookie::Made, secret, NOTICE_LIFETIME);
        self.redirect(path).with_header("Set-Cookie", cookie)
    }

    /// Returns the secret that the request before this one has made, and removes it from the browser with the page. Only
    /// a secret that begins with `prefix` is returned, since the browser may send anything.
    pub(super) fn made_secret(&self, visit: &Visit, prefix: &str) -> Option<String> {
        let made = self.cookies.read(&visit.request, Cookie::Made)?;
        let is_secret = made.len() <= MOST_SECRET_BYTES && made.starts_with(prefix);
        is_secret.then(|| made.to_owned())
    }

    /// Removes the secret from the browser with the response.
    pub(super) fn without_secret(&self, response: Response) -> Response {
        response.with_header("Set-Cookie", self.cookies.clear(Cookie::Made))
    }

    /// Runs work that waits (to hash a password or to remove much data) on a separate thread. Its error becomes a
    /// page, as in any other handler.
    pub fn later(
        self: &Arc<Self>,
        visit: Visit,
        work: impl FnOnce(&Arc<Self>, Visit) -> Result<Reply, WebError> + Send + 'static,
    ) -> Reply {
        let web = Arc::clone(self);
        Reply::Later(Box::new(move || {
            let (frame, id) = (visit.frame.clone(), visit.request_id.clone());
            work(&web, visit).unwrap_or_else(|error| Reply::Now(error.into_response(&frame, &id)))
        }))
    }

    /// Adds the cookie of a session that has just begun to the response.
    pub(super) fn with_session(&self, response: Response, opened: &Opened) -> Response {
        let lasts = self.parts.sign_ins.limits().longest;
        let cookie = self.cookies.set(Cookie::Session, opened.token.expose(), lasts);
        response.with_header("Set-Cookie", cookie)
    }

    /// Removes the cookie of a session with the response.
    pub(super) fn without_session(&self, response: Response) -> Response {
        response.with_header("Set-Cookie", self.cookies.clear(Cookie::Session))
    }
}
