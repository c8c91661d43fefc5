//! Quarantines: the modules that failed their last control checks, and are therefore not asked.
//!
//! Each module has a breaker: two control checks in a row that failed, of two runs, put the module in quarantine. A trial
//! repeats the control check that failed, before it asks for anything else, and ends the quarantine if the control check
//! passes. Changes are shared with other processes and restarts through the store.
//!
//! A module whose entry differs from the one that failed is tried at once, because the new entry may be a repair.
//!
//! Control checks that depend on the queried domain do not count: they say nothing about other domains.

use std::sync::Arc;

use log::{info, warn};
use sha2::{Digest, Sha256};

use super::HealthTable;
use crate::base::encoding::hex;
use crate::base::ids::RunId;
use crate::model::health::{Cause, FailedControl, Opening};
use crate::modules::control_check::{ControlCheck, ControlVerdict};
use crate::modules::module::Module;
use crate::modules::terms::{Denial, ModuleTrial};

impl HealthTable {
    /// Returns the reason for which a module must not be asked now, if it is in quarantine and no trial is due.
    pub fn module_denial(&self, module: &Module) -> Option<Denial> {
        self.quarantines.ask(module.id(), |opening| is_changed(module, opening), false).err()
    }

    /// Requests access to a module. A trial begins at once, and must be ended with
    /// [`Breakers::end_trial`](super::breaker::Breakers::end_trial).
    ///
    /// # Errors
    /// Returns the reason for which the module must not be asked now.
    pub fn module_access(&self, module: &Module) -> Result<Option<ModuleTrial>, Denial> {
        let trial = self.quarantines.ask(module.id(), |opening| is_changed(module, opening), true)?;
        let trial_of = |opening: Opening| {
            let direction = opening.control()?.direction;
            Some(ModuleTrial { direction, times: opening.times() })
        };
        Ok(trial.and_then(trial_of))
    }

    /// Counts the control checks that passed. Failed ones are counted with [`Self::note_failed_controls`].
    ///
    /// A passed control check of the other direction does not end a quarantine.
    pub fn note_passed(&self, module: &Arc<str>, controls: &[ControlCheck]) {
        let (mut modules, now) = (self.quarantines.lock(), self.clock.now());
        for ControlCheck { direction, answer, .. } in of_verdict(controls, ControlVerdict::Passed) {
            self.passed.lock().insert((Arc::clone(module), *direction), answer.clone());
            let Some(breaker) = modules.get_mut(module) else { continue };
            if matches!(breaker.cause(), Some(Cause::Control(cause)) if cause.direction == *direction) {
                if breaker.opening().is_some() {
                    info!("module {module} has passed its control check again and is asked by searches");
                }
                breaker.note_success(now);
            }
        }
    }

    /// Counts the control checks of a check of `run` that failed.
    pub fn note_failed_controls(&self, run: RunId, module: &Module, controls: &[ControlCheck]) {
        let (mut modules, now) = (self.quarantines.lock(), self.clock.now());
        for ControlCheck { direction, answer, .. } in of_verdict(controls, ControlVerdict::Failed) {
            let before = self.passed.lock().get(&(Arc::clone(module.id()), *direction)).cloned();
            let breaker = modules.entry(Arc::clone(module.id())).or_default();
            let known = match breaker.cause() {
                Some(Cause::Control(earlier)) => earlier.before.clone(),
                _ => None,
            };
            let (after, before) = (answer.clone(), before.or(known));
            let control = FailedControl { direction: *direction, after, before, entry: digest(module) };
            let was_open = breaker.opening().is_some();
            breaker.note_failure(run, Cause::Control(control), now, self.quarantines.rules);
            if let Some(opening) = breaker.opening().filter(|_| !was_open) {
                warn!("module {} is in quarantine: {}", module.id(), opening.cause.text());
            }
        }
    }
}

fn of_verdict(controls: &[ControlCheck], verdict: ControlVerdict) -> impl Iterator<Item = &ControlCheck> {
    controls.iter().filter(move |control| control.verdict == verdict)
}

/// Returns whether the module's entry is another one than that which failed.
fn is_changed(module: &Module, opening: &Opening) -> bool {
    opening.control().is_some_and(|control| control.entry != digest(module))
}

/// Returns a digest of the module's entry.
fn digest(module: &Module) -> String {
    let entry = serde_json::to_vec(module.entry()).unwrap_or_default();
    hex(&Sha256::digest(entry)[..8])
}

#[cfg(test)]
mod tests;
