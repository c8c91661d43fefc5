//! The timeline of a run: when accounts and keys were made, certificates issued, domains registered, pages archived and
//! data leaked.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::base::words::words;
use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;

/// The first year of the domain name system (RFC 882).
const FIRST_YEAR: i16 = 1983;

words! {
    /// The kind of an event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum EventKind {
        /// An account was created.
        Account = "account",
        /// Data leaked.
        Breach = "breach",
        /// A public key was made.
        Key = "key",
        /// A domain was registered.
        Registration = "registration",
        /// A certificate began to be valid.
        Certificate = "certificate",
        /// A page was archived for the first time, as far as the archive tells.
        Archive = "archive",
    }
}

impl EventKind {
    /// Returns the title of the kind.
    pub fn title(self) -> &'static str {
        match self {
            Self::Account => "Accounts created",
            Self::Breach => "Breaches",
            Self::Key => "Keys made",
            Self::Registration => "Registrations",
            Self::Certificate => "Certificates",
            Self::Archive => "First archived",
        }
    }

    /// Returns the types of results with such events, and the members of their metadata with the day.
    fn members(self) -> (&'static [ResultType], &'static [&'static str]) {
        match self {
            Self::Account => (&[ResultType::Account, ResultType::Profile], &["created_at"]),
            Self::Breach => (&[ResultType::Breach], &["breached_on"]),
            Self::Key => (&[ResultType::PublicKey], &["created_at"]),
            Self::Registration => (&[ResultType::Registration], &["registered_at", "created_at"]),
            Self::Certificate => (&[ResultType::Certificate], &["not_before"]),
            Self::Archive => (&[ResultType::Archive], &["first_captured_at", "captured_at"]),
        }
    }
}

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The day.
    pub day: Date,
    /// The kind.
    pub kind: EventKind,
    /// The platform, as text from outside.
    pub platform: String,
    /// The value of the result, as text from outside.
    pub value: Option<String>,
    /// The id of the result.
    pub result: u32,
}

/// Returns the events that these results tell, up to `now`, in the order of their days. Values that are not valid dates, or
/// are older than the domain name system, are left out.
pub fn events(results: &[ResultRecord], now: Timestamp) -> Vec<Event> {
    let last = now.to_zoned(TimeZone::UTC).date();
    let is_valid = |event: &Event| event.day.year() >= FIRST_YEAR && event.day <= last;
    let mut events: Vec<Event> = results.iter().filter_map(event).filter(is_valid).collect();
    events.sort_by_key(|event| (event.day, event.kind, event.result));
    events
}

fn event(result: &ResultRecord) -> Option<Event> {
    let is_of = |kind: &EventKind| kind.members().0.iter().any(|it| it.as_str() == result.result_type);
    let kind = EventKind::ALL.into_iter().find(is_of)?;
    let day = kind.members().1.iter().find_map(|name| day(result.metadata.get(*name)?.as_str()?))?;
    Some(Event {
        day,
        kind,
        platform: result.platform.as_deref().unwrap_or(&result.source).to_owned(),
        value: result.value.clone(),
        result: result.id,
    })
}

/// Returns the day with which a text begins.
fn day(text: &str) -> Option<Date> {
    text.get(..10)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn result(id: u32, kind: &str, metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": id, "type": kind, "entity_type": kind, "platform": format!("Site {id}"), "value": "ana",
            "confidence": 0.9, "source": "site", "metadata": metadata, "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    #[test]
    fn events_are_in_the_order_of_their_days() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let results = [
            result(1, "profile", &json!({"created_at": "2014-05-06T07:08:09Z"})),
            result(2, "breach", &json!({"breached_on": "2012-05-05", "created_at": "2001-01-01"})),
            result(3, "account", &json!({"created_at": "2014-13-01"})),
            result(4, "url", &json!({"created_at": "2014-01-01"})),
            result(5, "account", &json!({"created_at": "2014-01-01"})),
            result(6, "account", &json!({"created_at": "2026-01-02"})),
            result(7, "account", &json!({"created_at": "0001-01-01"})),
        ];
        let shown: Vec<_> = events(&results, now).iter().map(|event| (event.kind, event.result)).collect();
        assert_eq!(shown, [(EventKind::Breach, 2), (EventKind::Account, 5), (EventKind::Account, 1)]);
    }
}
