//! The files into which results are written beside standard output.

use std::io::Write;
use std::path::Path;

use super::view::Format;
use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::cli::replace::Replacement;
use crate::modules::near::did_you_mean;

/// Where the results are written.
pub(super) struct Output {
    /// The format of standard output.
    pub(super) format: Format,
    /// Whether the table lists the modules that found nothing.
    pub(super) all: bool,
    /// The files.
    pub(super) files: Vec<OutputFile>,
}

/// A file that is being written. It replaces an earlier one only when it is complete.
pub(super) struct OutputFile {
    pub(super) format: Format,
    file: Replacement,
}

impl OutputFile {
    /// Begins to write a file whose suffix names the format.
    ///
    /// # Errors
    /// Fails if the suffix is unknown, or the folder cannot be written.
    pub(super) fn begin(path: &Path) -> Result<Self, Failure> {
        let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
        let format = Format::of_suffix(suffix).ok_or_else(|| {
            let shown = path.display().to_string();
            let shown = plain(&shown);
            let allowed = Format::SUFFIXES.map(|(suffix, _)| suffix).join(", ");
            let known = || Format::SUFFIXES.into_iter().map(|(suffix, _)| suffix);
            let meant = did_you_mean([suffix], known);
            Failure::Usage(format!(
                "--output {shown}: the suffix names the format: {allowed} are allowed{meant}"
            ))
        })?;
        Ok(Self { format, file: Replacement::begin_private(path)? })
    }

    /// Returns the file as a place to write to.
    pub(super) fn writer(&mut self) -> &mut dyn Write {
        &mut self.file
    }

    /// Puts the file in its place.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.file.finish()
    }
}
