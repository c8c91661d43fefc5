//! What the simulated web is like.

use std::collections::BTreeMap;
use std::io;

/// How a site behaves today.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mood {
    /// Answers as its module expects.
    Clear,
    /// The same, five to ten times as slow.
    Slow,
    /// A challenge page with 403 or 503, whoever asks: `blocked`.
    Blocked,
    /// 429 with `Retry-After`, whoever asks: `rate_limited`.
    RateLimited,
    /// Never answers: `timeout`.
    Silent,
    /// Resets every connection: `error`.
    Reset,
    /// An internal error page: `error`.
    Broken,
    /// A redirect to a login page, whoever asks: never a hit, but where the module reads the queried
    /// domain's own site.
    Walled,
    /// 200 with an empty body, whoever asks: `error`.
    Empty,
    /// Says yes to every name, made-up ones too: `unreliable`.
    SaysYes,
}

/// Shares of the sites in each [`Mood`], each 0.0 to 1.0; what they leave is [`Mood::Clear`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "one share for each mood, named after it")]
pub struct Shares {
    pub slow: f64,
    pub blocked: f64,
    pub rate_limited: f64,
    pub silent: f64,
    pub reset: f64,
    pub broken: f64,
    pub walled: f64,
    pub empty: f64,
    /// Taken only from modules whose hits a control check guards: the others could not notice.
    pub says_yes: f64,
}

impl Shares {
    /// Every site is clear.
    pub const NONE: Self = Self {
        slow: 0.0,
        blocked: 0.0,
        rate_limited: 0.0,
        silent: 0.0,
        reset: 0.0,
        broken: 0.0,
        walled: 0.0,
        empty: 0.0,
        says_yes: 0.0,
    };

    /// Every site in that mood.
    pub fn only(mood: Mood) -> Self {
        let mut shares = Self::NONE;
        *match mood {
            Mood::Clear => return shares,
            Mood::Slow => &mut shares.slow,
            Mood::Blocked => &mut shares.blocked,
            Mood::RateLimited => &mut shares.rate_limited,
            Mood::Silent => &mut shares.silent,
            Mood::Reset => &mut shares.reset,
            Mood::Broken => &mut shares.broken,
            Mood::Walled => &mut shares.walled,
            Mood::Empty => &mut shares.empty,
            Mood::SaysYes => &mut shares.says_yes,
        } = 1.0;
        shares
    }

    pub(super) fn by_mood(&self) -> [(Mood, f64); 9] {
        [
            (Mood::Slow, self.slow),
            (Mood::Blocked, self.blocked),
            (Mood::RateLimited, self.rate_limited),
            (Mood::Silent, self.silent),
            (Mood::Reset, self.reset),
            (Mood::Broken, self.broken),
            (Mood::Walled, self.walled),
            (Mood::Empty, self.empty),
            (Mood::SaysYes, self.says_yes),
        ]
    }
}

impl Default for Shares {
    /// About what a full search meets on the real web.
    fn default() -> Self {
        Self {
            slow: 0.04,
            blocked: 0.05,
            rate_limited: 0.02,
            silent: 0.02,
            reset: 0.01,
            broken: 0.01,
            walled: 0.01,
            empty: 0.005,
            says_yes: 0.02,
        }
    }
}

/// What the simulated web is like. Equal options give equal answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxOptions {
    /// Another seed is another web: other names exist, other sites misbehave.
    pub seed: u64,
    /// Factor on every delay: 1.0 is a median of 350 ms, 0.0 is at once.
    pub delay_scale: f64,
    /// How many sites misbehave.
    pub shares: Shares,
    /// Module id to mood, whatever the shares say.
    pub moods: BTreeMap<String, Mood>,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self { seed: 1, delay_scale: 1.0, shares: Shares::default(), moods: BTreeMap::new() }
    }
}

impl SandboxOptions {
    /// Every site answers as its module expects, at once.
    pub fn perfect() -> Self {
        Self { delay_scale: 0.0, shares: Shares::NONE, ..Self::default() }
    }

    /// The same with another seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The same with one site in that mood.
    #[must_use]
    pub fn with_mood(mut self, module: &str, mood: Mood) -> Self {
        self.moods.insert(module.to_owned(), mood);
        self
    }

    /// Says what is wrong and what is allowed.
    pub(super) fn validate(&self) -> io::Result<()> {
        let refuse = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
        if !(0.0..=100.0).contains(&self.delay_scale) {
            return refuse("sandbox delay_scale: allowed is 0.0 to 100.0");
        }
        let shares = self.shares.by_mood().map(|(_, share)| share);
        if shares.iter().any(|share| !(0.0..=1.0).contains(share)) {
            return refuse("sandbox shares: allowed is 0.0 to 1.0 each");
        }
        if shares.iter().sum::<f64>() > 1.0 + 1e-9 {
            return refuse("sandbox shares: allowed is at most 1.0 together");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_webs_are_refused() {
        assert!(SandboxOptions::default().validate().is_ok());
        assert!(SandboxOptions::perfect().validate().is_ok());
        let with = |shares| SandboxOptions { shares, ..SandboxOptions::perfect() };
        assert!(with(Shares { slow: -0.1, ..Shares::NONE }).validate().is_err());
        assert!(with(Shares { slow: f64::NAN, ..Shares::NONE }).validate().is_err());
        assert!(with(Shares { slow: 0.6, reset: 0.5, ..Shares::NONE }).validate().is_err());
        let never = SandboxOptions { delay_scale: f64::INFINITY, ..SandboxOptions::perfect() };
        assert!(never.validate().is_err());
    }
}
