//! Files that never replace another one.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Gives a file another name in its folder, unless a file has that name. The file appears there with its whole content.
///
/// Without hard links, as on FAT and some network file systems, it is an empty file for a moment, and stays one if the
/// machine fails in that moment.
///
/// # Errors
/// Returns [`ErrorKind::AlreadyExists`] if a file has the name, or the system's error.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => {
            // Both names are complete, so that the caller has what it wanted even if the old one stays.
            drop(fs::remove_file(from));
            Ok(())
        }
        Err(error) if has_no_links(&error) => replace_placeholder(from, to),
        Err(error) => Err(error),
    }
}

/// Returns whether the file system refused a hard link because it has none. Linux says that it is not permitted.
fn has_no_links(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported)
}

/// Takes the name with an empty file, so that nobody else does, and then replaces that file.
fn replace_placeholder(from: &Path, to: &Path) -> io::Result<()> {
    File::create_new(to)?;
    fs::rename(from, to).inspect_err(|_| drop(fs::remove_file(to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_a_new_name_and_never_that_of_another_one() {
        // Without hard links, and with them.
        for rename in [replace_placeholder, rename_new] {
            let folder = std::env::temp_dir().join(format!("files-{}", uuid::Uuid::new_v4().simple()));
            fs::create_dir(&folder).unwrap();
            let [from, to] = ["from", "to"].map(|name| folder.join(name));
            fs::write(&from, "first").unwrap();
            rename(&from, &to).unwrap();
            assert!(!from.exists());
            fs::write(&from, "second").unwrap();
            assert_eq!(rename(&from, &to).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!([&from, &to].map(|path| fs::read_to_string(path).unwrap()), ["second", "first"]);
            fs::remove_file(&to).unwrap();
            fs::remove_file(&from).unwrap();
            assert_eq!(rename(&from, &to).unwrap_err().kind(), ErrorKind::NotFound);
            assert!(!to.exists(), "nothing is left behind");
            fs::remove_dir_all(folder).unwrap();
        }
    }
}
