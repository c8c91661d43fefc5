//! Folders that are made once and kept between runs, below `target`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The folder of that name, made by `make` unless one made of the same is there. Whoever wants it at the same time
/// waits, other processes too.
pub(crate) fn folder(name: &str, made_of: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    fs::create_dir_all(place).unwrap();
    let lock = File::create(place.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let (folder, label) = (place.join(name), place.join(format!("{name}.made-of")));
    // The label comes last and goes first: a half-made folder has none.
    if !fs::read_to_string(&label).is_ok_and(|text| text == made_of) {
        let _ = fs::remove_file(&label);
        let _ = fs::remove_dir_all(&folder);
        make(&folder);
        fs::write(&label, made_of).unwrap();
    }
    folder
}
