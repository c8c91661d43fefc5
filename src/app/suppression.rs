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
    /// The state in which the file was read, unless it may change again without a new one.
    seen: Option<FileStamp>,
    /// The result that was logged last.
    logged: Result<FileStamp, String>,
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
    let key = SuppressKey::new(key.clone());
    let mut watch = Watch { path: path.clone(), key, seen: None, logged: Err(String::new()) };
    let read = watch.changed_list();
    let list = read.map_err(|why| AppError::config(why).at(format!("--suppress {}", path.display())))?;
    Ok(list.map(|list| (list, watch)))
}

impl Watch {
    /// Returns the new list if the file has changed.
    ///
    /// # Errors
    /// Fails if the file cannot be used.
    fn changed_list(&mut self) -> Result<Option<Suppressed>, String> {
        let unreadable = |error| format!("cannot read the file: {error}");
        // Taken before the file is read, so that a change during the read is noticed the next time.
        let meta = fs::metadata(&self.path).map_err(unreadable)?;
        let stamp = stamp(&meta);
        if self.seen == Some(stamp) {
            return Ok(None);
        }
        self.seen = None;
        let text = fs::read_to_string(&self.path).map_err(unreadable)?;
        let list = Suppressed::parse(&text, self.key.clone()).map_err(|bad| bad.to_string())?;
        self.seen = is_settled(&meta).then_some(stamp);
        if self.logged != Ok(stamp) {
            info!("{} identifiers are never searched", list.count());
            self.logged = Ok(stamp);
        }
        Ok(Some(list))
    }

    /// Returns the new list if the file has changed. If the file cannot be used, the old list stays in force.
    pub(super) fn renewed_list(&mut self) -> Option<Suppressed> {
        self.changed_list().unwrap_or_else(|why| {
            if self.logged.as_ref() != Err(&why) {
                let path = self.path.display();
                error!("--suppress {path}: {why}; the list that was read before stays in force");
                self.logged = Err(why);
            }
            None
        })
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
        while watch.renewed_list().is_some() {
            assert!(begun.elapsed() < Duration::from_secs(60), "it is still read again and again");
            std::thread::sleep(Duration::from_millis(100));
        }
        fs::remove_file(path).unwrap();
    }
}
