//! `scripts/Containerfile`: built by buildah with the program under test, and started as its image says, with a read-only
//! root file system.
//!
//! The base image is a minimal Debian that debootstrap makes once, because a test downloads no images. The image is started
//! in a mount namespace and not by podman, whose runtimes need control groups and limits that a test machine may not give.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::super::succeeds;
use crate::support::folder::Folder;
use crate::support::private_postgres::is_root;
use crate::support::server::BINARY;
use crate::support::tier::left_out;

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--help").output().is_ok()
}

/// Returns a folder with a minimal Debian, which is made once.
fn minimal_debian() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debian");
    let lock = File::create(folder.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let ready = folder.with_extension("ready");
    if !ready.exists() {
        let _ = fs::remove_dir_all(&folder);
        let mut make = Command::new("debootstrap");
        make.args(["--variant=minbase", "bookworm"]).arg(&folder).arg("http://deb.debian.org/debian");
        succeeds(&make.output().unwrap());
        fs::write(ready, "").unwrap();
    }
    folder.display().to_string()
}

/// An image store in a folder.
struct Buildah(Folder);

impl Buildah {
    fn run(&self, arguments: &[&str]) -> String {
        let mut buildah = Command::new("buildah");
        buildah.env("BUILDAH_ISOLATION", "chroot").args(["--storage-driver", "vfs"]);
        buildah.args(["--root", &self.0.path("images"), "--runroot", &self.0.path("run")]);
        succeeds(&buildah.args(arguments).output().unwrap()).trim().to_owned()
    }
}

/// Starts the program of an image in its root file system, which is read-only but for the volume.
const STARTED: &str = r#"
set -euo pipefail
root=$1 health=$2; shift 2
ip link set lo up
mount --bind "$root" "$root"
mount -t tmpfs -o mode=700,uid=10001,gid=10001 none "$root/data"
for part in proc dev; do mount --rbind "/$part" "$root/$part"; done
mount -o remount,bind,ro "$root"
inside() { chroot "$root" setpriv --reuid 10001 --regid 10001 --clear-groups --no-new-privs --bounding-set=-all "$@"; }
! inside touch /x 2>/dev/null
exec {out}< <(inside env "$@" 2>/dev/null)
server=$!
read -r -t 120 line <&"$out"
[[ $(curl -sf "${line#listening on }/v1/health") == *'"status":"ok"'* ]]
inside bash -c "$health"
kill -TERM "$server"
wait "$server"
! inside bash -c "$health" 2>/dev/null
echo healthy
"#;

#[test]
fn the_image_is_built_and_starts_with_a_read_only_root() {
    if !is_root() || !["buildah", "debootstrap", "ip"].into_iter().all(is_installed) {
        return left_out("the image is built by root, with buildah, debootstrap and iproute2");
    }
    let (buildah, context) = (Buildah(Folder::new()), Folder::new());
    let base = buildah.run(&["from", "scratch"]);
    buildah.run(&["add", "--quiet", &base, &minimal_debian(), "/"]);
    buildah.run(&["commit", "--quiet", &base, "localhost/debian"]);
    // Takes the place of the stage that compiles.
    fs::create_dir_all(context.path("source/target/dist")).unwrap();
    fs::copy(BINARY, context.path("source/target/dist/sightline")).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/Containerfile").display().to_string();
    let (stage, folder) = (format!("build={}", context.path("")), context.path(""));
    let build = ["build", "--format=docker", "--build-context", &stage, "--build-arg=BASE=localhost/debian"];
    buildah.run(&[&build[..], &["--file", &file, "--tag=localhost/sightline", &folder]].concat());
    let image: Value =
        serde_json::from_str(&buildah.run(&["inspect", "--type=image", "localhost/sightline"])).unwrap();
    let config = &image["Docker"]["config"];
    assert_eq!(config["User"], "10001:10001", "{config}");
    assert_eq!(config["Entrypoint"][0], "sightline", "{config}");
    assert_eq!(config["Healthcheck"]["Test"][1], "bash", "{config}");
    let words = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let health = words(&config["Healthcheck"]["Test"]).pop().unwrap();
    let container = buildah.run(&["from", "localhost/sightline"]);
    let root = buildah.run(&["mount", &container]);
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--net",
        "--propagation=private",
        "bash",
        "-c",
        STARTED,
        "test",
        &root,
        &health,
    ]);
    let program = words(&config["Entrypoint"]).into_iter().chain(words(&config["Cmd"]));
    let own = ["SIGHTLINE_SANDBOX=perfect", "SIGHTLINE_LISTEN=127.0.0.1:0"];
    let said = succeeds(&unshare.args(words(&config["Env"])).args(own).args(program).output().unwrap());
    buildah.run(&["umount", &container]);
    assert!(said.ends_with("healthy\n"), "{said}");
}
