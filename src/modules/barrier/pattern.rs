//! The conditions by which a barrier is recognized.

use crate::modules::reason::Reason;

/// The responses to which a pattern applies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Needs {
    /// All responses.
    Any,
    /// Pages, which are HTML or plain text, with any status.
    Page,
    /// Responses with JSON and any status.
    Json,
    /// Responses of at most 300 bytes that are neither HTML nor JSON, with any status.
    Bare,
    /// Responses with a status that barriers use (403, 503, …). 401 is not among them: sign-in forms with
    /// captchas use it.
    Refusal,
    /// Responses with a status of 400 or above.
    Failure,
    /// Pages with a success status.
    Success,
    /// Responses with one of these statuses.
    Status(&'static [u16]),
    /// Pages with any status, for modules that do not use sign-in pages themselves.
    LoginPage,
}

/// One pattern of a barrier. It matches if all of its conditions hold. Several patterns with one name are
/// alternatives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pattern {
    /// The outcome's reason.
    pub(super) name: Reason,
    /// Whether the barrier is a rate limit rather than a block.
    pub(super) is_limit: bool,
    pub(super) needs: Needs,
    /// The headers of which one must contain the given lower-case text. With a leading `=`, the header must
    /// equal the text.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// The texts that must all appear in the first part of the body, ignoring case.
    pub(super) all: &'static [&'static str],
    /// The texts of which at least one must appear.
    pub(super) any: &'static [&'static str],
    /// A further list of texts of which at least one must appear.
    pub(super) also: &'static [&'static str],
    /// The texts that must not appear.
    pub(super) none: &'static [&'static str],
    /// Whether the page must contain little readable text.
    pub(super) is_short: bool,
}

impl Pattern {
    pub(super) const fn header(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        Self { headers, ..self }
    }

    pub(super) const fn all(self, all: &'static [&'static str]) -> Self {
        Self { all, ..self }
    }

    pub(super) const fn any(self, any: &'static [&'static str]) -> Self {
        Self { any, ..self }
    }

    pub(super) const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    pub(super) const fn short(self) -> Self {
        Self { is_short: true, ..self }
    }

    pub(super) const fn none(self, none: &'static [&'static str]) -> Self {
        Self { none, ..self }
    }

    /// Returns all texts of the pattern.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static str> {
        [self.all, self.any, self.also, self.none].into_iter().flatten().copied()
    }
}

/// Returns a pattern for a barrier that blocks, without conditions.
pub(super) const fn block(name: Reason, needs: Needs) -> Pattern {
    Pattern {
        name,
        is_limit: false,
        needs,
        headers: &[],
        all: &[],
        any: &[],
        also: &[],
        none: &[],
        is_short: false,
    }
}

/// Returns a pattern for a rate limit, without conditions.
pub(super) const fn limit(name: Reason, needs: Needs) -> Pattern {
    Pattern { is_limit: true, ..block(name, needs) }
}
