//! The timeline of a run: when accounts and keys were made, certificates issued, domains registered, pages archived and
//! data leaked.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::model::run::ResultRecord;
use crate::modules::definition::ResultType;

/// The first year of the domain name system (RFC 882).
const FIRST_YEAR: i16 = 1983;

/// The title of the days on which accounts were created.
pub(super) const ACCOUNTS: &str = "Accounts created";

/// The kinds of events: the title, the types of results that have one, and the members of their metadata with the day.
type Kind = (&'static str, &'static [ResultType], &'static [&'static str]);
const KINDS: [Kind; 6] = [
    (ACCOUNTS, &[ResultType::Account, ResultType::Profile], &["created_at"]),
    ("Breaches", &[ResultType::Breach], &["breached_on"]),
    ("Keys made", &[ResultType::PublicKey], &["created_at"]),
    ("Registrations", &[ResultType::Registration], &["registered_at", "created_at"]),
    ("Certificates", &[ResultType::Certificate], &["not_before"]),
    ("First archived", &[ResultType::Archive], &["first_captured_at", "captured_at"]),
];

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The day.
    pub day: Date,
    /// The title of the kind.
    pub title: &'static str,
    /// The platform, as text from outside.
    pub platform: String,
    /// The value of the result, as text from outside.
    pub value: Option<String>,
    /// The id of the result.
    pub result: u32,
}

/// Returns the events in these results up to `now`, in the order of their days. Values that are not valid dates, or are
/// older than the domain name system, are skipped.
pub fn events<'r>(results: impl Iterator<Item = &'r ResultRecord>, now: Timestamp) -> Vec<Event> {
    let last = now.to_zoned(TimeZone::UTC).date();
    let is_valid = |event: &Event| event.day.year() >= FIRST_YEAR && event.day <= last;
    let mut events: Vec<Event> = results.filter_map(event).filter(is_valid).collect();
    events.sort_by_key(|event| (event.day, event.result));
    events
}

fn event(result: &ResultRecord) -> Option<Event> {
    let is_of = |(_, types, _): &&Kind| types.iter().any(|it| it.as_str() == result.result_type);
    let (title, _, members) = KINDS.iter().find(is_of)?;
    let day = |name: &&str| result.metadata.get(*name)?.as_str()?.get(..10)?.parse().ok();
    Some(Event {
        day: members.iter().find_map(day)?,
        title,
        platform: result.site().to_owned(),
        value: result.value.clone(),
        result: result.id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entity::tests::record;
    use serde_json::{Value, json};

    fn result(id: u32, kind: &str, metadata: &Value) -> ResultRecord {
        record(id, kind, "ana", metadata)
    }

    #[test]
    fn events_are_in_the_order_of_their_days() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let results = [
            result(1, "profile", &json!({"created_at": "2014-05-06T07:08:09Z"})),
            result(2, "breach", &json!({"breached_on": "2012-05-05", "created_at": "2001-01-01"})),
            result(3, "account", &json!({"created_at": "2014-13-01"})),
            result(4, "url", &json!({"created_at": "2014-01-01"})),
            result(5, "account", &json!({"created_at": "2014-05-06"})),
            result(6, "account", &json!({"created_at": "2026-01-02"})),
            result(7, "account", &json!({"created_at": "0001-01-01"})),
        ];
        let shown: Vec<_> =
            events(results.iter(), now).iter().map(|event| (event.title, event.result)).collect();
        assert_eq!(shown, [("Breaches", 2), ("Accounts created", 1), ("Accounts created", 5)]);
    }
}
