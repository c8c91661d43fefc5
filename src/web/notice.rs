//! Notices. A redirect sets a notice in a cookie, and the next page shows it once.

/// A notice. The cookie contains only its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The user signed out.
    SignedOut,
    /// The session had ended when a form was sent.
    SessionOver,
    /// The password was set with a link.
    PasswordSet,
    /// The password was changed.
    PasswordChanged,
    /// A session was ended.
    SessionEnded,
    /// A key was revoked.
    KeyRevoked,
    /// A message to a webhook is sent soon.
    MessageQueued,
    /// A webhook was deleted.
    WebhookDeleted,
    /// A watch was created.
    WatchCreated,
    /// A watch was deleted.
    WatchDeleted,
    /// A search was deleted.
    SearchDeleted,
    /// The account is deleted.
    AccountDeleted,
    /// The plan of an account was changed by an operator.
    PlanChanged,
    /// The circuits of all hosts are closed.
    CircuitsReset,
    /// The quarantines of all modules have ended.
    QuarantinesReset,
    /// The learnt deadlines of all modules are forgotten.
    DeadlinesReset,
    /// Something that was learnt about one module is forgotten.
    ModuleReset,
}

impl Notice {
    /// All notices, for look-ups by name.
    pub const ALL: [Self; 17] = [
        Self::SignedOut,
        Self::SessionOver,
        Self::PasswordSet,
        Self::PasswordChanged,
        Self::SessionEnded,
        Self::KeyRevoked,
        Self::MessageQueued,
        Self::WebhookDeleted,
        Self::WatchCreated,
        Self::WatchDeleted,
        Self::SearchDeleted,
        Self::AccountDeleted,
        Self::PlanChanged,
        Self::CircuitsReset,
        Self::QuarantinesReset,
        Self::DeadlinesReset,
        Self::ModuleReset,
    ];

    /// Returns the name of the notice, for a cookie.
    pub fn name(self) -> &'static str {
        match self {
            Self::SignedOut => "signed-out",
            Self::SessionOver => "session-over",
            Self::PasswordSet => "password-set",
            Self::PasswordChanged => "password-changed",
            Self::SessionEnded => "session-ended",
            Self::KeyRevoked => "key-revoked",
            Self::MessageQueued => "message-queued",
            Self::WebhookDeleted => "webhook-deleted",
            Self::WatchCreated => "watch-created",
            Self::WatchDeleted => "watch-deleted",
            Self::SearchDeleted => "search-deleted",
            Self::AccountDeleted => "account-deleted",
            Self::PlanChanged => "plan-changed",
            Self::CircuitsReset => "circuits-reset",
            Self::QuarantinesReset => "quarantines-reset",
            Self::DeadlinesReset => "deadlines-reset",
            Self::ModuleReset => "module-reset",
        }
    }

    /// Returns the notice with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|notice| notice.name() == name)
    }

    /// Returns the text of the notice.
    pub fn text(self) -> &'static str {
        match self {
            Self::SignedOut => "You are signed out.",
            Self::SessionOver => {
                "Your session had ended, so the last form was not applied. Sign in to continue."
            }
            Self::PasswordSet => "Your password is set, and you are signed in.",
            Self::PasswordChanged => "Your password is changed. All other sessions have ended.",
            Self::SessionEnded => "The session has ended.",
            Self::KeyRevoked => "The key is revoked.",
            Self::MessageQueued => "The message is sent soon. Load the page again to see its answer.",
            Self::WebhookDeleted => "The webhook and its deliveries are deleted.",
            Self::WatchCreated => "The watch is created. Its first run starts in a moment.",
            Self::WatchDeleted => "The watch and its changes are deleted. Its runs are in the history.",
            Self::SearchDeleted => "The search and its results are deleted.",
            Self::AccountDeleted => "Your account is deleted permanently. Its data is being removed.",
            Self::PlanChanged => "The plan is changed. Running servers apply it within seconds.",
            Self::CircuitsReset => "Searches ask all hosts again.",
            Self::QuarantinesReset => "Searches ask all modules again.",
            Self::DeadlinesReset => {
                "The learnt deadlines are forgotten. Checks have the configured deadline until new ones are learnt."
            }
            Self::ModuleReset => "It is reset for this module. All instances follow within seconds.",
        }
    }

    /// Returns the CSS class of the notice.
    pub fn class(self) -> &'static str {
        match self {
            Self::SessionOver => "warn",
            _ => "good",
        }
    }
}
