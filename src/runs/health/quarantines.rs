//! [`Quarantines`]: the modules that failed their last control checks, and are therefore not asked.
//!
//! Each module has a circuit like that of a host (see [`super::circuit`]): two control checks in a row that failed, of
//! two runs, put the module in quarantine. A trial repeats the control check that failed, before it asks for anything
//! else, and ends the quarantine if the control check passes. Changes are shared with other processes and restarts
//! through the store.
//!
//! A module whose entry differs from the one that failed is tried at once, because the new entry may be a repair.
//!
//! Control checks that depend on the queried domain do not count: they say nothing about other domains.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use log::{info, warn};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::circuit::{Cause, Circuit, Retry};
use super::circuit_table::CircuitTable;
use crate::base::clock::{Clock, SystemClock};
use crate::base::encoding::hex;
use crate::base::ids::RunId;
use crate::model::health::{FailedControl, Opening};
use crate::modules::control_check::{ControlAnswer, ControlCheck, ControlVerdict, Direction};
use crate::modules::module::Module;
use crate::modules::outcome::OpenCircuit;
use crate::modules::terms::{Access, Denial, ModuleTrial};

/// The default wait from the begin of a quarantine to the first trial.
const FIRST_WAIT: Duration = Duration::from_secs(10 * 60);

impl Cause for FailedControl {
    fn denial(&self, times: OpenCircuit) -> Denial {
        Denial::Quarantine(times)
    }
}

/// The access of a check to a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleAccess {
    /// The module is not in quarantine.
    Granted,
    /// The module is in quarantine, and this check tries it. The trial must be ended with [`CircuitTable::end_trial`].
    Trial(ModuleTrial),
    /// The module must not be asked now.
    Denied(Denial),
}

/// The circuits of all modules. There is one value for each process.
pub struct Quarantines {
    /// The circuits by module.
    pub modules: CircuitTable<FailedControl>,
    /// The answers to the last control checks that passed. They are locked after the circuits.
    passed: Mutex<HashMap<(Arc<str>, Direction), ControlAnswer>>,
}

impl Quarantines {
    /// Creates a table in which no module is in quarantine.
    pub fn new(clock: Arc<dyn Clock>, retry: Retry) -> Self {
        Self { modules: CircuitTable::new(clock, retry), passed: Mutex::default() }
    }

    /// Returns the reason for which a module must not be asked now, if it is in quarantine and no trial is due.
    pub fn denial(&self, module: &Module) -> Option<Denial> {
        match self.access_to(self.modules.lock().get(module.id().as_ref())?, module) {
            Access::Denied(denial) => Some(denial),
            Access::Granted | Access::Trial(_) => None,
        }
    }

    /// Requests access to a module. A trial begins at once.
    pub fn access(&self, module: &Module) -> ModuleAccess {
        let mut modules = self.modules.lock();
        let Some(circuit) = modules.get_mut(module.id().as_ref()) else { return ModuleAccess::Granted };
        match self.access_to(circuit, module) {
            Access::Denied(denial) => return ModuleAccess::Denied(denial),
            Access::Granted => return ModuleAccess::Granted,
            Access::Trial(_) => circuit.begin_trial(self.modules.clock.now()),
        }
        circuit.opening().map_or(ModuleAccess::Granted, |opening| {
            ModuleAccess::Trial(ModuleTrial { direction: opening.cause.direction, times: opening.times() })
        })
    }

    fn access_to(&self, circuit: &Circuit<FailedControl>, module: &Module) -> Access {
        let Some(opening) = circuit.opening() else { return Access::Granted };
        let (now, is_changed) = (self.modules.clock.now(), opening.cause.entry != digest(module));
        // A changed entry is due before its time.
        circuit.access(if is_changed { now.max(opening.next_try) } else { now }, self.modules.retry)
    }

    /// Counts the control checks that passed. Failed ones are counted with [`Self::note_failures`].
    ///
    /// A passed control check of the other direction does not end a quarantine.
    pub fn note_passed(&self, module: &Arc<str>, controls: &[ControlCheck]) {
        let (mut modules, now) = (self.modules.lock(), self.modules.clock.now());
        for ControlCheck { direction, answer, .. } in of_verdict(controls, ControlVerdict::Passed) {
            self.passed.lock().insert((Arc::clone(module), *direction), answer.clone());
            let Some(circuit) = modules.get_mut(module.as_ref()) else { continue };
            if circuit.cause().is_some_and(|cause| cause.direction == *direction) {
                if circuit.opening().is_some() {
                    info!("module {module} has passed its control check again and is asked by searches");
                }
                circuit.note_success(now);
            }
        }
    }

    /// Counts the control checks of a check of `run` that failed.
    pub fn note_failures(&self, run: RunId, module: &Module, controls: &[ControlCheck]) {
        let (mut modules, now) = (self.modules.lock(), self.modules.clock.now());
        for ControlCheck { direction, answer, .. } in of_verdict(controls, ControlVerdict::Failed) {
            let before = self.passed.lock().get(&(Arc::clone(module.id()), *direction)).cloned();
            let circuit = modules.entry(module.id().to_string()).or_default();
            let earlier = circuit.cause();
            let cause = FailedControl {
                direction: *direction,
                failures: earlier.map_or(1, |cause| cause.failures.saturating_add(1)),
                after: answer.clone(),
                before: before.or_else(|| earlier.and_then(|cause| cause.before.clone())),
                entry: digest(module),
            };
            let (was_open, change) = (circuit.opening().is_some(), cause.change());
            circuit.note_failure(run, cause, now, self.modules.retry);
            if !was_open && circuit.opening().is_some() {
                warn!("module {} is in quarantine: {change}", module.id());
            }
        }
    }

    /// Returns the quarantine of a module, if it is in one.
    pub fn of(&self, module: &str) -> Option<Opening<FailedControl>> {
        self.modules.lock().get(module).and_then(Circuit::opening).cloned()
    }
}

impl Default for Quarantines {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Retry::of_modules(FIRST_WAIT))
    }
}

fn of_verdict(controls: &[ControlCheck], verdict: ControlVerdict) -> impl Iterator<Item = &ControlCheck> {
    controls.iter().filter(move |control| control.verdict == verdict)
}

/// Returns a digest of the module's entry.
fn digest(module: &Module) -> String {
    let entry = serde_json::to_vec(module.entry()).unwrap_or_default();
    hex(&Sha256::digest(entry)[..8])
}

#[cfg(test)]
mod tests;
