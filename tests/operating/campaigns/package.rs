//! The Debian package: built from the program under test, installed, started, upgraded and purged in a copy of this
//! machine that is thrown away.

use std::path::Path;
use std::process::Command;

use super::super::succeeds;
use crate::support::folder::Folder;
use crate::support::private_postgres::is_root;
use crate::support::server::BINARY;
use crate::support::tier::left_out;

fn script(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name).display().to_string()
}

/// Builds the package, and returns its path.
fn package(folder: &Folder) -> String {
    let mut build = Command::new(script("package-debian"));
    build.args(["--uncompressed", "--binary", BINARY, "--output", &folder.path("")]);
    succeeds(&build.output().unwrap()).trim().to_owned()
}

/// Runs in a copy of this machine: the machine itself below, and changes in memory.
const IN_A_COPY: &str = r#"
set -euo pipefail
package=$1 folder=$2
mount -t tmpfs none "$folder"
mkdir "$folder"/{changes,work,copy}
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/changes,workdir=$folder/work" "$folder/copy"
cp "$package" "$folder/copy/sightline.deb"
for part in proc dev; do mount --rbind "/$part" "$folder/copy/$part"; done
mount -t tmpfs none "$folder/copy/run"
export DEBIAN_FRONTEND=noninteractive
chroot "$folder/copy" bash -euo pipefail -s <<'COPY'
dpkg -i /sightline.deb >/dev/null
id sightline >/dev/null
[[ $(stat -c '%a %U' /var/lib/sightline) == '700 sightline' ]]
[[ $(stat -c '%a %U %G' /etc/default/sightline) == '640 root sightline' ]]
sightline --version
for page in account-create:--email search:--time-budget; do
    formatted=$(zcat "/usr/share/man/man1/sightline-${page%:*}.1.gz" | groff -Kutf8 -man -Tutf8 -P-cbou -ww 2>&1)
    grep -q -- "${page#*:}" <<<"$formatted"
    ! grep -q warning <<<"$formatted"
done
test -s /usr/share/bash-completion/completions/sightline
grep -q '^ExecStart=/usr/bin/sightline serve' /lib/systemd/system/sightline.service
grep -q '^User=sightline' /lib/systemd/system/sightline.service

# As the unit starts it.
set -a; . /etc/default/sightline; set +a
exec {out}< <(cd /var/lib/sightline && SIGHTLINE_LISTEN=127.0.0.1:0 exec setpriv --reuid sightline --regid sightline \
    --clear-groups --no-new-privs /usr/bin/sightline serve --sandbox 2>/var/log/sightline.test)
server=$!
read -r -t 120 line <&"$out"
[[ $(curl -sf "${line#listening on }/v1/health") == *'"status":"ok"'* ]]
kill -TERM "$server"
wait "$server"
test -s /var/lib/sightline/sightline.db

# A changed configuration survives an upgrade, and the removal but not the purge.
echo 'SIGHTLINE_BASE_URL=https://search.example.org' >>/etc/default/sightline
dpkg -i --force-confdef --force-confold /sightline.deb >/dev/null
grep -q search.example.org /etc/default/sightline
dpkg -r sightline >/dev/null
test ! -e /usr/bin/sightline
test -s /etc/default/sightline -a -s /var/lib/sightline/sightline.db
dpkg -P sightline >/dev/null
test ! -e /etc/default/sightline -a ! -e /var/lib/sightline
! id sightline 2>/dev/null
echo purged
COPY
"#;

#[test]
fn the_package_is_installed_started_upgraded_and_purged() {
    let folder = Folder::new();
    let package = package(&folder);
    let listed = succeeds(&Command::new("dpkg-deb").args(["--contents", &package]).output().unwrap());
    for file in ["usr/bin/sightline", "etc/default/sightline", "lib/systemd/system/sightline.service"] {
        let line = listed.lines().find(|line| line.ends_with(&format!("./{file}")));
        assert!(line.is_some_and(|line| line.contains("root/root")), "{file}:\n{listed}");
    }
    let fields = succeeds(&Command::new("dpkg-deb").args(["--field", &package]).output().unwrap());
    assert!(fields.contains(&format!("Version: {}", env!("CARGO_PKG_VERSION"))), "{fields}");
    if !is_root() {
        return left_out("only root can install the package in a copy of this machine");
    }
    let copy = Folder::new();
    let mut unshare = Command::new("unshare");
    unshare.args([
        "--mount",
        "--propagation=private",
        "bash",
        "-c",
        IN_A_COPY,
        "test",
        &package,
        &copy.path(""),
    ]);
    let said = succeeds(&unshare.output().unwrap());
    assert!(said.ends_with("purged\n"), "{said}");
}
