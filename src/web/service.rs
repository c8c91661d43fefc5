//! [`Web`]: what pages are made of, and redirects to other pages.

use std::ops::Deref;
use std::sync::Arc;

use url::Url;

use super::cookies::{Cookie, Cookies, Notice};
use super::error::Answer;
use crate::account::sign_in::SignIns;
use crate::base::address::path_prefix;
use crate::http::{LoadReader, Reply, Response};
use crate::service::Services;

/// The web app.
pub struct Web {
    /// The address that clients use, without a slash at its end.
    pub(super) base_url: String,
    /// Whether a simulated web answers every search. Every page shows it then.
    pub(super) sandbox: bool,
    services: Services,
    /// The sessions, and the use cases of signing in.
    pub(super) sign_ins: Arc<SignIns>,
    /// The load of the server.
    pub(super) load_reader: LoadReader,
    pub(super) root: String,
    pub(super) origin: String,
    pub(super) cookies: Cookies,
}

impl Deref for Web {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl Web {
    /// Creates the web app. It shares the services with the API.
    pub fn new(
        base_url: String,
        sandbox: bool,
        services: Services,
        sign_ins: Arc<SignIns>,
        load_reader: LoadReader,
    ) -> Self {
        let origin = Url::parse(&base_url).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        let root = path_prefix(&base_url);
        let cookies = Cookies::new(base_url.starts_with("https:"), &root, sign_ins.limits().longest);
        Self { base_url, sandbox, services, sign_ins, load_reader, root, origin, cookies }
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
