//! The file of identifiers that are never searched. It is read at the start, and again when it changes.

use std::fs;
use std::path::PathBuf;

use log::info;

use super::error::Failure;
use crate::config::SuppressionConfig;
use crate::runs::suppression::{SuppressKey, Suppressed};

/// A watched suppression file.
pub(super) struct Watch {
    path: PathBuf,
    key: SuppressKey,
    /// The text of the file, or why it could not be read, when it was read last.
    read: Result<String, String>,
}

/// Reads the file. Returns an empty list if none is configured.
///
/// # Errors
/// Fails if the file cannot be read, if a line is not a valid hash, or if there is no key.
pub(super) fn load(config: &SuppressionConfig) -> Result<(Suppressed, Option<Watch>), Failure> {
    let Some(path) = &config.file else { return Ok((Suppressed::default(), None)) };
    let Some(key) = &config.suppress_key else {
        let message = "--suppress needs the key of its hashes: --suppress-key, or better \
                       the variable SIGHTLINE_SUPPRESS_KEY";
        return Err(Failure::usage(message));
    };
    let read = Err("not read yet".to_owned());
    let mut watch = Watch { path: path.clone(), key: SuppressKey::new(key.clone()), read };
    let list = watch.changed_list().transpose()?;
    Ok((list.unwrap_or_default(), Some(watch)))
}

impl Watch {
    /// Reads the file. Returns the new list, or why it cannot be used, unless the file is as it was. A list is small, so it
    /// is compared as a whole: a file can change without a new time.
    pub(super) fn changed_list(&mut self) -> Option<Result<Suppressed, Failure>> {
        let read = fs::read_to_string(&self.path).map_err(|error| format!("cannot read the file: {error}"));
        if self.read == read {
            return None;
        }
        let list = read.clone().and_then(|text| Suppressed::parse(&text, self.key.clone()));
        self.read = read;
        let list = list.inspect(|list| info!("{} identifiers are never searched", list.count()));
        Some(list.map_err(|why| Failure::usage(why).at(format!("--suppress {}", self.path.display()))))
    }
}
