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

use super::circuit::Retry;
use super::circuit_table::CircuitTable;
use crate::base::clock::{Clock, SystemClock};
use crate::base::ids::RunId;
use crate::modules::outcome::{OpenCircuit, Outcome};
use crate::modules::probe::{Answered, Contact};
use crate::modules::terms::{Access, Denial};

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

    /// Counts the answers that a check got. Failures are counted with [`Self::note_failures`].
    pub fn note_answers(&self, contacts: &[Contact]) {
        let (mut hosts, now) = (self.hosts.lock(), self.hosts.clock.now());
        for contact in contacts.iter().filter(|contact| contact.answer == Answered::Yes) {
            let mut heard = self.heard.lock();
            *heard = heard.max(Some(now));
            hosts.entry(contact.host.clone()).or_default().note_success(now);
        }
    }

    /// Counts the hosts that gave no answer to any request of a check of `run`, which began at `began`.
    pub fn note_failures(&self, run: RunId, contacts: &[Contact], began: Timestamp) {
        let (mut hosts, now) = (self.hosts.lock(), self.hosts.clock.now());
        let seen = began.saturating_sub(NETWORK_SEEN).unwrap_or(Timestamp::MIN);
        if *self.heard.lock() < Some(seen) {
            return;
        }
        let is_silent = |host: &str| !contacts.iter().any(|it| it.host == host && it.answer == Answered::Yes);
        for (index, Contact { host, answer }) in contacts.iter().enumerate() {
            let is_last = !contacts[index + 1..].iter().any(|later| later.host == *host);
            if is_last && is_silent(host) {
                let outcome = if *answer == Answered::TooLate { Outcome::Timeout } else { Outcome::Error };
                hosts.entry(host.clone()).or_default().note_failure(run, outcome, now, self.hosts.retry);
            }
        }
    }

    /// Returns the open circuit of the first of these hosts that has one.
    pub fn of(&self, mut hosts: impl Iterator<Item = impl AsRef<str>>) -> Option<OpenCircuit> {
        let circuits = self.hosts.lock();
        hosts.find_map(|host| Some(circuits.get(host.as_ref())?.opening()?.times()))
    }
}

impl Default for Circuits {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Retry::default())
    }
}
