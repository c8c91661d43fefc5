//! Learns the rules of entries from the answers of their sites.

use super::error::AppError;
use super::parts::{checker, prober};
use crate::config::{EngineConfig, SandboxMode};
use crate::modules::definition::Entry;
use crate::modules::keys::OperatorKeys;
use crate::modules::learn::{Learner, Lesson, NotLearned};
use crate::runs::proof::Stop;

/// Learns new rules for each entry, one after the other. Returns the results in the order of the entries.
///
/// # Errors
/// Fails if no requests can be sent, or if the web is simulated. A simulated web has the answers that the existing
/// rules expect, so that there is nothing to learn from them.
pub fn learn_entries(
    engine: &EngineConfig,
    entries: &[Entry],
    stop: &Stop,
) -> Result<Vec<Result<Lesson, NotLearned>>, AppError> {
    if engine.sandbox != SandboxMode::Off {
        return Err(AppError::config("rules are learned from real sites: leave out --sandbox"));
    }
    let keys = engine.keys.iter().map(|(name, value)| (name.clone(), value.expose().clone()));
    // Keeps the browsers alive meanwhile.
    let (prober, _browsers) = prober(engine)?;
    let checker = checker(engine, prober, OperatorKeys::new(keys));
    let is_stopped = || stop.is_set();
    let learner = Learner { checker: &checker, timeout: engine.check_timeout, is_stopped: &is_stopped };
    Ok(entries.iter().map(|entry| learner.learn(entry)).collect())
}
