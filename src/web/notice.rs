//! Notices. A redirect sets a notice in a cookie, and the next page shows it once.

use crate::base::words::words;

words! {
    /// A notice. The cookie contains only its word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Notice {
        /// The user signed out.
        SignedOut = "signed-out",
        /// The session had ended when a form was sent.
        SessionOver = "session-over",
        /// The password was set with a link.
        PasswordSet = "password-set",
        /// The password was changed.
        PasswordChanged = "password-changed",
        /// A session was ended.
        SessionEnded = "session-ended",
        /// A key was revoked.
        KeyRevoked = "key-revoked",
        /// A message to a webhook is sent soon.
        MessageQueued = "message-queued",
        /// A webhook was deleted.
        WebhookDeleted = "webhook-deleted",
        /// A watch was created.
        WatchCreated = "watch-created",
        /// A watch was deleted.
        WatchDeleted = "watch-deleted",
        /// A search was deleted.
        SearchDeleted = "search-deleted",
        /// The account is deleted.
        AccountDeleted = "account-deleted",
        /// The plan of an account was changed by an operator.
        PlanChanged = "plan-changed",
        /// What was learnt about hosts or modules is forgotten.
        HealthReset = "health-reset",
    }
}

impl Notice {
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
            Self::HealthReset => "What was learnt is forgotten. All instances follow within seconds.",
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
