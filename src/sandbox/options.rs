//! The options of the simulated web.

use std::collections::BTreeMap;
use std::io;

use super::drift::Drift;

/// The behaviour of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SiteBehavior {
    /// The site answers as its module expects.
    Clear,
    /// The site answers as its module expects, but five to ten times as slowly.
    Slow,
    /// The site answers every query with a challenge page and status 403 or 503. The outcome is `blocked`.
    Blocked,
    /// The site answers every query with status 429 and `Retry-After`. The outcome is `rate_limited`.
    RateLimited,
    /// The site never answers. The outcome is `timeout`.
    Silent,
    /// The site resets every connection. The outcome is `error`.
    Reset,
    /// The site answers with an internal error page. The outcome is `error`.
    Broken,
    /// The site redirects every query to a login page. The outcome is never a hit, except for a module that reads the
    /// queried domain's own site.
    LoginPage,
    /// The site answers every query with status 200 and an empty body. The outcome is `error`.
    Empty,
    /// The site reports that every name exists, made-up ones too. The outcome is `unreliable`.
    SaysYes,
}

/// The shares of the sites in each [`SiteBehavior`], each from 0.0 to 1.0. The remaining sites are
/// [`SiteBehavior::Clear`].
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "one share for each behaviour, named after it")]
pub struct Shares {
    pub slow: f64,
    pub blocked: f64,
    pub rate_limited: f64,
    pub silent: f64,
    pub reset: f64,
    pub broken: f64,
    pub login_page: f64,
    pub empty: f64,
    /// The share of sites that report every name as existing. It applies only to modules whose hits are guarded by a
    /// control check, because other modules cannot detect such a site.
    pub says_yes: f64,
}

impl Shares {
    /// Shares with which every site is [`SiteBehavior::Clear`].
    pub const NONE: Self = Self {
        slow: 0.0,
        blocked: 0.0,
        rate_limited: 0.0,
        silent: 0.0,
        reset: 0.0,
        broken: 0.0,
        login_page: 0.0,
        empty: 0.0,
        says_yes: 0.0,
    };

    /// Returns shares with which every site is with the given behaviour.
    pub fn only(behavior: SiteBehavior) -> Self {
        let mut shares = Self::NONE;
        *match behavior {
            SiteBehavior::Clear => return shares,
            SiteBehavior::Slow => &mut shares.slow,
            SiteBehavior::Blocked => &mut shares.blocked,
            SiteBehavior::RateLimited => &mut shares.rate_limited,
            SiteBehavior::Silent => &mut shares.silent,
            SiteBehavior::Reset => &mut shares.reset,
            SiteBehavior::Broken => &mut shares.broken,
            SiteBehavior::LoginPage => &mut shares.login_page,
            SiteBehavior::Empty => &mut shares.empty,
            SiteBehavior::SaysYes => &mut shares.says_yes,
        } = 1.0;
        shares
    }

    pub(super) fn by_behavior(&self) -> [(SiteBehavior, f64); 9] {
        [
            (SiteBehavior::Slow, self.slow),
            (SiteBehavior::Blocked, self.blocked),
            (SiteBehavior::RateLimited, self.rate_limited),
            (SiteBehavior::Silent, self.silent),
            (SiteBehavior::Reset, self.reset),
            (SiteBehavior::Broken, self.broken),
            (SiteBehavior::LoginPage, self.login_page),
            (SiteBehavior::Empty, self.empty),
            (SiteBehavior::SaysYes, self.says_yes),
        ]
    }
}

impl Default for Shares {
    /// Returns shares that are close to those that a full search meets on the real web.
    fn default() -> Self {
        Self {
            slow: 0.04,
            blocked: 0.05,
            rate_limited: 0.02,
            silent: 0.02,
            reset: 0.01,
            broken: 0.01,
            login_page: 0.01,
            empty: 0.005,
            says_yes: 0.02,
        }
    }
}

/// The options of the simulated web. Equal options give equal answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxOptions {
    /// The seed of all random choices. It decides which names exist and which sites misbehave.
    pub seed: u64,
    /// The factor by which every delay is multiplied. At 1.0 the median delay is 350 ms, at 0.0 there are no delays.
    pub delay_scale: f64,
    /// The shares of sites that misbehave.
    pub shares: Shares,
    /// The behaviour of single sites by module id. They take precedence over the shares.
    pub behaviors: BTreeMap<String, SiteBehavior>,
    /// The changes of single sites by module id.
    pub drifts: BTreeMap<String, Drift>,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            delay_scale: 1.0,
            shares: Shares::default(),
            behaviors: BTreeMap::new(),
            drifts: BTreeMap::new(),
        }
    }
}

impl SandboxOptions {
    /// Returns options with which every site answers at once and as its module expects.
    pub fn perfect() -> Self {
        Self { delay_scale: 0.0, shares: Shares::NONE, ..Self::default() }
    }

    /// Sets the seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the behaviour of one site.
    #[must_use]
    pub fn with_behavior(mut self, module: &str, behavior: SiteBehavior) -> Self {
        self.behaviors.insert(module.to_owned(), behavior);
        self
    }

    /// Changes one site, so that the rules of its module may no longer fit.
    #[must_use]
    pub fn with_drift(mut self, module: &str, drift: Drift) -> Self {
        self.drifts.insert(module.to_owned(), drift);
        self
    }

    /// Returns an error that names the invalid option and the allowed values, if there is one.
    pub(super) fn validate(&self) -> io::Result<()> {
        let refuse = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
        if !(0.0..=100.0).contains(&self.delay_scale) {
            return refuse("sandbox delay_scale: allowed is 0.0 to 100.0");
        }
        let shares = self.shares.by_behavior().map(|(_, share)| share);
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
    fn impossible_options_of_the_web_are_refused() {
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
