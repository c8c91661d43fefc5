//! The circuit breakers of hosts: which checks count as failures of a host.
//!
//! A process keeps the circuits of hosts that failed, and shares changes with other processes and restarts through the
//! store. The newer change of a host is valid: an opening is taken over, and an answer that any process sees closes the
//! circuit for all. Failures of a closed circuit are counted by each process alone.
//!
//! Only hosts that the catalogue names have circuits. Hosts that a query names have none, because they would tell what
//! was searched.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::HealthTable;
use super::breaker::Breaker;
use crate::base::ids::RunId;
use crate::model::health::Cause;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::probe::{Answered, Contact};

/// The time from which on a check without a conclusion costs a search too much, whatever the host has answered.
pub const LONG: Duration = Duration::from_secs(1);
/// The longest time between an answer of some host and the begin of a check whose failure counts. Without such an
/// answer, the local network may be the cause.
const NETWORK_SEEN: Duration = Duration::from_secs(1);

/// What a check does about hosts and modules whose circuit is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnOpenCircuit {
    /// They are not asked, except for trials.
    #[default]
    Skip,
    /// They are asked, because the caller has named the module.
    Ask,
}

impl HealthTable {
    /// Notes that hosts answered, which shows that the local network works.
    pub fn note_heard(&self, contacts: &[Contact]) {
        if contacts.iter().any(|contact| contact.answer == Answered::Yes) {
            let mut heard = self.heard.lock();
            *heard = heard.max(self.clock.now());
        }
    }

    /// Counts the hosts of a check that led to a conclusion, or at least answered soon. Failures are counted with
    /// [`Self::note_failures`].
    pub fn note_successes(&self, report: &Report) {
        let contacts = &report.evidence.contacts;
        self.note_heard(contacts);
        let (mut hosts, now) = (self.circuits.lock(), self.clock.now());
        for Contact { host, .. } in contacts.iter().filter(|contact| contact.answer == Answered::Yes) {
            if failure(report, host).is_none() {
                hosts.entry(host.as_str().into()).or_default().note_success(now);
            }
        }
    }

    /// Counts the hosts that kept a check of `run`, which began at `began`, from a conclusion. A host that has concluded
    /// another check since then works: it only has no answer for this query.
    pub fn note_failures(&self, run: RunId, report: &Report, began: Timestamp) {
        self.count_failures(run, report, began, |_| true);
    }

    /// Counts like [`Self::note_failures`] those of the hosts that have failed before, which needs no conclusion of the run:
    /// a check that waits for such a host must not begin before. They are removed from the report, so that they count once.
    pub fn note_further_failures(&self, run: RunId, report: &mut Arc<Report>, began: Timestamp) {
        if report.reason.is_some_and(|reason| reason.is_end_of_run() || reason.has_circuit()) {
            return;
        }
        let is_known = |circuit: &Breaker| circuit.is_failing() || circuit.opening().is_some();
        let counted = self.count_failures(run, report, began, is_known);
        if !counted.is_empty() {
            let contacts = &mut Arc::make_mut(report).evidence.contacts;
            contacts.retain(|contact| !counted.contains(&contact.host));
        }
    }

    fn count_failures(
        &self,
        run: RunId,
        report: &Report,
        began: Timestamp,
        is_wanted: impl Fn(&Breaker) -> bool,
    ) -> Vec<String> {
        let mut counted = Vec::new();
        let contacts = &report.evidence.contacts;
        let (mut hosts, now) = (self.circuits.lock(), self.clock.now());
        let seen = began.saturating_sub(NETWORK_SEEN).unwrap_or(Timestamp::MIN);
        let is_network_seen = *self.heard.lock() >= seen;
        for (index, Contact { host, .. }) in contacts.iter().enumerate() {
            let is_last = !contacts[index + 1..].iter().any(|later| later.host == *host);
            let Some(outcome) = failure(report, host).filter(|_| is_last) else { continue };
            let circuit = hosts.entry(host.as_str().into()).or_default();
            // A host that has failed while others answered is a likelier cause than the network, even if searches wait
            // only for it and hear of no other.
            let has_cause = is_network_seen || circuit.is_failing();
            if is_wanted(circuit) && has_cause && !circuit.has_succeeded_since(began) {
                circuit.note_failure(run, Cause::Check(outcome), now, self.circuits.rules);
                counted.push(host.clone());
            }
        }
        counted
    }
}

/// Returns how a host kept a check from a conclusion, or `None` if it did not.
fn failure(report: &Report, host: &str) -> Option<Outcome> {
    let own = || report.evidence.contacts.iter().filter(|contact| contact.host == host);
    let (last, has_answered) =
        (own().next_back()?.answer, own().any(|contact| contact.answer == Answered::Yes));
    let is_in_vain = match report.outcome {
        Outcome::Hit | Outcome::Miss => false,
        // A failed control check counts for the module, and a local fault for nobody.
        Outcome::Unreliable | Outcome::Skipped => false,
        Outcome::Blocked | Outcome::RateLimited | Outcome::Timeout | Outcome::Error => {
            own().map(|contact| contact.took).sum::<Duration>() >= LONG
        }
    };
    match last {
        _ if is_in_vain && has_answered => Some(Outcome::Timeout),
        Answered::TooLate if !has_answered => Some(Outcome::Timeout),
        Answered::NoConnection if !has_answered => Some(Outcome::Error),
        _ => None,
    }
}
