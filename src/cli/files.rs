//! Files that are read as a whole, and files that are replaced atomically: written to a temporary file, then renamed.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::exit::Failure;
use crate::base::text::plain;

/// Reads a file of at most `max` bytes, or standard input if the path is `-`.
pub(crate) fn read(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let source: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path)?),
    };
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::other(format!("it is larger than {} MiB", max >> 20)));
    }
    Ok(bytes)
}

/// A file that is being written. Dropping it without [`Replacement::finish`] leaves the target unchanged.
pub(crate) struct Replacement {
    file: File,
    beside: Option<PathBuf>,
    target: PathBuf,
}

/// Replaces the file: after a failure it has the old text or the new one.
pub(crate) fn write(target: &Path, text: &str) -> Result<(), Failure> {
    let mut new = Replacement::begin(target)?;
    new.write_all(text.as_bytes()).map_err(|error| cannot_write(target, &error))?;
    new.finish()
}

/// Returns a path as messages show it.
pub(crate) fn shown(path: &Path) -> String {
    plain(&path.display().to_string()).into_owned()
}

/// Returns the failure to write a file or a folder.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("cannot write {}: {error}", shown(path)))
}

impl Replacement {
    /// Creates the temporary file. Fails if the folder cannot be written.
    pub(crate) fn begin(target: &Path) -> Result<Self, Failure> {
        Self::create(target, 0o666).map_err(|error| cannot_write(target, &error))
    }

    /// Does the same for personal data: a new file is readable only by its owner.
    pub(crate) fn begin_private(target: &Path) -> Result<Self, Failure> {
        Self::create(target, 0o600).map_err(|error| cannot_write(target, &error))
    }

    fn create(given: &Path, mode: u32) -> io::Result<Self> {
        // Resolves a symbolic link, so that its target is replaced and not the link.
        let target = given.canonicalize().unwrap_or_else(|_| given.to_owned());
        let known = fs::metadata(&target).ok();
        if known.as_ref().is_some_and(|known| !known.is_file()) {
            // A pipe or a terminal is written directly. The system refuses a folder.
            let file = File::options().write(true).open(&target)?;
            return Ok(Self { file, beside: None, target });
        }
        let mut beside = target.clone().into_os_string();
        beside.push(format!(".{}.new", std::process::id()));
        let beside = PathBuf::from(beside);
        let file = File::options().write(true).create(true).truncate(true).mode(mode).open(&beside)?;
        let begun = Self { file, beside: Some(beside), target };
        if let Some(known) = known {
            begun.file.set_permissions(known.permissions())?;
        }
        Ok(begun)
    }

    /// Renames the file to its target.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        if let Some(beside) = &self.beside {
            fs::rename(beside, &self.target).map_err(|error| cannot_write(&self.target, &error))?;
            self.beside = None;
        }
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // A failure leaves only a temporary file.
            let _ = fs::remove_file(beside);
        }
    }
}
