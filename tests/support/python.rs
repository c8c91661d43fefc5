//! Python, with packages of its own for a test.

use std::path::PathBuf;
use std::process::Command;

use super::kept;

/// The Python program of a virtual environment with these packages (`name==version`). It is kept between runs.
pub(crate) fn venv(name: &str, packages: &[&str]) -> PathBuf {
    let folder = kept::folder(&format!("python-{name}"), &packages.join("\n"), |folder| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder), "python3 and python3-venv are");
        let mut install = Command::new(folder.join("bin/python"));
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
        run(&mut install, "the Python package index is");
    });
    folder.join("bin/python")
}

fn run(command: &mut Command, needs: &str) {
    let output =
        command.output().unwrap_or_else(|error| panic!("{needs} needed: run scripts/test ({error})"));
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{needs} needed: {command:?}\n{}", String::from_utf8_lossy(&said));
}
