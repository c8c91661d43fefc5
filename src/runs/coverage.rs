//! [`Coverage`]: the number of modules that ended, by outcome, and of those that were cut, by reason.

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
use crate::modules::reason::Reason;

/// A reason for which a module is not asked, or not until the configured deadline, so that the search takes less time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The host gave no answer to the last checks.
    Down,
    /// The module failed its last control checks.
    Quarantine,
    /// The deadline passed that was learnt from the module's earlier answers.
    LearntDeadline,
    /// The time budget of the search ended.
    TimeBudget,
}

impl Cut {
    /// All of them, in the order in which coverage lists them.
    pub const ALL: [Self; 4] = [Self::Down, Self::Quarantine, Self::LearntDeadline, Self::TimeBudget];

    /// Returns the cut that a module's reason tells of.
    pub fn of(reason: Reason) -> Option<Self> {
        Self::ALL.into_iter().find(|cut| cut.reason() == reason)
    }

    /// Returns the reason of the modules that are cut.
    pub fn reason(self) -> Reason {
        match self {
            Self::Down => Reason::CircuitOpen,
            Self::Quarantine => Reason::Quarantined,
            Self::LearntDeadline => Reason::LearntDeadline,
            Self::TimeBudget => Reason::TimeBudget,
        }
    }

    /// Returns the name of the count in JSON.
    fn member(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Quarantine => "quarantined",
            Self::LearntDeadline => "cut_by_learnt_deadline",
            Self::TimeBudget => "cut_by_time_budget",
        }
    }

    /// Returns the meaning of the count.
    fn meaning(self) -> &'static str {
        match self {
            Self::Down => {
                "Modules that were not asked because their host gave no answer to the last checks: a part of \
                 `timeout` and `error`."
            }
            Self::Quarantine => {
                "Modules that were not asked because they failed their last control checks: a part of `unreliable`."
            }
            Self::LearntDeadline => {
                "Modules without an answer by the deadline that was learnt from their earlier answers: a part of \
                 `timeout`."
            }
            Self::TimeBudget => {
                "Modules without an answer by the end of the search's time budget: a part of `timeout`."
            }
        }
    }
}

/// The number of modules that ended, by outcome, and of those that were cut, by reason.
///
/// As JSON it is an object with a member for each outcome and each [`Cut`], with `checked`, `conclusive` and `ratio`,
/// which follow from the counts, and with `down_since`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Coverage {
    outcomes: ByOutcome<u32>,
    /// The counts of the cuts, in the order of [`Cut::ALL`].
    cuts: [u32; Cut::ALL.len()],
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
    pub fn add(&mut self, outcome: Outcome, reason: Option<Reason>, circuit: Option<OpenCircuit>) {
        self.outcomes[outcome] += 1;
        if let Some(cut) = reason.and_then(Cut::of) {
            self.cuts[cut as usize] += 1;
        }
        let is_down = reason == Some(Cut::Down.reason());
        let circuit = circuit.filter(|_| is_down);
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
        match (cut, self.down_since) {
            (Cut::Down, None) => format!("{count} not asked: down"),
            (Cut::Down, Some(since)) => {
                format!("{count} not asked: down since {}", since.strftime("%Y-%m-%d %H:%M UTC"))
            }
            (Cut::Quarantine, _) => format!("{count} not asked: in quarantine"),
            (Cut::LearntDeadline | Cut::TimeBudget, _) => {
                format!("{count} cut short: {}", cut.reason().as_phrase())
            }
        }
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

    /// Returns how many modules were asked: all that ended but the skipped ones.
    pub fn asked(&self) -> u32 {
        self.checked() - self.count_of(Outcome::Skipped)
    }

    /// Returns the conclusive share of the modules that were asked, from 0.0 to 1.0, with three decimals (more would
    /// only look exact); 0.0 if none was asked.
    pub fn ratio(&self) -> f64 {
        match self.asked() {
            0 => 0.0,
            asked => (f64::from(self.conclusive()) / f64::from(asked) * 1000.0).round() / 1000.0,
        }
    }
}

impl Serialize for Coverage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_map(Some(Outcome::ALL.len() + Cut::ALL.len() + 4))?;
        members.serialize_entry("checked", &self.checked())?;
        members.serialize_entry("conclusive", &self.conclusive())?;
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
        example.cuts = [1, 1, 2, 0];
        example.down_since = "2026-05-06T07:08:09.010Z".parse().ok();
        let mut members = vec![
            ("checked", count("Modules that ended: the sum of all outcomes.", example.checked())),
            ("conclusive", count("Modules with a conclusion: `hit` or `miss`.", example.conclusive())),
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
                "`conclusive` divided by `checked` minus `skipped`, from 0.0 to 1.0 with three decimals; 0.0 if no module \
                 was asked.",
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
    fn the_ratio_leaves_out_skipped_modules() {
        use Outcome::{Blocked, Hit, Miss, Skipped};
        assert_eq!(Coverage::of([]).ratio().to_bits(), 0f64.to_bits());
        assert_eq!(Coverage::of([Skipped]).ratio().to_bits(), 0f64.to_bits());
        let coverage = Coverage::of([Hit, Miss, Blocked, Skipped]);
        assert_eq!((coverage.checked(), coverage.conclusive(), coverage.asked()), (4, 2, 3));
        assert!((coverage.ratio() - 0.667).abs() < 1e-9);
    }

    #[test]
    fn a_stored_document_is_read_without_the_members_that_follow_from_others() {
        let coverage = Coverage::of([Outcome::Hit, Outcome::Timeout]);
        let text = serde_json::to_string(&coverage).unwrap();
        assert_eq!(
            text,
            r#"{"checked":2,"conclusive":1,"hit":1,"miss":0,"blocked":0,"rate_limited":0,"timeout":1,"error":0,"#
                .to_owned()
                + r#""unreliable":0,"skipped":0,"down":0,"quarantined":0,"cut_by_learnt_deadline":0,"cut_by_time_budget":0,"#
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
        let down = Some(Reason::CircuitOpen);
        coverage.add(Outcome::Timeout, down, Some(circuit("2026-05-06T14:05:06Z")));
        coverage.add(Outcome::Error, down, Some(circuit("2026-05-06T14:04:00Z")));
        let text = "2 not asked: down since 2026-05-06 14:05 UTC";
        assert_eq!(coverage.cuts_text().as_deref(), Some(text));
        let reasons = [(Reason::LearntDeadline, 1), (Reason::TimeBudget, 3), (Reason::RunDeadline, 2)];
        for reason in reasons.into_iter().flat_map(|(reason, count)| vec![reason; count]) {
            coverage.add(Outcome::Timeout, Some(reason), None);
        }
        // It began after the others, and is not down.
        let quarantine = circuit("2026-05-06T14:30:00Z");
        coverage.add(Outcome::Unreliable, Some(Reason::Quarantined), Some(quarantine));
        let text = format!(
            "{text}; 1 not asked: in quarantine; 1 cut short: learnt deadline; 3 cut short: time budget"
        );
        assert_eq!(coverage.cuts_text(), Some(text));
        let json = serde_json::to_value(coverage).unwrap();
        let counts =
            ["down", "quarantined", "cut_by_learnt_deadline", "cut_by_time_budget", "timeout", "unreliable"]
                .map(|name| &json[name]);
        assert_eq!(counts, [2, 1, 1, 3, 7, 1]);
        assert_eq!(serde_json::from_value::<Coverage>(json).unwrap(), coverage);
    }
}
