//! [`Coverage`]: how many modules ended with each outcome.

use std::borrow::Cow;
use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};
use utoipa::openapi::schema::{Object, ObjectBuilder, Schema, SchemaType, Type};
use utoipa::openapi::{KnownFormat, RefOr, SchemaFormat};
use utoipa::{PartialSchema, ToSchema};

use crate::base::clock::rfc3339_millis;
use crate::modules::outcome::{ByOutcome, OpenCircuit, Outcome};

/// A reason for which a module was not asked, so that no request was sent, or for which it was not given the configured
/// time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The host gave no answer to the last checks.
    Down,
    /// The module failed its last control checks.
    Quarantine,
    /// The search was stopped before the module was asked.
    Stopped,
    /// The host had asked for a pause, or the module's checks for the day were used up.
    Limits,
    /// The deadline passed that was learnt from the module's earlier answers.
    LearntDeadline,
    /// The time budget of the search ended.
    TimeBudget,
    /// The search was stopped while the check was running.
    GivenUp,
}

impl Cut {
    /// All of them, in the order in which coverage lists them.
    pub const ALL: [Self; 7] = [
        Self::Down,
        Self::Quarantine,
        Self::Stopped,
        Self::Limits,
        Self::LearntDeadline,
        Self::TimeBudget,
        Self::GivenUp,
    ];

    /// Returns whether no request was sent.
    pub fn is_not_asked(self) -> bool {
        matches!(self, Self::Down | Self::Quarantine | Self::Stopped | Self::Limits)
    }

    /// Returns the name of the count in JSON, its word in metrics, and its meaning.
    fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Down => (
                "down",
                "circuit_open",
                "Modules that were not asked because their host gave no answer to the last checks: a part of \
                 `timeout` and `error`.",
            ),
            Self::Quarantine => (
                "quarantined",
                "quarantined",
                "Modules that were not asked because they failed their last control checks: a part of `unreliable`.",
            ),
            Self::Stopped => (
                "stopped",
                "stopped",
                "Modules that were not asked because the search was stopped before: a part of `skipped`.",
            ),
            Self::Limits => (
                "limited",
                "limits",
                "Modules that were not asked because their host had asked for a pause, or because their checks of \
                 the day were used up: a part of `rate_limited` and `skipped`.",
            ),
            Self::LearntDeadline => (
                "cut_by_learnt_deadline",
                "learnt_deadline",
                "Modules without an answer by the deadline that was learnt from their earlier answers: a part of \
                 `timeout`.",
            ),
            Self::TimeBudget => (
                "cut_by_time_budget",
                "time_budget",
                "Modules without an answer by the end of the search's time budget: a part of `timeout`.",
            ),
            Self::GivenUp => (
                "cut_by_stop",
                "given_up",
                "Modules whose checks were running when the search was stopped: a part of `skipped`.",
            ),
        }
    }

    fn member(self) -> &'static str {
        self.words().0
    }

    /// Returns the word for it in metrics.
    pub fn as_str(self) -> &'static str {
        self.words().1
    }

    fn meaning(self) -> &'static str {
        self.words().2
    }
}

/// The number of modules that ended, by outcome, and of those that were cut, by reason.
///
/// As JSON it is an object with a member for each outcome and each [`Cut`], with `checked`, `conclusive`, `not_asked` and
/// `ratio`, which follow from the counts, and with `applicable` and `down_since`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    outcomes: ByOutcome<u32>,
    /// The counts of the cuts, in the order of [`Cut::ALL`].
    cuts: [u32; Cut::ALL.len()],
    /// The number of modules that were skipped for another reason than a cut: they could not take the query.
    unsuitable: u32,
    down_since: Option<Timestamp>,
}

impl Coverage {
    /// Counts outcomes.
    pub fn of(outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        let mut coverage = Self::default();
        for outcome in outcomes {
            coverage.add(outcome, None, None);
        }
        coverage
    }

    /// Counts one more module that has ended. `circuit` is its own or that of its host, if it was not asked for that
    /// reason.
    pub fn add(&mut self, outcome: Outcome, cut: Option<Cut>, circuit: Option<OpenCircuit>) {
        self.outcomes[outcome] += 1;
        match cut {
            Some(cut) => self.cuts[cut as usize] += 1,
            None if outcome == Outcome::Skipped => self.unsuitable += 1,
            None => {}
        }
        let circuit = circuit.filter(|_| cut == Some(Cut::Down));
        self.down_since = self.down_since.max(circuit.map(|circuit| circuit.open_since));
    }

    /// Returns how many modules ended with the outcome.
    pub fn count_of(&self, outcome: Outcome) -> u32 {
        self.outcomes[outcome]
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
    /// short: learnt deadline`. Returns `None` if there are none. The web app's script has the same text.
    pub fn cuts_text(&self) -> Option<String> {
        let counts = Cut::ALL.into_iter().zip(self.cuts).filter(|(_, count)| *count > 0);
        let texts: Vec<String> = counts.map(|(cut, count)| self.cut_text(cut, count)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    fn cut_text(&self, cut: Cut, count: u32) -> String {
        let why = match (cut, self.down_since) {
            (Cut::Down, None) => "down".to_owned(),
            (Cut::Down, Some(since)) => format!("down since {}", since.strftime("%Y-%m-%d %H:%M UTC")),
            (Cut::Quarantine, _) => "in quarantine".to_owned(),
            (Cut::GivenUp, _) => "stopped".to_owned(),
            (cut, _) => cut.as_str().replace('_', " "),
        };
        format!("{count} {}: {why}", if cut.is_not_asked() { "not asked" } else { "cut short" })
    }

    fn sum(&self, wanted: impl Fn(Outcome) -> bool) -> u32 {
        self.outcomes.iter().filter(|(outcome, _)| wanted(*outcome)).map(|(_, count)| count).sum()
    }

    /// Returns how many modules ended.
    pub fn checked(&self) -> u32 {
        self.sum(|_| true)
    }

    /// Returns how many modules had a conclusion: `hit` or `miss`.
    pub fn conclusive(&self) -> u32 {
        self.sum(Outcome::is_conclusive)
    }

    /// Returns how many modules could take the query: all that ended but those that were skipped for the query, a
    /// missing key or browser, or a fault of this machine.
    pub fn applicable(&self) -> u32 {
        self.checked() - self.unsuitable
    }

    /// Returns how many modules could take the query but got no request.
    pub fn not_asked(&self) -> u32 {
        Cut::ALL
            .into_iter()
            .zip(self.cuts)
            .filter(|(cut, _)| cut.is_not_asked())
            .map(|(_, count)| count)
            .sum()
    }

    /// Returns how many modules of a run with `total` modules were asked and had the time to answer, and how many could
    /// take the query.
    pub fn done_of(&self, total: u32) -> (u32, u32) {
        let cut = self.not_asked() + self.cuts[Cut::GivenUp as usize];
        (self.applicable().saturating_sub(cut), total.saturating_sub(self.unsuitable))
    }

    /// Returns the conclusive share of the modules that could take the query, from 0.0 to 1.0, with three decimals
    /// (more would only look exact); 0.0 if there are none.
    pub fn ratio(&self) -> f64 {
        match self.applicable() {
            0 => 0.0,
            applicable => (f64::from(self.conclusive()) / f64::from(applicable) * 1000.0).round() / 1000.0,
        }
    }
}

impl Serialize for Coverage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(Some(Outcome::ALL.len() + Cut::ALL.len() + 6))?;
        members.serialize_entry("checked", &self.checked())?;
        members.serialize_entry("conclusive", &self.conclusive())?;
        members.serialize_entry("applicable", &self.applicable())?;
        members.serialize_entry("not_asked", &self.not_asked())?;
        for (outcome, count) in self.outcomes.iter() {
            members.serialize_entry(outcome.as_str(), count)?;
        }
        for (cut, count) in Cut::ALL.into_iter().zip(&self.cuts) {
            members.serialize_entry(cut.member(), count)?;
        }
        members.serialize_entry("down_since", &self.down_since.map(rfc3339_millis))?;
        members.serialize_entry("ratio", &self.ratio())?;
        members.end()
    }
}

impl<'de> Deserialize<'de> for Coverage {
    /// Reads the counts. A member that was not known when the document was written counts 0.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = BTreeMap::<Cow<'de, str>, Value>::deserialize(deserializer)?;
        let count = |name: &str| match members.get(name) {
            None => Ok(0),
            Some(number) => number
                .as_u64()
                .and_then(|count| u32::try_from(count).ok())
                .ok_or_else(|| serde::de::Error::custom("a count of modules is not a 32-bit number")),
        };
        let mut coverage = Self::default();
        for outcome in Outcome::ALL {
            coverage.outcomes[outcome] = count(outcome.as_str())?;
        }
        for (cut, number) in Cut::ALL.into_iter().zip(&mut coverage.cuts) {
            *number = count(cut.member())?;
        }
        coverage.unsuitable = match members.contains_key("applicable") {
            true => coverage.checked().saturating_sub(count("applicable")?),
            false => coverage.count_of(Outcome::Skipped),
        };
        if let Some(Value::String(since)) = members.get("down_since") {
            coverage.down_since = Some(since.parse().map_err(serde::de::Error::custom)?);
        }
        Ok(coverage)
    }
}

impl PartialSchema for Coverage {
    fn schema() -> RefOr<Schema> {
        // A run of 231 modules. Outcomes beyond these have the example 0.
        let mut example = Self::default();
        for (outcome, count) in Outcome::ALL.into_iter().zip([17, 192, 9, 2, 4, 3, 1, 3]) {
            example.outcomes[outcome] = count;
        }
        (example.cuts, example.unsuitable) = ([1, 1, 0, 1, 2, 0, 0], 3);
        example.down_since = "2026-05-06T07:08:09.010Z".parse().ok();
        let mut members = vec![
            ("checked", count("Modules that ended: the sum of all outcomes.", example.checked())),
            ("conclusive", count("Modules with a conclusion: `hit` or `miss`.", example.conclusive())),
            ("applicable", count(APPLICABLE, example.applicable())),
            ("not_asked", count(NOT_ASKED, example.not_asked())),
        ];
        members.extend(
            example
                .outcomes
                .iter()
                .map(|(outcome, number)| (outcome.as_str(), count(outcome.meaning(), *number))),
        );
        let ratio = ObjectBuilder::new()
            .schema_type(Type::Number)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)))
            .description(Some(
                "`conclusive` divided by `applicable`, from 0.0 to 1.0 with three decimals; 0.0 if that is 0.",
            ))
            .minimum(Some(0))
            .maximum(Some(1))
            .examples([json!(example.ratio())])
            .build();
        let cuts = Cut::ALL.into_iter().zip(example.cuts);
        members.extend(cuts.map(|(cut, number)| (cut.member(), count(cut.meaning(), number))));
        members.push(("down_since", down_since(&example)));
        members.push(("ratio", ratio));
        let whole = ObjectBuilder::new().description(Some(
            "The number of modules that ended, by outcome, and of those that were not asked or cut short, by reason.",
        ));
        members
            .into_iter()
            .fold(whole, |whole, (name, member)| whole.property(name, member).required(name))
            .into()
    }
}

const APPLICABLE: &str = "Modules that could take the query: `checked` without those that were skipped for the query, a \
                          missing key or browser, or a fault of the server.";

const NOT_ASKED: &str = "Modules that could take the query but got no request: `down`, `quarantined`, `stopped` and \
                         `limited`.";

fn down_since(example: &Coverage) -> Object {
    let description = "A time since which the hosts of all modules of `down` are down: RFC 3339, UTC, milliseconds; \
                       null if there is none.";
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
        .description(Some(description))
        .examples([json!(example.down_since.map(rfc3339_millis))])
        .build()
}

fn count(description: &str, example: u32) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)))
        .description(Some(description))
        .minimum(Some(0))
        .examples([json!(example)])
        .build()
}

impl ToSchema for Coverage {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_leaves_out_modules_that_cannot_take_the_query() {
        use Outcome::{Blocked, Hit, Miss, Skipped};
        assert_eq!(Coverage::of([]).ratio().to_bits(), 0f64.to_bits());
        assert_eq!(Coverage::of([Skipped]).ratio().to_bits(), 0f64.to_bits());
        let mut coverage = Coverage::of([Hit, Miss, Blocked, Skipped]);
        assert_eq!((coverage.checked(), coverage.conclusive(), coverage.applicable()), (4, 2, 3));
        assert!((coverage.ratio() - 0.667).abs() < 1e-9);
        coverage.add(Skipped, Some(Cut::Stopped), None);
        coverage.add(Skipped, Some(Cut::GivenUp), None);
        assert_eq!((coverage.applicable(), coverage.not_asked(), coverage.done_of(9)), (5, 1, (3, 8)));
        assert!((coverage.ratio() - 0.4).abs() < 1e-9, "{coverage:?}");
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
                    1 not asked: stopped; 1 not asked: limits; 1 cut short: learnt deadline; \
                    1 cut short: time budget; 1 cut short: stopped";
        assert_eq!(coverage.cuts_text().as_deref(), Some(text));
        let json = serde_json::to_value(coverage).unwrap();
        let counts = ["down", "not_asked", "applicable", "checked", "skipped"].map(|name| &json[name]);
        assert_eq!(counts, [2, 5, 9, 10, 3]);
        assert_eq!(serde_json::from_value::<Coverage>(json).unwrap(), coverage);
    }
}
