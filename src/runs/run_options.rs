//! [`RunOptions`]: the options of a search that decide how long its checks may take, and whether pictures are fetched.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The options of a search besides its query and its modules. As JSON, it is stored with the run, and an option
/// with its default value has no member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOptions {
    /// Whether each check has the configured deadline, even if a shorter one was learnt for its module.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub patient: bool,
    /// The time after which the run ends with the answers that it has. Without it, only the configured deadline of
    /// runs applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_budget: Option<TimeBudget>,
    /// Whether the caller has named the modules. Such a search also asks hosts whose circuit is open.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Whether adult sites are asked, too: by this run, and by runs that its leads start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nsfw: bool,
    /// Whether only third parties are asked: by this run, and by runs that its leads start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub passive: bool,
    /// Whether the profile pictures of accounts are fetched. It has no effect on a passive search.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub avatars: bool,
}

impl RunOptions {
    /// Returns the options as they are part of the fingerprint of a request: as a JSON object, or as an empty string if
    /// all have their default value. The choice of modules is another part of the fingerprint.
    pub fn fingerprint(&self) -> String {
        let own = Self { named: false, nsfw: false, passive: false, ..*self };
        if own == Self::default() {
            return String::new();
        }
        serde_json::to_string(&own).unwrap_or_default()
    }
}

/// The time that a run may take from the moment when it is first driven, without its time in the queue. As JSON, it is
/// the number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeBudget(u8);

impl TimeBudget {
    /// The longest time budget in seconds.
    pub const MAX_SECS: u8 = 120;

    /// Returns a time budget of 1 to 120 seconds. Returns `None` for any other number.
    pub fn from_secs(secs: u64) -> Option<Self> {
        u8::try_from(secs).ok().filter(|secs| (1..=Self::MAX_SECS).contains(secs)).map(Self)
    }

    /// Returns the number of seconds.
    pub fn secs(self) -> u8 {
        self.0
    }
}

impl From<TimeBudget> for Duration {
    fn from(budget: TimeBudget) -> Self {
        Self::from_secs(budget.0.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_budget_is_1_to_120_seconds() {
        let secs =
            [0, 1, 120, 121, 257, u64::MAX].map(|secs| TimeBudget::from_secs(secs).map(TimeBudget::secs));
        assert_eq!(secs, [None, Some(1), Some(120), None, None, None]);
    }

    #[test]
    fn options_with_their_default_values_are_not_stored() {
        for (options, json) in [
            (RunOptions::default(), "{}"),
            (RunOptions { patient: true, ..RunOptions::default() }, r#"{"patient":true}"#),
            (RunOptions { avatars: true, ..RunOptions::default() }, r#"{"avatars":true}"#),
            (
                RunOptions { time_budget: TimeBudget::from_secs(6), ..RunOptions::default() },
                r#"{"time_budget":6}"#,
            ),
        ] {
            assert_eq!(serde_json::to_string(&options).unwrap(), json);
            assert_eq!(serde_json::from_str::<RunOptions>(json).unwrap(), options);
        }
        let of_tomorrow = r#"{"patient":true,"of_tomorrow":[1]}"#;
        assert!(serde_json::from_str::<RunOptions>(of_tomorrow).unwrap().patient);
    }
}
