//! Schemathesis generates valid and invalid requests from the document and checks the answers.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::super::{DOCUMENT, operations};
use crate::support::databases::postgres;
use crate::support::folder::Folder;
use crate::support::python::venv;
use crate::support::server::{Server, Setup};

/// The tool and its generator: a seed gives the same cases only with the same version.
const PACKAGES: [&str; 2] = ["schemathesis==4.32.5", "hypothesis==6.170.15"];

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs the tool against a server. The document is read from a file, because the tool does not test the
/// address from which it reads a document.
fn hold(server: &Server, document: &Value, arguments: &[&str]) -> Output {
    let folder = Folder::new();
    let (file, url) = (folder.path("openapi.json"), format!("http://{}", server.address));
    std::fs::write(&file, document.to_string()).unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/openapi/schemathesis");
    venv(&PACKAGES)
        .command("schemathesis")
        // The tool leaves files in its folder.
        .current_dir(folder.path(""))
        .env("SCHEMATHESIS_HOOKS", own.join("hooks.py"))
        .env("SIGHTLINE_URL", &url)
        .env("SIGHTLINE_KEY", &server.key)
        .arg("--config-file")
        .arg(own.join("schemathesis.toml"))
        .args(["run", &file, "--url", &url, "--checks", "all", "--seed", "5", "--no-color"])
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs all phases and all checks on PostgreSQL, which takes fewer texts than SQLite. That both databases do the same is
/// shown by `tests/store`.
#[test]
fn schemathesis_finds_nothing() {
    let database = postgres();
    let mut server = Setup::new().database(&database.url).flag(&crate::webhooks::lab::key_flag()).start();
    let output = hold(&server, &DOCUMENT, &["--max-examples", "20"]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    // All operations are tested.
    assert!(said.contains(&format!("  Tested: {}\n", operations().count())), "not all operations: {said}");
    for phase in ["Examples", "Coverage", "Fuzzing", "Stateful"] {
        assert!(said.contains(&format!("  ✅ {phase}\n")), "{phase}: {said}");
    }
    assert!(server.terminate().success());
}
