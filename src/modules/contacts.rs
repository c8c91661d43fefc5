//! [`Contacts`]: the hosts that a check has contacted, and whether they answered.

use std::time::Duration;

use super::definition::Via;
use super::probe::{Answered, Contact, ProbeError, Request};

/// The shortest time for an answer whose lack says something about the host. A part of the shortest learnt deadline,
/// two seconds, has passed when a request begins.
const FAIR_TIME: Duration = Duration::from_millis(1500);

/// The contacts of a check with hosts that the catalogue names. Hosts that the query or an answer names are left out,
/// because they tell what was searched.
#[derive(Default)]
pub(super) struct Contacts(Vec<Contact>);

impl Contacts {
    /// Adds a request that was sent to `host`, had `time` for its answer, and `took` so long. A failure that may have
    /// another cause than the host is left out.
    pub(super) fn note(
        &mut self,
        host: Option<&str>,
        request: &Request,
        [time, took]: [Duration; 2],
        error: Option<&ProbeError>,
    ) {
        let Some(host) = host else { return };
        // A browser takes its own time.
        let took = if request.via == Via::Browser { Duration::ZERO } else { took };
        let answer = match error {
            None => Answered::Yes,
            // The browser or its session may be the cause.
            Some(_) if request.via == Via::Browser => return,
            // The certificate of a host may not be valid for each name below it.
            Some(ProbeError::Tls(_)) if request.url.host_str() != Some(host) => return,
            Some(error) => match error.answered() {
                // A host that has used up the time itself gets no more.
                Some(Answered::TooLate) if time < FAIR_TIME && !self.has_answer(Some(host)) => return,
                Some(answer) => answer,
                None if matches!(error, ProbeError::Dns(_)) && took >= FAIR_TIME => Answered::NoConnection,
                None => return,
            },
        };
        self.0.push(Contact { host: host.to_owned(), answer, took });
    }

    /// Returns whether the host has answered a request of the check.
    pub(super) fn has_answer(&self, host: Option<&str>) -> bool {
        self.0.iter().any(|contact| Some(&*contact.host) == host && contact.answer == Answered::Yes)
    }

    /// Returns all contacts in the order of the requests.
    pub(super) fn all(&self) -> &[Contact] {
        &self.0
    }
}
