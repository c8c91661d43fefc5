//! A small file system in memory, mounted for one process and its children only, so that it is removed with
//! them.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use super::private_postgres::is_root;

/// Fills the disk.
const BALLAST: &str = "ballast";

/// Returns the beginning of a command that becomes the program in the added arguments, which may mount file systems for
/// itself only. It needs root, or a system that allows user namespaces.
pub(crate) fn with_own_mounts() -> Command {
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command
}

/// Returns a command that mounts the disk and then becomes the program in the added arguments.
pub(crate) fn mounting(folder: &str, size: &str, owner: &str) -> Command {
    let mut command = with_own_mounts();
    const SCRIPT: &str = "mount -t tmpfs -o size=\"$2\",mode=0700 tmpfs \"$1\" && chown \"$3\" \"$1\" && shift 3 && exec \"$@\"";
    command.args(["sh", "-c", SCRIPT, "sh", folder, size, owner]);
    command
}

/// Returns the beginning of a command that sees the mounts of that process.
pub(crate) fn entering(process: u32) -> Vec<String> {
    let target = process.to_string();
    let mut words = vec!["nsenter", "--mount", "--target", &target];
    if !is_root() {
        words.extend(["--user", "--preserve-credentials"]);
    }
    words.into_iter().map(str::to_owned).collect()
}

/// Returns whether such a disk is possible here, and reports if not.
pub(crate) fn can_be_had() -> bool {
    let folder = super::folder::Folder::new();
    let output = mounting(&folder.path(""), "1m", "0").arg("true").output();
    let refusal = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    super::tier::left_out(&format!("a small disk: no file system can be mounted here: {refusal}"));
    false
}

/// Writes until the disk is full.
pub(crate) fn fill(disk: &Path) {
    let mut ballast = File::create(disk.join(BALLAST)).unwrap();
    for piece in [64 * 1024, 4096, 1] {
        while ballast.write_all(&vec![0u8; piece]).is_ok() {}
    }
}

pub(crate) fn free(disk: &Path) {
    fs::remove_file(disk.join(BALLAST)).unwrap();
}
