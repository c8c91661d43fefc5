//! The cookies of the app: the session token, the token that binds a form to a browser that is not signed in, a notice,
//! and a secret that the next page shows once.
//!
//! All are `HttpOnly; SameSite=Lax` and sent only to the app. With TLS they are `Secure` and their names
//! start with `__Secure-`, so that a page without TLS cannot set one. (`__Host-` would send them to every
//! path.)

use std::time::Duration;

use crate::base::words::words;
use crate::http::Request;

/// The time for which a form stays valid in a browser that is not signed in. Tabs can stay open for days.
const FORM_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The time for which a notice or a secret waits for its page.
const NOTICE_LIFETIME: Duration = Duration::from_secs(60);

/// The kinds of cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cookie {
    /// The token of a session.
    Session,
    /// The token against which forms are checked if the browser is not signed in.
    Form,
    /// The number of a notice.
    Notice,
    /// A secret that was just made: a key, a set-up link, or the secret of a webhook. The next page shows and removes it,
    /// so that no form has to be sent again to show a page again.
    Made,
}

words! {
    /// A notice, which a redirect sets and the next page shows once.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Notice {
        /// The user signed out.
        SignedOut = "You are signed out.",
        /// The session had ended when a form was sent.
        SessionOver = "Your session had ended, so the last form was not applied. Sign in to continue.",
        /// The password was set with a link.
        PasswordSet = "Your password has been set, and you are signed in.",
        /// The password was changed.
        PasswordChanged = "Your password has been changed. All other sessions have ended.",
        /// A session was ended.
        SessionEnded = "The session has ended.",
        /// A key was revoked.
        KeyRevoked = "The key has been revoked.",
        /// A message to a webhook will be sent soon.
        MessageQueued = "The message will be sent soon. Load the page again to see its answer.",
        /// A webhook was deleted.
        WebhookDeleted = "The webhook and its deliveries have been deleted.",
        /// A watch was created.
        WatchCreated = "The watch has been created. Its first run starts in a moment.",
        /// A watch was deleted.
        WatchDeleted = "The watch and its changes have been deleted. Its runs are in the history.",
        /// A search was deleted.
        SearchDeleted = "The search and its results have been deleted.",
        /// The account was deleted.
        AccountDeleted = "Your account has been deleted permanently. Its data is being removed.",
        /// The plan of an account was changed by an operator.
        PlanChanged = "The plan has been changed. Running servers apply it within seconds.",
        /// What was learned about hosts or modules was forgotten.
        HealthReset = "What was learned has been forgotten. All instances follow within seconds.",
    }
}

impl Notice {
    /// Returns the value of its cookie.
    pub(super) fn number(self) -> String {
        (self as usize).to_string()
    }

    /// Returns the notice of a cookie.
    pub(super) fn of(number: &str) -> Option<Self> {
        Self::ALL.get(number.parse::<usize>().ok()?).copied()
    }

    /// Returns the CSS class of the notice.
    pub fn class(self) -> &'static str {
        if self == Self::SessionOver { "warn" } else { "good" }
    }
}

/// A reader and writer of cookies.
pub(super) struct Cookies {
    secure: bool,
    path: String,
    session_lifetime: Duration,
}

impl Cookies {
    /// Creates the cookies for the app below `root` of an origin. `secure` is whether browsers use TLS.
    pub(super) fn new(secure: bool, root: &str, session_lifetime: Duration) -> Self {
        Self { secure, path: format!("{root}/app"), session_lifetime }
    }

    fn name(&self, cookie: Cookie) -> String {
        let prefix = if self.secure { "__Secure-" } else { "" };
        let suffix = match cookie {
            Cookie::Session => "",
            Cookie::Form => "-form",
            Cookie::Notice => "-notice",
            Cookie::Made => "-made",
        };
        format!("{prefix}sightline{suffix}")
    }

    /// Returns the cookie that the browser sent. Returns `None` if it sent two, because another site has set one of
    /// them.
    pub(super) fn read<'a>(&self, request: &'a Request, cookie: Cookie) -> Option<&'a str> {
        let name = self.name(cookie);
        let pairs = request.header_values("cookie").flat_map(|header| header.split(';'));
        let pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
        let mut values = pairs.filter_map(|(key, value)| (key == name).then_some(value));
        let value = values.next()?;
        values.next().is_none().then_some(value)
    }

    /// Returns a `Set-Cookie` header. The value must be visible ASCII without a semicolon. An empty value removes the
    /// cookie.
    pub(super) fn set(&self, cookie: Cookie, value: &str) -> String {
        let lifetime = match cookie {
            _ if value.is_empty() => Duration::ZERO,
            Cookie::Session => self.session_lifetime,
            Cookie::Form => FORM_LIFETIME,
            Cookie::Notice | Cookie::Made => NOTICE_LIFETIME,
        };
        let (name, path, secs) = (self.name(cookie), &self.path, lifetime.as_secs());
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{name}={value}; Path={path}; Max-Age={secs}; HttpOnly; SameSite=Lax{secure}")
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
        let cookies = Cookies::new(false, "", Duration::ZERO);
        let read = |text: &str| cookies.read(&sending(text), Cookie::Session).map(str::to_owned);
        assert_eq!(read("a=b; sightline=x; sightline-form=y").as_deref(), Some("x"));
        assert_eq!(read("sightline-form=y"), None);
        assert_eq!(read("sightline=x; sightline=z"), None);
        assert_eq!(read("sightline"), None);
    }

    #[test]
    fn cookies_are_secure_with_tls() {
        let set = Cookies::new(true, "/search", Duration::from_secs(60)).set(Cookie::Session, "x");
        let want = "__Secure-sightline=x; Path=/search/app; Max-Age=60; HttpOnly; SameSite=Lax; Secure";
        assert_eq!(set, want);
        let cleared = Cookies::new(false, "", Duration::ZERO).set(Cookie::Notice, "");
        assert_eq!(cleared, "sightline-notice=; Path=/app; Max-Age=0; HttpOnly; SameSite=Lax");
    }
}
