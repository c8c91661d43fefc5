//! Checks for keys that the operator gave and no module uses, which are most likely misspelt.

use std::collections::BTreeSet;

use log::warn;

use super::error::AppError;
use crate::config::{EngineConfig, VARIABLE_PREFIX};
use crate::modules::catalog::Catalog;
use crate::modules::near::did_you_mean;

/// Refuses a `--key` that no module uses. For a variable it only logs a warning: the variable may be meant
/// for another catalogue.
///
/// # Errors
/// Fails for a `--key` that no module uses.
pub fn check(config: &EngineConfig, catalog: &Catalog) -> Result<(), AppError> {
    let known = catalog.key_names();
    if let Some(name) = config.key_flags().find(|name| !known.contains(name)) {
        let meant = did_you_mean([name], || known.iter().copied());
        return Err(AppError::config(format!("--key {name}: {}{meant}", unused(&known))));
    }
    for name in config.keys.keys().filter(|name| !known.contains(name.as_str())) {
        warn!("{VARIABLE_PREFIX}{}: {}", name.to_ascii_uppercase(), unused(&known));
    }
    Ok(())
}

fn unused(known: &BTreeSet<&str>) -> String {
    if known.is_empty() {
        return "no module of the catalogue uses a key".to_owned();
    }
    let names: Vec<&str> = known.iter().copied().collect();
    format!("no module uses a key with this name; allowed: {}", names.join(", "))
}
