//! The file of identifiers that are never searched. It is read at the start, and again when it changes.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
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
    is_settled: bool,
    trouble: Option<String>,
}

/// The state of a file, without reading it: its length, device, inode and change time. Every write sets the change time,
/// which cannot be set back as the modification time can.
type FileStamp = (u64, u64, u64, i64, i64);

fn stamp(meta: &Metadata) -> FileStamp {
    (meta.len(), meta.dev(), meta.ino(), meta.ctime(), meta.ctime_nsec())
}

fn is_settled(meta: &Metadata) -> bool {
    let changed = u64::try_from(meta.ctime()).map(|secs| SystemTime::UNIX_EPOCH + Duration::from_secs(secs));
    changed.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > SETTLED_AFTER))
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
    let mut watch = Watch {
        path: path.clone(),
        key: SuppressKey::new(key.clone()),
        seen: None,
        is_settled: false,
        trouble: None,
    };
    match watch.read() {
        Ok(list) => {
            info!("{} identifiers are never searched", list.count());
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
                let had_trouble = self.trouble.take().is_some();
                if had_trouble || before != self.seen {
                    info!("{} identifiers are never searched now", list.count());
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
        let now = fs::metadata(&self.path).ok().map(|meta| stamp(&meta));
        !self.is_settled || now.is_none() || now != self.seen
    }

    fn read(&mut self) -> Result<Suppressed, String> {
        let unreadable = |error| format!("cannot read the file: {error}");
        self.seen = None;
        // Taken before the file is read, so that a change during the read is noticed the next time.
        let meta = fs::metadata(&self.path).map_err(unreadable)?;
        let text = fs::read_to_string(&self.path).map_err(unreadable)?;
        (self.seen, self.is_settled) = (Some(stamp(&meta)), is_settled(&meta));
        Suppressed::parse(&text, self.key.clone()).map_err(|bad| bad.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::base::secret::Secret;

    #[test]
    fn a_file_with_a_time_in_the_future_is_not_read_again_and_again() {
        let path = std::env::temp_dir().join(format!("suppressed-{}", uuid::Uuid::new_v4().simple()));
        let tomorrow = SystemTime::now() + Duration::from_secs(24 * 60 * 60);
        fs::File::create(&path).unwrap().set_modified(tomorrow).unwrap();
        let config =
            SuppressionConfig { file: Some(path.clone()), suppress_key: Some(Secret::new("key".to_owned())) };
        let (_, mut watch) = load(&config).unwrap().unwrap();
        let begun = Instant::now();
        // It changed just now, so it is read again at first.
        while watch.changed_list().is_some() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is still read again and again");
            std::thread::sleep(Duration::from_millis(100));
        }
        fs::remove_file(path).unwrap();
    }
}
