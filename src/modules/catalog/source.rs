//! Reads catalogue files as text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum size of a catalogue file, in bytes. It is 16 times the size of the largest known list.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Returns the text of a file.
///
/// # Errors
/// Returns an error if the file cannot be read, is too large or is not UTF-8.
pub fn read(path: &Path) -> Result<String, String> {
    let explain = |error: io::Error| format!("it cannot be read: {error}");
    let mut bytes = Vec::new();
    // The file size that the system reports is not reliable, so the bytes are counted while reading.
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(explain)?;
    decode(bytes)
}

/// Returns the text of a file with these bytes.
///
/// # Errors
/// Returns an error if there are too many bytes or they are not UTF-8.
pub fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("it has more than {MAX_FILE_BYTES} bytes, which is the most that is read"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let is_utf16 = matches!(error.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let hint = if is_utf16 { " (it looks like UTF-16)" } else { "" };
        format!("byte {at} is not UTF-8{hint}; save the file as UTF-8")
    })
}

/// Returns whether the text is read as a file of the native format, which is an array. Any text that does
/// not begin with `{` counts too, so that the mistakes in its form are reported.
pub(super) fn is_catalog_file(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    !start.starts_with('{')
}
