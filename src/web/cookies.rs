//! The cookies of the app: the session token, the token that binds a form to a browser that is not signed in, a notice,
//! and a secret that the next page shows once.
//!
//! All are `HttpOnly; SameSite=Lax` and sent only to the app. With TLS they are `Secure` and their names
//! begin with `__Secure-`, so that a page without TLS cannot set one. (`__Host-` would send them to every
//! path.)

use std::time::Duration;

use crate::http::Request;

/// The kinds of cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The token of a session.
    Session,
    /// The token against which forms are checked if the browser is not signed in.
    Form,
    /// The name of a notice.
    Notice,
    /// A secret that was just made: a key, or the secret of a webhook. The next page shows and removes it, so that no form
    /// has to be sent again to show a page again.
    Made,
}

impl Cookie {
    fn name(self, secure: bool) -> &'static str {
        match (self, secure) {
            (Self::Session, true) => "__Secure-sightline",
            (Self::Session, false) => "sightline",
            (Self::Form, true) => "__Secure-sightline-form",
            (Self::Form, false) => "sightline-form",
            (Self::Notice, true) => "__Secure-sightline-notice",
            (Self::Notice, false) => "sightline-notice",
            (Self::Made, true) => "__Secure-sightline-made",
            (Self::Made, false) => "sightline-made",
        }
    }
}

/// A reader and writer of cookies.
pub(super) struct Cookies {
    secure: bool,
    path: String,
}

impl Cookies {
    /// Creates the cookies for the app below `root` of an origin. `secure` tells whether browsers use TLS.
    pub(super) fn new(secure: bool, root: &str) -> Self {
        Self { secure, path: format!("{root}/app") }
    }

    /// Returns the cookie that the browser sent. Returns `None` if it sent two, because another site has set one of
    /// them.
    pub(super) fn read<'a>(&self, request: &'a Request, cookie: Cookie) -> Option<&'a str> {
        let name = cookie.name(self.secure);
        let mut values = request
            .header_values("cookie")
            .flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter_map(|(key, value)| (key == name).then_some(value));
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }

    /// Returns a `Set-Cookie` header. The value must be visible ASCII without a semicolon.
    pub(super) fn set(&self, cookie: Cookie, value: &str, lasts: Duration) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!(
            "{}={value}; Path={}; Max-Age={}; HttpOnly; SameSite=Lax{secure}",
            cookie.name(self.secure),
            self.path,
            lasts.as_secs()
        )
    }

    /// Returns a `Set-Cookie` header that removes the cookie.
    pub(super) fn clear(&self, cookie: Cookie) -> String {
        self.set(cookie, "", Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sending(cookie: &str) -> Request {
        Request { headers: vec![("cookie".into(), cookie.into())], ..Request::default() }
    }

    #[test]
    fn a_cookie_is_found_unless_it_is_repeated() {
        let cookies = Cookies::new(false, "");
        let read = |text: &str| cookies.read(&sending(text), Cookie::Session).map(str::to_owned);
        assert_eq!(read("a=b; sightline=x; sightline-form=y").as_deref(), Some("x"));
        assert_eq!(read("sightline-form=y"), None);
        assert_eq!(read("sightline=x; sightline=z"), None);
        assert_eq!(read("sightline"), None);
    }

    #[test]
    fn cookies_are_secure_with_tls() {
        let set = Cookies::new(true, "/search").set(Cookie::Session, "x", Duration::from_secs(60));
        let want = "__Secure-sightline=x; Path=/search/app; Max-Age=60; HttpOnly; SameSite=Lax; Secure";
        assert_eq!(set, want);
        assert_eq!(
            Cookies::new(false, "").clear(Cookie::Notice),
            "sightline-notice=; Path=/app; Max-Age=0; HttpOnly; SameSite=Lax"
        );
    }
}
