//! What the next page says once: set with a redirect, shown, and gone.

/// A notice. Browsers keep its name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Somebody signed out.
    SignedOut,
    /// The session was over when a form was sent.
    SessionOver,
    /// The password was set by a link.
    PasswordSet,
    /// The password was changed.
    PasswordChanged,
    /// A session was ended.
    SessionEnded,
    /// A key was revoked.
    KeyRevoked,
    /// A search was deleted.
    SearchDeleted,
    /// The account is deleted.
    AccountDeleted,
}

impl Notice {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::SignedOut,
        Self::SessionOver,
        Self::PasswordSet,
        Self::PasswordChanged,
        Self::SessionEnded,
        Self::KeyRevoked,
        Self::SearchDeleted,
        Self::AccountDeleted,
    ];

    /// Its name, for a cookie.
    pub fn name(self) -> &'static str {
        match self {
            Self::SignedOut => "signed-out",
            Self::SessionOver => "session-over",
            Self::PasswordSet => "password-set",
            Self::PasswordChanged => "password-changed",
            Self::SessionEnded => "session-ended",
            Self::KeyRevoked => "key-revoked",
            Self::SearchDeleted => "search-deleted",
            Self::AccountDeleted => "account-deleted",
        }
    }

    /// The notice of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notice| notice.name() == name)
    }

    /// What it says.
    pub fn text(self) -> &'static str {
        match self {
            Self::SignedOut => "You are signed out.",
            Self::SessionOver => "Your session is over: what you sent last was not taken. Sign in to go on.",
            Self::PasswordSet => "Your password is set, and you are signed in.",
            Self::PasswordChanged => "Your password is changed. All other sessions have ended.",
            Self::SessionEnded => "The session has ended.",
            Self::KeyRevoked => "The key is revoked.",
            Self::SearchDeleted => "The search and its results are deleted.",
            Self::AccountDeleted => {
                "Your account is deleted for good. All that belonged to it is being removed."
            }
        }
    }

    /// The class of its box.
    pub fn class(self) -> &'static str {
        match self {
            Self::SessionOver => "warn",
            _ => "good",
        }
    }
}
