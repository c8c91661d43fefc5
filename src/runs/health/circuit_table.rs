//! [`CircuitTable`]: the circuits of one kind, by the name of the host or the id of the module.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use super::circuit::{Cause, Circuit, Retry};
use crate::base::clock::Clock;
use crate::model::health::{CircuitRecord, Opening};

/// The time for which successes and stored closings are kept, so that records of other processes are compared with them.
const KEEP_CLOSED: Duration = Duration::from_secs(60 * 60);

/// The circuits of one kind by name. A circuit that is not in it is closed.
pub struct CircuitTable<C> {
    circuits: Mutex<HashMap<String, Circuit<C>>>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) retry: Retry,
}

impl<C: Cause> CircuitTable<C> {
    pub(super) fn new(clock: Arc<dyn Clock>, retry: Retry) -> Self {
        Self { circuits: Mutex::default(), clock, retry }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<String, Circuit<C>>> {
        self.circuits.lock()
    }

    /// Ends the trial of a host or a module. If it was not made, the next trial is allowed at once.
    pub fn end_trial(&self, name: &str, was_made: bool) {
        if let Some(circuit) = self.lock().get_mut(name) {
            circuit.end_trial(was_made);
        }
    }

    /// Returns the open circuits, sorted by name.
    pub fn open(&self) -> Vec<(String, Opening<C>)> {
        let circuits = self.lock();
        let open = circuits.iter().filter_map(|(name, it)| Some((name.clone(), it.opening()?.clone())));
        let mut open: Vec<_> = open.collect();
        open.sort_by(|one, other| one.0.cmp(&other.0));
        open
    }

    /// Returns the changes that are not stored yet, sorted by name.
    pub fn to_write(&self) -> Vec<CircuitRecord<C>> {
        let mut records: Vec<_> =
            self.lock().iter().filter_map(|(name, circuit)| circuit.unwritten(name)).collect();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        records
    }

    /// Records that the changes `written` are stored, and takes over what the store has.
    pub fn written(&self, written: &[CircuitRecord<C>], stored: &[CircuitRecord<C>]) {
        let mut circuits = self.lock();
        for record in written {
            if let Some(circuit) = circuits.get_mut(&record.name) {
                circuit.written(record);
            }
        }
        for record in stored {
            circuits.entry(record.name.clone()).or_default().merge(record);
        }
    }

    /// Removes the circuits that no later check needs.
    pub fn sweep(&self) {
        let old = self.clock.now().saturating_sub(KEEP_CLOSED).unwrap_or(Timestamp::MIN);
        self.lock().retain(|_, circuit| !circuit.is_idle(old));
    }
}
