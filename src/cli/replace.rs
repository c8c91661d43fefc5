//! Files that are there whole or not at all: written beside, then put in place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file that is being written. Dropped without [`Replacement::finish`], it leaves everything as it was.
pub(crate) struct Replacement {
    file: File,
    beside: Option<PathBuf>,
    target: PathBuf,
}

impl Replacement {
    /// Begins: whether it can be written at all shows here.
    pub(crate) fn begin(target: &Path) -> io::Result<Self> {
        Self::begin_with(target, &mut File::options())
    }

    /// The same for what is personal: where the file is new, it is its owner's alone.
    pub(crate) fn begin_private(target: &Path) -> io::Result<Self> {
        let mut options = File::options();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Self::begin_with(target, &mut options)
    }

    fn begin_with(target: &Path, options: &mut OpenOptions) -> io::Result<Self> {
        // The file that a link leads to, not the link.
        let target = target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let known = fs::metadata(&target).ok();
        if known.as_ref().is_some_and(|known| !known.is_file()) {
            // A pipe or a terminal is written as it is; a folder is refused by the system.
            let file = File::options().write(true).open(&target)?;
            return Ok(Self { file, beside: None, target });
        }
        let mut beside = target.clone().into_os_string();
        beside.push(format!(".{}.new", std::process::id()));
        let beside = PathBuf::from(beside);
        let file = options.write(true).create(true).truncate(true).open(&beside)?;
        let begun = Self { file, beside: Some(beside), target };
        if let Some(known) = known {
            begun.file.set_permissions(known.permissions())?;
        }
        Ok(begun)
    }

    /// Puts the file in place.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some(beside) = &self.beside {
            fs::rename(beside, &self.target)?;
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
            // There is nobody to tell.
            let _ = fs::remove_file(beside);
        }
    }
}
