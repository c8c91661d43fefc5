//! The file of what is never searched: read at the start, and again whenever it changes.

use std::fs::{self, Metadata};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use log::{error, info};

use super::AppError;
use crate::config::SuppressionConfig;
use crate::runs::suppression::{SuppressKey, Suppressed};

/// A file that changed less long before it was read than this may have changed again without a sign of it:
/// clocks of file systems are coarse.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

/// A list that is watched.
pub(super) struct Watch {
    path: PathBuf,
    key: SuppressKey,
    seen: Option<Stamp>,
    trouble: Option<String>,
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// The file itself and its last change of any kind: one that was put in its place is another.
    identity: (u64, u64, i64, i64),
    is_settled: bool,
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        let modified = meta.modified().ok();
        let age = modified.and_then(|at| at.elapsed().ok());
        let is_settled = age.is_some_and(|age| age >= SETTLED_AFTER) && is_settled(meta);
        Self { modified, bytes: meta.len(), identity: identity(meta), is_settled }
    }

    /// Whether nothing has changed since `self` was taken.
    fn still_holds(&self, now: &Self) -> bool {
        (self.modified, self.bytes, self.identity) == (now.modified, now.bytes, now.identity)
    }
}

#[cfg(unix)]
fn identity(meta: &Metadata) -> (u64, u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec())
}

/// Its time of modification can be set back; that of its last change of any kind cannot.
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

/// Reads the list. `None`: there is none.
///
/// # Errors
/// The file cannot be read, a line of it is no entry, or there is no key.
pub(super) fn load(config: &SuppressionConfig) -> Result<Option<(Suppressed, Watch)>, AppError> {
    let Some(path) = &config.file else { return Ok(None) };
    let Some(key) = &config.suppress_key else {
        let message = "--suppress needs the key that its hashes were made with: --suppress-key, or better \
                       the variable SIGHTLINE_SUPPRESS_KEY";
        return Err(AppError::Config(message.to_owned()));
    };
    let mut watch =
        Watch { path: path.clone(), key: SuppressKey::new(key.clone()), seen: None, trouble: None };
    match watch.read() {
        Ok(list) => {
            info!("{} identifiers are never searched", list.len());
            Ok(Some((list, watch)))
        }
        Err(why) => Err(AppError::Config(format!("--suppress {}: {why}", path.display()))),
    }
}

impl Watch {
    /// The list, if the file has changed. A file that cannot be used changes nothing: what was suppressed
    /// stays so.
    pub(super) fn news(&mut self) -> Option<Suppressed> {
        if !self.may_have_changed() {
            return None;
        }
        let before = self.seen;
        match self.read() {
            Ok(list) => {
                let is_same = before.zip(self.seen).is_some_and(|(then, now)| then.still_holds(&now));
                let had_trouble = self.trouble.take().is_some();
                if had_trouble || !is_same {
                    info!("{} identifiers are never searched now", list.len());
                }
                Some(list)
            }
            Err(why) => {
                if self.trouble.as_ref() != Some(&why) {
                    error!("--suppress {}: {why}; the list that was read before holds", self.path.display());
                    self.trouble = Some(why);
                }
                None
            }
        }
    }

    fn may_have_changed(&self) -> bool {
        match (&self.seen, fs::metadata(&self.path)) {
            (Some(seen), Ok(meta)) => !(seen.is_settled && seen.still_holds(&Stamp::of(&meta))),
            _ => true,
        }
    }

    fn read(&mut self) -> Result<Suppressed, String> {
        let unreadable = |error| format!("it cannot be read: {error}");
        self.seen = None;
        // Before the file is read: what changes meanwhile is seen the next time.
        let seen = Stamp::of(&fs::metadata(&self.path).map_err(unreadable)?);
        let text = fs::read_to_string(&self.path).map_err(unreadable)?;
        self.seen = Some(seen);
        Suppressed::parse(&text, self.key.clone()).map_err(|bad| bad.to_string())
    }
}
