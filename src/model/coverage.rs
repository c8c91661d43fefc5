//! [`Coverage`]: how many modules ended with each outcome.

use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::words::words;
use crate::modules::outcome::{OpenCircuit, Outcome};

words! {
    /// A reason for which a module was not asked, so that no request was sent, or for which it was not given the
    /// configured time. The words are those of metrics, and the order is that in which coverage lists them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Cut {
        /// The host gave no answer to the last checks.
        Down = "circuit_open",
        /// The module failed its last control checks.
        Quarantine = "quarantined",
        /// The search was stopped before the module was asked.
        Stopped = "stopped",
        /// The host had asked for a pause, or the module's checks for the day were used up.
        Limits = "limits",
        /// The deadline passed that was learned from the module's earlier answers.
        LearntDeadline = "learnt_deadline",
        /// The time budget of the search ended.
        TimeBudget = "time_budget",
        /// The search was stopped while the check was running.
        GivenUp = "given_up",
    }
}

/// The number of modules that ended, by outcome, and of those that were not asked or cut short, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(remote = "Self")]
pub struct Coverage {
    /// Modules that ended: the sum of all outcomes.
    pub checked: u32,
    /// Modules with a conclusion: `hit` or `miss`.
    pub conclusive: u32,
    /// Modules that could take the query: `checked` without those that were skipped for the query, a missing key or
    /// browser, or a fault of the server.
    pub applicable: u32,
    /// Modules that could take the query but got no request: `down`, `quarantined`, `stopped` and `limited`.
    not_asked: u32,
    /// The query was found on the site.
    hit: u32,
    /// The query was not found on the site.
    miss: u32,
    /// A captcha, a challenge or a login page blocked the check.
    blocked: u32,
    /// The site refused more requests for now.
    rate_limited: u32,
    /// The site did not answer in time.
    timeout: u32,
    /// There was no usable answer: the connection failed, or the module does not know the answer.
    error: u32,
    /// The site reports a made-up name as found or a known account as missing, so its answer proves nothing.
    unreliable: u32,
    /// The site was not searched: the query is not valid there, a key or a browser is missing, or the search was stopped.
    skipped: u32,
    /// Modules that were not asked because their host gave no answer to the last checks: a part of `timeout` and `error`.
    down: u32,
    /// Modules that were not asked because they failed their last control checks: a part of `unreliable`.
    quarantined: u32,
    /// Modules that were not asked because the search was stopped before: a part of `skipped`.
    stopped: u32,
    /// Modules that were not asked because their host had asked for a pause, or because their checks of the day were
    /// used up: a part of `rate_limited` and `skipped`.
    limited: u32,
    /// Modules without an answer by the deadline that was learned from their earlier answers: a part of `timeout`.
    cut_by_learnt_deadline: u32,
    /// Modules without an answer by the end of the search's time budget: a part of `timeout`.
    cut_by_time_budget: u32,
    /// Modules whose checks were running when the search was stopped: a part of `skipped`.
    cut_by_stop: u32,
    /// Present only if sites of engines have ended: their number, a part of `checked`.
    #[serde(default, skip_serializing_if = "is_zero")]
    engines: u32,
    /// Present only if sites of engines came to a conclusion: their number, a part of `conclusive`.
    #[serde(default, skip_serializing_if = "is_zero")]
    conclusive_in_engines: u32,
    /// A time since which the hosts of all modules of `down` are down: RFC 3339, UTC, milliseconds; null if there is
    /// none.
    #[serde(serialize_with = "millis")]
    #[schema(required, value_type = Option<String>, format = DateTime)]
    down_since: Option<Timestamp>,
    /// `conclusive` divided by `applicable`, from 0.0 to 1.0 with three decimals; 0.0 if that is 0.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub ratio: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Coverage {
    /// Counts outcomes.
    #[cfg(test)]
    pub(crate) fn of(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let mut coverage = Self::default();
        for outcome in outcomes {
            coverage.add(outcome, None, None);
        }
        coverage
    }

    /// Counts one more module that has ended. `circuit` is its own or that of its host, if it was not asked for that
    /// reason.
    pub fn add(&mut self, outcome: Outcome, cut: Option<Cut>, circuit: Option<OpenCircuit>) {
        *self.outcome(outcome) += 1;
        if let Some(cut) = cut {
            *self.cut(cut) += 1;
        }
        self.applicable += u32::from(outcome != Outcome::Skipped || cut.is_some());
        let circuit = circuit.filter(|_| cut == Some(Cut::Down));
        self.down_since = self.down_since.max(circuit.map(|circuit| circuit.open_since));
        self.settle();
    }

    /// Counts a module that was added as a site of an engine.
    pub fn add_to_engines(&mut self, outcome: Outcome) {
        self.engines += 1;
        self.conclusive_in_engines += u32::from(outcome.is_conclusive());
    }

    /// Computes what follows from the counts of outcomes and cuts.
    fn settle(&mut self) {
        let sum = |counts: &[u32]| counts.iter().copied().fold(0, u32::saturating_add);
        self.checked = sum(&Outcome::ALL.map(|outcome| self.count_of(outcome)));
        self.conclusive = sum(&[self.hit, self.miss]);
        self.not_asked = sum(&[self.down, self.quarantined, self.stopped, self.limited]);
        // It is missing in documents of earlier versions.
        if self.applicable == 0 {
            self.applicable = self.checked.saturating_sub(self.skipped);
        }
        let share = f64::from(self.conclusive) / f64::from(self.applicable.max(1));
        // More decimals would only look exact.
        self.ratio = (share * 1000.0).round() / 1000.0;
    }

    fn outcome(&mut self, outcome: Outcome) -> &mut u32 {
        let Self { hit, miss, blocked, rate_limited, timeout, error, unreliable, skipped, .. } = self;
        [hit, miss, blocked, rate_limited, timeout, error, unreliable, skipped][outcome as usize]
    }

    fn cut(&mut self, cut: Cut) -> &mut u32 {
        let Self { down, quarantined, stopped, limited, .. } = self;
        let Self { cut_by_learnt_deadline, cut_by_time_budget, cut_by_stop, .. } = self;
        [down, quarantined, stopped, limited, cut_by_learnt_deadline, cut_by_time_budget, cut_by_stop]
            [cut as usize]
    }

    /// Returns how many modules ended with the outcome.
    pub fn count_of(mut self, outcome: Outcome) -> u32 {
        *self.outcome(outcome)
    }

    /// Returns the parts of a bar that is as wide as the number of modules: each outcome, where its part starts, and the
    /// width of the part.
    pub fn spans(&self) -> [(Outcome, u32, u32); Outcome::ALL.len()] {
        let mut end = 0;
        Outcome::ALL.map(|outcome| {
            let (start, width) = (end, self.count_of(outcome));
            end += width;
            (outcome, start, width)
        })
    }

    /// Returns a text about the modules that were cut, such as `9 not asked: down since 2026-05-06 14:05 UTC; 3 cut
    /// short: learned deadline`. Returns `None` if there are none.
    pub fn cuts_text(&self) -> Option<String> {
        let counts = Cut::ALL.map(|cut| (cut, *{ *self }.cut(cut)));
        let counted = counts.into_iter().filter(|(_, count)| *count > 0);
        let texts: Vec<String> = counted.map(|(cut, count)| self.cut_text(cut, count)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// Returns a clause about the share of modules that gave an answer, such as `50 of 52 modules gave an answer`.
    pub fn answers_text(&self) -> String {
        let answers = format!("{} of {} modules gave an answer", self.conclusive, self.applicable);
        match self.engines {
            0 => answers,
            engines => {
                format!("{answers}, {} of them of {engines} sites of engines", self.conclusive_in_engines)
            }
        }
    }

    /// Returns what is to be said of the modules that gave no answer: a sentence after a space, if there are any.
    pub fn unknown_text(&self) -> &'static str {
        match self.conclusive < self.applicable {
            true => " The others are neither a hit nor a miss: nothing is known about them.",
            false => "",
        }
    }

    /// Returns the counts of the modules without a conclusion, such as `3 blocked, 1 timed out`. Returns `None` if there
    /// are none.
    pub fn others_text(&self) -> Option<String> {
        let others = Outcome::ALL.map(|outcome| (outcome, self.count_of(outcome))).into_iter();
        let others = others.filter(|(outcome, count)| !outcome.is_conclusive() && *count > 0);
        let texts: Vec<String> =
            others.map(|(outcome, count)| format!("{count} {}", outcome.title().to_lowercase())).collect();
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    fn cut_text(&self, cut: Cut, count: u32) -> String {
        let why = match (cut, self.down_since) {
            (Cut::Down, None) => "down".to_owned(),
            (Cut::Down, Some(since)) => format!("down since {}", since.strftime("%Y-%m-%d %H:%M UTC")),
            (Cut::Quarantine, _) => "in quarantine".to_owned(),
            (Cut::GivenUp, _) => "stopped".to_owned(),
            (Cut::LearntDeadline, _) => "learned deadline".to_owned(),
            (cut, _) => cut.as_str().replace('_', " "),
        };
        let is_asked = matches!(cut, Cut::LearntDeadline | Cut::TimeBudget | Cut::GivenUp);
        format!("{count} {}: {why}", if is_asked { "cut short" } else { "not asked" })
    }

    /// Returns how many modules of a run with `total` modules were asked and had the time to answer, and how many could
    /// take the query.
    pub fn done_of(&self, total: u32) -> (u32, u32) {
        let unsuitable = self.checked - self.applicable.min(self.checked);
        let done = self.applicable.saturating_sub(self.not_asked.saturating_add(self.cut_by_stop));
        (done, total.saturating_sub(unsuitable))
    }
}

impl Serialize for Coverage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Coverage {
    /// Reads the counts. A member that was not known when the document was written counts 0.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `serde(default)` would tell clients of the API that members may be missing.
        let none = serde_json::to_value(Self::default()).map_err(D::Error::custom)?;
        let Value::Object(mut members) = none else { return Err(D::Error::custom("no counts")) };
        members.extend(Map::deserialize(deserializer)?);
        let mut coverage = Self::deserialize(Value::Object(members)).map_err(D::Error::custom)?;
        coverage.settle();
        Ok(coverage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_leaves_out_modules_that_cannot_take_the_query() {
        use Outcome::{Blocked, Hit, Miss, Skipped};
        assert_eq!(Coverage::of([]).ratio.to_bits(), 0f64.to_bits());
        assert_eq!(Coverage::of([Skipped]).ratio.to_bits(), 0f64.to_bits());
        let mut coverage = Coverage::of([Hit, Miss, Blocked, Skipped]);
        assert_eq!((coverage.checked, coverage.conclusive, coverage.applicable), (4, 2, 3));
        assert!((coverage.ratio - 0.667).abs() < 1e-9);
        coverage.add(Skipped, Some(Cut::Stopped), None);
        coverage.add(Skipped, Some(Cut::GivenUp), None);
        assert_eq!((coverage.applicable, coverage.not_asked, coverage.done_of(9)), (5, 1, (3, 8)));
        assert!((coverage.ratio - 0.4).abs() < 1e-9, "{coverage:?}");
    }

    #[test]
    fn a_stored_document_is_read_without_the_members_that_follow_from_others() {
        let coverage = Coverage::of([Outcome::Hit, Outcome::Timeout]);
        let text = serde_json::to_string(&coverage).unwrap();
        assert_eq!(
            text,
            r#"{"checked":2,"conclusive":1,"applicable":2,"not_asked":0,"hit":1,"miss":0,"blocked":0,"#
                .to_owned()
                + r#""rate_limited":0,"timeout":1,"error":0,"unreliable":0,"skipped":0,"down":0,"quarantined":0,"#
                + r#""stopped":0,"limited":0,"cut_by_learnt_deadline":0,"cut_by_time_budget":0,"cut_by_stop":0,"#
                + r#""down_since":null,"ratio":0.5}"#
        );
        assert_eq!(serde_json::from_str::<Coverage>(&text).unwrap(), coverage);
        let older = r#"{"checked":2,"hit":1,"timeout":1,"ratio":0.5}"#;
        assert_eq!(serde_json::from_str::<Coverage>(older).unwrap(), coverage);
        for broken in [r#"{"hit":-1}"#, r#"{"hit":"1"}"#, r#"{"down":"1"}"#, r#"{"hit":4294967296}"#, "[]"] {
            assert!(serde_json::from_str::<Coverage>(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn modules_that_were_cut_are_counted_by_reason() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let circuit = |since| OpenCircuit { open_since: at(since), next_try_at: at("2026-05-06T15:00:00Z") };
        let mut coverage = Coverage::default();
        assert_eq!(coverage.cuts_text(), None);
        let down = Some(Cut::Down);
        coverage.add(Outcome::Timeout, down, Some(circuit("2026-05-06T14:05:06Z")));
        coverage.add(Outcome::Error, down, Some(circuit("2026-05-06T14:04:00Z")));
        // It began after the others, and is not down.
        let quarantine = circuit("2026-05-06T14:30:00Z");
        coverage.add(Outcome::Unreliable, Some(Cut::Quarantine), Some(quarantine));
        for (outcome, cut) in [
            (Outcome::Skipped, Some(Cut::Stopped)),
            (Outcome::RateLimited, Some(Cut::Limits)),
            (Outcome::Timeout, Some(Cut::LearntDeadline)),
            (Outcome::Timeout, Some(Cut::TimeBudget)),
            (Outcome::Timeout, None),
            (Outcome::Skipped, Some(Cut::GivenUp)),
            (Outcome::Skipped, None),
        ] {
            coverage.add(outcome, cut, None);
        }
        let text = "2 not asked: down since 2026-05-06 14:05 UTC; 1 not asked: in quarantine; \
                    1 not asked: stopped; 1 not asked: limits; 1 cut short: learned deadline; \
                    1 cut short: time budget; 1 cut short: stopped";
        assert_eq!(coverage.cuts_text().as_deref(), Some(text));
        let json = serde_json::to_value(coverage).unwrap();
        let counts = ["down", "not_asked", "applicable", "checked", "skipped"].map(|name| &json[name]);
        assert_eq!(counts, [2, 5, 9, 10, 3]);
        assert_eq!(serde_json::from_value::<Coverage>(json).unwrap(), coverage);
    }
}
