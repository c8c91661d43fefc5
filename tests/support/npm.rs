//! Packages from the npm registry, each set in a folder below `target/`. The first test that needs a set
//! installs it for all later runs.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of packages. Scripts inside it find the packages.
pub(crate) struct Packages(PathBuf);

/// Returns these packages, each pinned (`name@version`), under a name for the set. Tests and processes that
/// need the same set at the same time share it.
///
/// # Panics
/// Panics without npm, or if the packages are missing and the registry cannot be reached.
pub(crate) fn packages(name: &str, packages: &[&str]) -> Packages {
    Packages(installed("npm", name, &packages.join("\n"), |folder| install(folder, packages)))
}

/// Returns a folder below `target/` with that content, which is installed if it is missing. Tests and processes that need
/// the same one at the same time share it.
pub(super) fn installed(kind: &str, name: &str, content: &str, install: impl FnOnce(&Path)) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(kind);
    let folder = root.join(name);
    fs::create_dir_all(&root).unwrap();
    let lock = File::create(folder.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    // Written last: an incomplete folder, or one of other packages, is made again.
    let ready = folder.join("ready");
    if !fs::read_to_string(&ready).is_ok_and(|text| text == content) {
        let _ = fs::remove_dir_all(&folder);
        install(&folder);
        fs::write(&ready, content).unwrap();
    }
    folder
}

fn install(folder: &Path, packages: &[&str]) {
    fs::create_dir(folder).unwrap();
    // Without this file npm would look for a project in the parent folders.
    fs::write(folder.join("package.json"), "{\"private\": true}").unwrap();
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"]).args(packages);
    super::python::run(npm.current_dir(folder));
}

impl Packages {
    /// Makes a project of these sources that finds the packages. It is removed when this is dropped.
    pub(crate) fn project(&self, sources: &[&Path]) -> Project {
        let folder = self.0.join(uuid::Uuid::new_v4().simple().to_string());
        fs::create_dir(&folder).unwrap();
        let project = Project(folder);
        fs::write(project.path("package.json"), "{\"private\": true, \"type\": \"module\"}").unwrap();
        for source in sources {
            fs::copy(source, project.path(source.file_name().and_then(|name| name.to_str()).unwrap()))
                .unwrap();
        }
        project
    }

    /// Returns a file of a package.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Returns a program of a package.
    pub(crate) fn command(&self, program: &str) -> Command {
        Command::new(self.0.join("node_modules/.bin").join(program))
    }
}

/// A folder of ECMAScript modules.
pub(crate) struct Project(PathBuf);

impl Project {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
