//! The file of identifiers that are never searched. It is read at the start, and again when it changes.

use std::fs;
use std::path::PathBuf;

use log::{error, info};

use super::error::Failure;
use crate::config::SuppressionConfig;
use crate::runs::suppression::{SuppressKey, Suppressed};

/// A watched suppression file.
pub(super) struct Watch {
    path: PathBuf,
    key: SuppressKey,
    /// The text of the file, or why it could not be read, when it was read last.
    read: Option<Result<String, String>>,
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
    let mut watch = Watch { path: path.clone(), key: SuppressKey::new(key.clone()), read: None };
    let list = watch.changed_list().transpose();
    let list = list.map_err(|why| Failure::usage(why).at(format!("--suppress {}", path.display())))?;
    Ok((list.unwrap_or_default(), Some(watch)))
}

impl Watch {
    /// Reads the file. Returns the new list, or why it cannot be used, unless the file is as it was. A list is small, so it
    /// is compared as a whole: a file can change without a new time.
    fn changed_list(&mut self) -> Option<Result<Suppressed, String>> {
        let read = fs::read_to_string(&self.path).map_err(|error| format!("cannot read the file: {error}"));
        if self.read.as_ref() == Some(&read) {
            return None;
        }
        let parse = |text: &String| Suppressed::parse(text, self.key.clone());
        let list = read.as_ref().map_err(Clone::clone).and_then(parse);
        if let Ok(list) = &list {
            info!("{} identifiers are never searched", list.count());
        }
        self.read = Some(read);
        Some(list)
    }

    /// Returns the new list if the file has changed. If the file cannot be used, the old list stays in force.
    pub(super) fn renewed_list(&mut self) -> Option<Suppressed> {
        let list = self.changed_list()?.inspect_err(|why| {
            let path = self.path.display();
            error!("--suppress {path}: {why}; the list that was read before stays in force");
        });
        list.ok()
    }
}
