//! Programs from the Python registry, each set in a virtual environment below `target/`. The first test that
//! needs a set installs it for all later runs.

use std::path::PathBuf;
use std::process::Command;

/// A virtual environment.
pub(crate) struct Venv(PathBuf);

/// Returns the environment with these packages, each pinned (`name==version`). Tests and processes that need
/// the same one at the same time share it.
///
/// # Panics
/// Panics without Python 3, or if the environment is missing and the registry cannot be reached.
pub(crate) fn venv(packages: &[&str]) -> Venv {
    assert!(packages.iter().all(|package| package.contains("==")), "not pinned: {packages:?}");
    let content = packages.join("\n");
    Venv(super::npm::installed("venv", &name(packages), &content, |folder| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder));
        let mut pip = Command::new(folder.join("bin/pip"));
        run(pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-input"]).args(packages));
    }))
}

impl Venv {
    /// Returns a program of a package, or `python`.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.0.join("bin").join(program));
        // The caller's environment must not change what is run.
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Returns a file name for a set of packages.
fn name(packages: &[&str]) -> String {
    let mut sorted = packages.to_vec();
    sorted.sort_unstable();
    let text = sorted.join("+").replace("==", "-");
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "+-._".contains(c) { c } else { '_' }).collect()
}

pub(super) fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
