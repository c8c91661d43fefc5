//! [`Web`]: what pages are made of, and redirects to other pages.

use std::ops::Deref;
use std::sync::Arc;

use url::Url;

use super::cookies::{Cookie, Cookies, Notice};
use super::error::Answer;
use crate::http::{Reply, Response, Threads};
use crate::service::Services;

/// The web app.
pub struct Web {
    pub(super) services: Services,
    /// The load of the server.
    pub(super) threads: Arc<Threads>,
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
    /// Creates the web app from these parts.
    pub fn new(services: Services, threads: Arc<Threads>) -> Self {
        let origin = Url::parse(&services.base_url).map(|url| url.origin().ascii_serialization());
        let is_encrypted = services.base_url.starts_with("https:");
        let cookies = Cookies::new(is_encrypted, &services.root, services.sign_ins.limits().longest);
        Self { services, threads, origin: origin.unwrap_or_default(), cookies }
    }

    /// Returns a redirect (303) to another page of the app. `path` starts with `/app`.
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
