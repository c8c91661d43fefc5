//! The file of identifiers that are never searched. It is read at the start, and again when it changes.

use std::fs::{self, Metadata};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use log::{error, info};

use super::error::AppError;
use crate::config::SuppressionConfig;
use crate::runs::suppression::{SuppressKey, Suppressed};

/// A file that changed less than this time before it was read may change again without a new timestamp, since
/// the clocks of file systems are coarse.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// A watched suppression file.
pub(super) struct Watch {
    path: PathBuf,
    key: SuppressKey,
    seen: Option<FileStamp>,
    trouble: Option<String>,
}

/// The identity of a file's content, without reading it.
#[derive(Debug, Clone, Copy)]
struct FileStamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Device, inode and time of the last change of any kind. A replaced file differs in them.
    identity: (u64, u64, i64, i64),
    is_settled: bool,
}

impl FileStamp {
    fn of(meta: &Metadata) -> Self {
        let modified = meta.modified().ok();
        let age = modified.and_then(|at| at.elapsed().ok());
        let is_settled = age.is_some_and(|age| age >= SETTLED_AFTER) && is_settled(meta);
        Self { modified, bytes: meta.len(), identity: identity(meta), is_settled }
    }

    /// Returns whether the file is unchanged since `self` was taken.
    fn is_same_state(&self, now: &Self) -> bool {
        (self.modified, self.bytes, self.identity) == (now.modified, now.bytes, now.identity)
    }
}

#[cfg(unix)]
fn identity(meta: &Metadata) -> (u64, u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec())
}

/// Uses the change time: unlike the modification time, it cannot be set back.
#[cfg(unix)]
fn is_settled(meta: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let changed = u64::try_from(meta.ctime()).map(|secs| SystemTime::UNIX_EPOCH + Duration::from_secs(secs));
    changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > SETTLED_AFTER))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64, i64, i64) {
    Default::default()
}

#[cfg(not(unix))]
fn is_settled(_: &Metadata) -> bool {
    true
}

/// Reads the file. Returns `None` if none is configured.
///
/// # Errors
/// Fails if the file cannot be read, if a line is not a valid hash, or if there is no key.
pub(super) fn load(config: &SuppressionConfig) -> Result<Option<(Suppressed, Watch)>, AppError> {
    let Some(path) = &config.file else { return Ok(None) };
    let Some(key) = &config.suppress_key else {
        let message = "--suppress needs the key of its hashes: --suppress-key, or better \
                       the variable SIGHTLINE_SUPPRESS_KEY";
        return Err(AppError::config(message));
    };
    let mut watch =
        Watch { path: path.clone(), key: SuppressKey::new(key.clone()), seen: None, trouble: None };
    match watch.read() {
        Ok(list) => {
            info!("{} identifiers are never searched", list.len());
            Ok(Some((list, watch)))
        }
        Err(why) => Err(AppError::config(why).at(format!("--suppress {}", path.display()))),
    }
}

impl Watch {
    /// Returns the new list if the file has changed. If the file cannot be used, the old list stays in force.
    pub(super) fn changed_list(&mut self) -> Option<Suppressed> {
        if !self.may_have_changed() {
            return None;
        }
        let before = self.seen;
        match self.read() {
            Ok(list) => {
                let is_same = before.zip(self.seen).is_some_and(|(then, now)| then.is_same_state(&now));
                let had_trouble = self.trouble.take().is_some();
                if had_trouble || !is_same {
                    info!("{} identifiers are never searched now", list.len());
                }
                Some(list)
            }
            Err(why) => {
                if self.trouble.as_ref() != Some(&why) {
                    error!(
                        "--suppress {}: {why}; the list that was read before stays in force",
                        self.path.display()
                    );
                    self.trouble = Some(why);
                }
                None
            }
        }
    }

    fn may_have_changed(&self) -> bool {
        match (&self.seen, fs::metadata(&self.path)) {
            (Some(seen), Ok(meta)) => !(seen.is_settled && seen.is_same_state(&FileStamp::of(&meta))),
            _ => true,
        }
    }

    fn read(&mut self) -> Result<Suppressed, String> {
        let unreadable = |error| format!("cannot read the file: {error}");
        self.seen = None;
        // Taken before the file is read, so that a change during the read is noticed the next time.
        let seen = FileStamp::of(&fs::metadata(&self.path).map_err(unreadable)?);
        let text = fs::read_to_string(&self.path).map_err(unreadable)?;
        self.seen = Some(seen);
        Suppressed::parse(&text, self.key.clone()).map_err(|bad| bad.to_string())
    }
}
