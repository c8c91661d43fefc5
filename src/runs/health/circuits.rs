//! [`Circuits`]: the circuit breakers of all hosts.
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
use parking_lot::Mutex;

use super::circuit::{Circuit, Retry};
use super::circuit_table::CircuitTable;
use crate::base::clock::{Clock, SystemClock};
use crate::base::ids::RunId;
use crate::modules::outcome::{OpenCircuit, Outcome, Report};
use crate::modules::probe::{Answered, Contact};
use crate::modules::terms::{Access, Denial};

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

/// The circuit breakers of all hosts. There is one value for each process.
pub struct Circuits {
    /// The circuits by host.
    pub hosts: CircuitTable<Outcome>,
    /// The time of the last answer of any host. It is locked after the circuits.
    heard: Mutex<Option<Timestamp>>,
}

impl Circuits {
    /// Creates closed circuits for all hosts.
    pub fn new(clock: Arc<dyn Clock>, retry: Retry) -> Self {
        Self { hosts: CircuitTable::new(clock, retry), heard: Mutex::default() }
    }

    /// Returns the reason for which a host must not be contacted now, if there is one.
    pub fn denial(&self, host: &str) -> Option<Denial> {
        let hosts = self.hosts.lock();
        match hosts.get(host)?.access(self.hosts.clock.now(), self.hosts.retry) {
            Access::Denied(denial) => Some(denial),
            Access::Granted | Access::Trial(_) => None,
        }
    }

    /// Requests access to a host. A trial begins at once, and must be ended with [`CircuitTable::end_trial`].
    pub fn access(&self, host: &str) -> Access {
        let (mut hosts, now) = (self.hosts.lock(), self.hosts.clock.now());
        let Some(circuit) = hosts.get_mut(host) else { return Access::Granted };
        let access = circuit.access(now, self.hosts.retry);
        if let Access::Trial(_) = access {
            circuit.begin_trial(now);
        }
        access
    }

    /// Returns the time that a host has for its answer in a trial.
    pub fn trial_time(&self, host: &str) -> Duration {
        let retry = self.hosts.retry;
        self.hosts.lock().get(host).map_or(retry.longest, |circuit| circuit.trial_time(retry))
    }

    /// Notes that hosts answered, which shows that the local network works.
    pub fn note_heard(&self, contacts: &[Contact]) {
        if contacts.iter().any(|contact| contact.answer == Answered::Yes) {
            let mut heard = self.heard.lock();
            *heard = heard.max(Some(self.hosts.clock.now()));
        }
    }

    /// Counts the hosts of a check that led to a conclusion, or at least answered soon. Failures are counted with
    /// [`Self::note_failures`].
    pub fn note_successes(&self, report: &Report) {
        let contacts = &report.evidence.contacts;
        self.note_heard(contacts);
        let (mut hosts, now) = (self.hosts.lock(), self.hosts.clock.now());
        for contact in contacts.iter().filter(|contact| contact.answer == Answered::Yes) {
            if failure(report, &contact.host).is_none() {
                hosts.entry(contact.host.clone()).or_default().note_success(now);
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
        let is_known = |circuit: &Circuit<Outcome>| circuit.is_failing() || circuit.opening().is_some();
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
        is_wanted: impl Fn(&Circuit<Outcome>) -> bool,
    ) -> Vec<String> {
        let mut counted = Vec::new();
        let contacts = &report.evidence.contacts;
        let (mut hosts, now) = (self.hosts.lock(), self.hosts.clock.now());
        let seen = began.saturating_sub(NETWORK_SEEN).unwrap_or(Timestamp::MIN);
        let is_network_seen = *self.heard.lock() >= Some(seen);
        for (index, Contact { host, .. }) in contacts.iter().enumerate() {
            let is_last = !contacts[index + 1..].iter().any(|later| later.host == *host);
            let Some(cause) = failure(report, host).filter(|_| is_last) else { continue };
            let circuit = hosts.entry(host.clone()).or_default();
            // A host that has failed while others answered is a likelier cause than the network, even if searches wait
            // only for it and hear of no other.
            let has_cause = is_network_seen || circuit.is_failing();
            if is_wanted(circuit) && has_cause && !circuit.has_answered_since(began) {
                circuit.note_failure(run, cause, now, self.hosts.retry);
                counted.push(host.clone());
            }
        }
        counted
    }

    /// Returns the open circuit of the first of these hosts that has one.
    pub fn of(&self, mut hosts: impl Iterator<Item = impl AsRef<str>>) -> Option<OpenCircuit> {
        let circuits = self.hosts.lock();
        hosts.find_map(|host| Some(circuits.get(host.as_ref())?.opening()?.times()))
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

impl Default for Circuits {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Retry::default())
    }
}
