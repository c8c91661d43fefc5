//! What a wall is, and how its list is written.

/// With which answers a wall's marks count.
#[derive(Debug, Clone, Copy)]
pub(super) enum Needs {
    /// All.
    Any,
    /// HTML and plain text with any status.
    Page,
    /// JSON with any status.
    Json,
    /// At most 300 bytes that are neither HTML nor JSON, with any status.
    Bare,
    /// Statuses by which walls refuse (403, 503, …); not 401, which has sign-in forms with captchas.
    Refusal,
    /// Any status from 400 on.
    Failure,
    /// Pages with a status of success.
    Success,
    /// These statuses.
    Status(&'static [u16]),
    /// Pages with any status, for modules that do not deal with sign-in pages themselves.
    LoginPage,
}

/// One wall: all of its conditions hold. Several of one name are alternatives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wall {
    /// The outcome's reason.
    pub(super) name: &'static str,
    /// It wants us to wait rather than to go.
    pub(super) is_limit: bool,
    pub(super) needs: Needs,
    /// One of these headers holds this text (lower case); after a `=`: is this text.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// All of these stand in the first part of the body, in any case.
    pub(super) all: &'static [&'static str],
    /// One of these does.
    pub(super) any: &'static [&'static str],
    /// And one of these.
    pub(super) also: &'static [&'static str],
    /// None of these does.
    pub(super) none: &'static [&'static str],
    /// The page has little to read.
    pub(super) is_short: bool,
}

impl Wall {
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

    /// All of its words.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static str> {
        [self.all, self.any, self.also, self.none].into_iter().flatten().copied()
    }
}

/// A wall that blocks.
pub(super) const fn block(name: &'static str, needs: Needs) -> Wall {
    Wall {
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

/// A wall that limits.
pub(super) const fn limit(name: &'static str, needs: Needs) -> Wall {
    Wall { is_limit: true, ..block(name, needs) }
}
