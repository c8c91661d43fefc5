//! The options of the simulated web.

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
    /// The site reports that every name exists, made-up ones too. The outcome is `unreliable`. By its share, it occurs
    /// only for modules whose hits are guarded by a control check, because other modules cannot detect such a site.
    SaysYes,
}

/// The options of the simulated web. Equal options give equal answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxOptions {
    /// The seed of all random choices. It decides which names exist and which sites misbehave.
    pub seed: u64,
    /// The factor by which every delay is multiplied. At 1.0 the median delay is 350 ms, at 0.0 there are no delays.
    pub delay_scale: f64,
    /// The share of the sites with each behaviour, from 0.0 to 1.0. The remaining sites are [`SiteBehavior::Clear`].
    /// The order decides which sites have which behaviour.
    pub shares: Vec<(SiteBehavior, f64)>,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            delay_scale: 1.0,
            // They are close to those that a full search meets on the real web.
            shares: vec![
                (SiteBehavior::Slow, 0.04),
                (SiteBehavior::Blocked, 0.05),
                (SiteBehavior::RateLimited, 0.02),
                (SiteBehavior::Silent, 0.02),
                (SiteBehavior::Reset, 0.01),
                (SiteBehavior::Broken, 0.01),
                (SiteBehavior::LoginPage, 0.01),
                (SiteBehavior::Empty, 0.005),
                (SiteBehavior::SaysYes, 0.02),
            ],
        }
    }
}

impl SandboxOptions {
    /// Returns options with which every site answers at once and as its module expects.
    pub fn perfect() -> Self {
        Self { delay_scale: 0.0, shares: Vec::new(), ..Self::default() }
    }
}
