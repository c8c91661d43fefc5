//! Packages of the npm registry, for a test's scripts.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::kept;

/// A folder where scripts find these packages (`name@version`). It is kept between runs.
pub(crate) fn packages(name: &str, packages: &[&str]) -> PathBuf {
    kept::folder(&format!("npm-{name}"), &packages.join("\n"), |folder| {
        fs::create_dir(folder).unwrap();
        // Without one npm would look for a project in the folders above.
        fs::write(folder.join("package.json"), "{\"private\": true}").unwrap();
        let mut install = Command::new("npm");
        install
            .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"])
            .args(packages);
        let output = install.current_dir(folder).output();
        let output = output.unwrap_or_else(|error| panic!("npm is needed: run scripts/test ({error})"));
        let said = [output.stdout, output.stderr].concat();
        assert!(
            output.status.success(),
            "the npm registry is needed: {install:?}\n{}",
            String::from_utf8_lossy(&said)
        );
    })
}
