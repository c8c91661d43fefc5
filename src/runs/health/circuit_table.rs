//! [`CircuitTable`]: the circuits of one kind, by the name of the host or the id of the module.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use super::circuit::{Cause, Circuit, CircuitRecord, Opening, Retry};
use crate::modules::terms::Access;

/// The time for which successes and stored closings are kept, so that records of other processes are compared with them.
const KEEP_CLOSED: Duration = Duration::from_secs(60 * 60);

/// The circuits of one kind by name. A circuit that is not in it is closed.
pub(super) struct CircuitTable<C>(HashMap<String, Circuit<C>>);

impl<C> Default for CircuitTable<C> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<C: Cause> CircuitTable<C> {
    pub(super) fn get(&self, name: &str) -> Option<&Circuit<C>> {
        self.0.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Circuit<C>> {
        self.0.get_mut(name)
    }

    /// Returns the circuit with this name, and adds a closed one if there is none.
    pub(super) fn get_or_add(&mut self, name: &str) -> &mut Circuit<C> {
        self.0.entry(name.to_owned()).or_default()
    }

    /// Returns the access that a check would get at `now`.
    pub(super) fn access(&self, name: &str, now: Timestamp, retry: Retry) -> Access {
        self.get(name).map_or(Access::Granted, |circuit| circuit.access(now, retry))
    }

    /// Returns the open circuits, sorted by name.
    pub(super) fn open(&self) -> Vec<(String, Opening<C>)> {
        let open = self.0.iter().filter_map(|(name, it)| Some((name.clone(), it.opening()?.clone())));
        let mut open: Vec<_> = open.collect();
        open.sort_by(|one, other| one.0.cmp(&other.0));
        open
    }

    /// Returns the changes that are not stored yet, sorted by name.
    pub(super) fn to_write(&self) -> Vec<CircuitRecord<C>> {
        let mut records: Vec<_> =
            self.0.iter().filter_map(|(name, circuit)| circuit.unwritten(name)).collect();
        records.sort_by(|one, other| one.name.cmp(&other.name));
        records
    }

    /// Records that the changes `written` are stored, and takes over what the store has.
    pub(super) fn written(&mut self, written: &[CircuitRecord<C>], stored: &[CircuitRecord<C>]) {
        for record in written {
            if let Some(circuit) = self.get_mut(&record.name) {
                circuit.written(record);
            }
        }
        for record in stored {
            self.get_or_add(&record.name).merge(record);
        }
    }

    /// Removes the circuits that no check after `now` needs.
    pub(super) fn sweep(&mut self, now: Timestamp) {
        let old = now.saturating_sub(KEEP_CLOSED).unwrap_or(Timestamp::MIN);
        self.0.retain(|_, circuit| !circuit.is_idle(old));
    }
}
