//! The built-in files.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("sites/", $name)))),*]
    };
}

/// Name and text of every file in `sites/`; a test holds the list against the folder.
pub(super) const FILES: &[(&str, &str)] = files!["username-coding.json",];
