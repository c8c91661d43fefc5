//! A disk that is soon full: a small file system in memory, mounted for one process and its children alone, so
//! that it is gone with them.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::private_postgres::is_root;

/// Takes up the room.
const BALLAST: &str = "ballast";

/// A command that mounts it there and becomes the program that is added as arguments, with its arguments. Needs to
/// be root, or a system that lets everyone have name spaces of their own.
pub(crate) fn mounting(folder: &str, size: &str, owner: &str) -> Command {
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    const SCRIPT: &str = "mount -t tmpfs -o size=\"$2\",mode=0700 tmpfs \"$1\" && chown \"$3\" \"$1\" && shift 3 && exec \"$@\"";
    command.args(["sh", "-c", SCRIPT, "sh", folder, size, owner]);
    command
}

/// What a command begins with that shall see what that process has mounted.
pub(crate) fn entering(process: u32) -> Vec<String> {
    let target = process.to_string();
    let mut words = vec!["nsenter", "--mount", "--target", &target];
    if !is_root() {
        words.extend(["--user", "--preserve-credentials"]);
    }
    words.into_iter().map(str::to_owned).collect()
}

/// Whether such a disk can be had here. Says so where it cannot.
pub(crate) fn can_be_had() -> bool {
    let folder = super::folder::Folder::new();
    let output = mounting(&folder.path(""), "1m", "0").arg("true").output();
    let refusal = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    eprintln!("NOT TESTED ON A REAL SMALL DISK: no file system can be mounted here: {refusal}");
    false
}

/// Writes until nothing more fits.
pub(crate) fn fill(disk: &Path) {
    let mut ballast = File::create(disk.join(BALLAST)).unwrap();
    for piece in [64 * 1024, 4096, 1] {
        while ballast.write_all(&vec![0u8; piece]).is_ok() {}
    }
}

pub(crate) fn free(disk: &Path) {
    fs::remove_file(disk.join(BALLAST)).unwrap();
}
