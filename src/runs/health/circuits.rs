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

use super::circuit::{CircuitRecord, Opening, Retry};
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
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    retry: Retry,
}

#[derive(Default)]
struct State {
    hosts: CircuitTable<Outcome>,
    /// The time of the last answer of any host.
    heard: Option<Timestamp>,
}

impl Circuits {
    /// Creates closed circuits for all hosts.
    pub fn new(clock: Arc<dyn Clock>, retry: Retry) -> Self {
        Self { state: Mutex::default(), clock, retry }
    }

    /// Returns the reason for which a host must not be contacted now, if there is one.
    pub fn denial(&self, host: &str) -> Option<Denial> {
        match self.state.lock().hosts.access(host, self.clock.now(), self.retry) {
            Access::Denied(denial) => Some(denial),
            Access::Granted | Access::Trial(_) => None,
        }
    }

    /// Requests access to a host. A trial begins at once, and must be ended with [`Self::end_trial`].
    pub fn access(&self, host: &str) -> Access {
        let (mut state, now) = (self.state.lock(), self.clock.now());
        let access = state.hosts.access(host, now, self.retry);
        if let (Access::Trial(_), Some(circuit)) = (access, state.hosts.get_mut(host)) {
            circuit.begin_trial(now);
        }
        access
    }

    /// Returns the time that a host has for its answer in a trial.
    pub fn trial_time(&self, host: &str) -> Duration {
        let state = self.state.lock();
        state.hosts.get(host).map_or(self.retry.longest, |circuit| circuit.trial_time(self.retry))
    }

    /// Ends the trial of a host.
    pub fn end_trial(&self, host: &str, was_contacted: bool) {
        if let Some(circuit) = self.state.lock().hosts.get_mut(host) {
            circuit.end_trial(was_contacted);
        }
    }

    /// Counts the answers that a check got. Failures are counted with [`Self::note_failures`].
    pub fn note_answers(&self, contacts: &[Contact]) {
        let (mut state, now) = (self.state.lock(), self.clock.now());
        for contact in contacts.iter().filter(|contact| contact.answer == Answered::Yes) {
            state.heard = state.heard.max(Some(now));
            state.hosts.get_or_add(&contact.host).note_success(now);
        }
    }

    /// Counts the hosts that gave no answer to any request of a check of `run`, which began at `began`.
    pub fn note_failures(&self, run: RunId, contacts: &[Contact], began: Timestamp) {
        let (mut state, now) = (self.state.lock(), self.clock.now());
        let seen = began.saturating_sub(NETWORK_SEEN).unwrap_or(Timestamp::MIN);
        if state.heard < Some(seen) {
            return;
        }
        let is_silent = |host: &str| !contacts.iter().any(|it| it.host == host && it.answer == Answered::Yes);
        for (index, Contact { host, answer }) in contacts.iter().enumerate() {
            let is_last = !contacts[index + 1..].iter().any(|later| later.host == *host);
            if is_last && is_silent(host) {
                let outcome = if *answer == Answered::TooLate { Outcome::Timeout } else { Outcome::Error };
                state.hosts.get_or_add(host).note_failure(run, outcome, now, self.retry);
            }
        }
    }

    /// Returns the open circuits, sorted by host.
    pub fn open(&self) -> Vec<(String, Opening<Outcome>)> {
        self.state.lock().hosts.open()
    }

    /// Returns the open circuit of the first of these hosts that has one.
    pub fn of(&self, mut hosts: impl Iterator<Item = impl AsRef<str>>) -> Option<OpenCircuit> {
        let state = self.state.lock();
        hosts.find_map(|host| Some(state.hosts.get(host.as_ref())?.opening()?.times()))
    }

    /// Returns the changes that are not stored yet, sorted by host.
    pub fn to_write(&self) -> Vec<CircuitRecord<Outcome>> {
        self.state.lock().hosts.to_write()
    }

    /// Records that the changes `written` are stored, and takes over what the store has.
    pub fn written(&self, written: &[CircuitRecord<Outcome>], stored: &[CircuitRecord<Outcome>]) {
        self.state.lock().hosts.written(written, stored);
    }

    /// Removes the circuits that no later check needs.
    pub fn sweep(&self) {
        self.state.lock().hosts.sweep(self.clock.now());
    }
}

impl Default for Circuits {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Retry::default())
    }
}
