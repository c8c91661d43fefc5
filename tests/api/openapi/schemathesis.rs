//! Schemathesis makes requests of the document, good and bad ones, and holds the answers against it.

use std::path::{Path, PathBuf};
use std::process::Output;

use super::operations;
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::python::venv;
use crate::support::server::{Server, Setup};

const PACKAGES: [&str; 2] = ["schemathesis==4.32.5", "hypothesis==6.170.15"];

/// Where its settings and its hooks are.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/openapi/schemathesis")
}

/// Everything it has, against one database.
fn run(database: &TestDatabase, examples: &str) -> (Server, Output) {
    let server = Setup::new().database(&database.url).start();
    let url = format!("http://{}", server.address);
    let output = venv(&PACKAGES)
        .command("schemathesis")
        .current_dir(folder())
        .env("PYTHONPATH", folder())
        .env("SIGHTLINE_URL", &url)
        .env("SIGHTLINE_KEY", &server.key)
        .args(["--config-file", "schemathesis.toml", "run", &format!("{url}/openapi.json")])
        .args(["--checks", "all", "--seed", "5", "--no-color", "--max-examples", examples])
        .output()
        .unwrap();
    (server, output)
}

fn finds_nothing(database: &TestDatabase, examples: &str) {
    let (mut server, output) = run(database, examples);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}: {said}\n{}",
        database.name,
        String::from_utf8_lossy(&output.stderr)
    );
    // A run that leaves something out must not pass.
    let all = operations().count();
    assert!(said.contains(&format!("Tested: {all}\n")), "not all {all} operations:\n{said}");
    for phase in ["Examples", "Coverage", "Fuzzing", "Stateful"] {
        assert!(said.contains(&format!("✅ {phase}\n")), "{phase}:\n{said}");
    }
    assert!(server.terminate().success());
}

#[test]
fn schemathesis_finds_nothing_on_sqlite() {
    finds_nothing(&sqlite(), "40");
}

#[test]
fn schemathesis_finds_nothing_on_postgresql() {
    finds_nothing(&postgres(), "10");
}
