//! The key that encrypts the secrets of webhooks.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log::error;

use super::error::Failure;
use crate::base::secret::Secret;
use crate::config::ServeConfig;
use crate::store::Store;
use crate::webhooks::secret::SealingKey;

/// What the name of the default key file has after the name of the database file.
const KEY_SUFFIX: &str = ".key";
/// The most bytes that are read from a key file. A key is much shorter.
const KEY_FILE_BYTES: u64 = 4096;
/// The most webhooks for which the key is checked at the start.
const MOST_CHECKED: usize = 1000;

/// Returns the key of `--secret-key-file`. By default it is in a file beside an SQLite database, which is created on the
/// first start. With PostgreSQL there is no default, because all instances need the same key.
pub(super) fn load_key(config: &ServeConfig, store: &Store) -> Result<Option<Arc<SealingKey>>, Failure> {
    let path = match (&config.secret_key_file, config.storage.database.sqlite_file()) {
        (Some(path), _) => path.clone(),
        (None, None) => return Ok(None),
        (None, Some(database)) => {
            let mut name = database.as_os_str().to_owned();
            name.push(KEY_SUFFIX);
            let path = PathBuf::from(name);
            let failed =
                |error| Failure::failed(error).at(format!("cannot create the key {}", path.display()));
            create_key(&path).map_err(failed)?;
            path
        }
    };
    let place = format!("the key of webhooks in {}", path.display());
    let mut bytes = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(KEY_FILE_BYTES).read_to_end(&mut bytes))
        .map_err(|error| Failure::usage(error).at(&place))?;
    // If the file has raw bytes, the refusal says what was expected.
    let text = Secret::new(String::from_utf8(bytes).unwrap_or_default());
    let key = SealingKey::parse(text.expose()).map_err(|allowed| Failure::usage(allowed).at(&place))?;
    let secrets = store.sealed_secrets(MOST_CHECKED)?;
    let unreadable = secrets.iter().filter(|(webhook, sealed)| key.open(*webhook, sealed).is_none()).count();
    if unreadable > 0 {
        error!(
            "{place} does not decrypt the secrets of {unreadable} of {} webhooks, so nothing is sent to them: start with \
             the key file with which they were created (--secret-key-file), or rotate their secrets",
            secrets.len()
        );
    }
    Ok(Some(Arc::new(key)))
}

/// Creates a key that only its owner can read, unless there is one.
fn create_key(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(key) if key.len() > 0 => return Ok(()),
        // A start that was interrupted leaves an empty file. The new one has its own rights.
        Ok(_) => fs::remove_file(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{}", SealingKey::generate().expose())?;
    file.sync_all()
}
