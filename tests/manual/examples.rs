//! Every shell block of the README and the manual is run.
//!
//! The blocks of a document run one after the other in one shell, as a reader would paste them, next to a server on
//! the simulated web. `$URL` and `$KEY` lead to it, and commands of `sightline` use its database; `sightline.sh`
//! stands in for the binary. Two kinds of blocks are not run: `console` shows output, `sh,no-run` needs something
//! that a test must not touch, as [`NOT_RUN`] says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use serde_json::json;

use super::{documents, root};
use crate::support::folder::Folder;
use crate::support::server::{BINARY, Server, Setup};

/// A part of each block that is not run, and the reason.
const NOT_RUN: [(&str, &str); 21] = [
    ("cargo run", "builds the project again, and serves until it is stopped"),
    ("scripts/test", "runs the tests inside a test"),
    ("cargo build", "builds the project again"),
    ("cargo install", "builds the project again"),
    ("package-debian", "installs a package; `tests/operating` runs it"),
    ("systemd-run", "needs the service that the package installs"),
    ("podman", "needs a base image; `tests/operating` builds the image and starts it"),
    ("cargo test", "runs the tests inside a test"),
    ("--repair", "asks real sites; `tests/catalog` runs it"),
    ("catalog learn", "asks real sites; `tests/catalog` runs it"),
    ("--catalog-feed", "fetches from elsewhere, and serves until it is stopped"),
    ("--admin-listen", "takes a fixed port, and the second line needs a second terminal"),
    ("--listen 0.0.0.0", "listens on all interfaces"),
    ("--browser", "needs a browser; `tests/premium` runs it"),
    ("chromium --headless", "starts a browser; `tests/premium` uses a running one"),
    ("pg_basebackup", "needs the tools of a PostgreSQL server; `tests/outages` runs it"),
    ("pg_dump", "needs the tools of a PostgreSQL server; `tests/operating` runs it"),
    ("pg_restore", "needs the tools of a PostgreSQL server; `tests/operating` runs it"),
    ("/etc/nginx", "writes to the machine's configuration; `tests/http` runs it"),
    ("/run/credentials", "a file that systemd makes"),
    ("data/sightline.db", "replaces the database of a stopped server; `tests/operating` runs it"),
];
/// The fixed address of examples, which a test replaces by a free one.
const SERVED_AT: &str = "http://127.0.0.1:8080";
const ACCOUNT: &str = "me@example.org";

/// A block of code.
struct Block {
    info: String,
    text: String,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                open = Some(Block { info, text: String::new() });
            }
            Event::Text(text) => {
                if let Some(block) = &mut open {
                    block.text.push_str(&text);
                }
            }
            Event::End(TagEnd::CodeBlock) => found.extend(open.take()),
            _ => {}
        }
    }
    found
}

#[test]
fn every_block_has_a_known_info_string() {
    for (path, text) in documents() {
        for Block { info, text } in blocks(&text) {
            match info.as_str() {
                "sh" | "json" | "console" => {}
                "sh,no-run" => {
                    let is_known = NOT_RUN.iter().any(|(part, _)| text.contains(part));
                    assert!(is_known, "{path}: no reason is known not to run this:\n{text}");
                }
                other => panic!("{path}: a block of code with the info string {other:?}:\n{text}"),
            }
        }
    }
}

#[test]
fn every_example_of_the_readme_runs() {
    run(|path| path == "README.md");
}

#[test]
fn every_example_for_clients_runs() {
    run(is_for_clients);
}

#[test]
fn every_other_example_of_the_manual_runs() {
    run(|path| path != "README.md" && !is_for_clients(path));
}

fn is_for_clients(path: &str) -> bool {
    ["api", "streams", "reports", "errors-and-limits", "getting-started"]
        .iter()
        .any(|topic| path == format!("src/manual/{topic}.md"))
}

/// Runs the examples of the documents that `is_chosen` selects.
fn run(is_chosen: impl Fn(&str) -> bool) {
    let mut documents: Vec<(String, String)> =
        documents().into_iter().filter(|(path, _)| is_chosen(path)).collect();
    documents.retain(|(_, text)| blocks(text).iter().any(|block| block.info == "sh"));
    assert!(!documents.is_empty(), "no document has an example");
    for (path, text) in documents {
        let server = Setup::new().all_modules().start();
        let folder = Folder::new();
        let work = folder.path("work");
        prepare(Path::new(&work), &text);
        let output = Command::new("bash")
            .args(["-c", &script(&text, &server)])
            .current_dir(&work)
            .envs(environment(&server, &text, &work))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        assert!(output.status.success(), "{path}: {}\n--- out\n{out}\n--- err\n{err}", output.status);
    }
}

/// Returns a script of all blocks that run, in order. It names the running block on standard error.
fn script(markdown: &str, server: &Server) -> String {
    let mut script = "set -eu -o pipefail\n".to_owned();
    for block in blocks(markdown).into_iter().filter(|block| block.info == "sh") {
        let first = block.text.lines().next().unwrap_or_default().replace('\'', " ");
        script.push_str(&format!("echo '### {first}' >&2\n{}", block.text));
    }
    script.replace(SERVED_AT, &format!("http://{}", server.address))
}

fn environment(server: &Server, markdown: &str, work: &str) -> Vec<(&'static str, String)> {
    let mut environment = vec![
        ("BINARY", BINARY.to_owned()),
        ("URL", format!("http://{}", server.address)),
        ("SIGHTLINE_SANDBOX", "perfect".to_owned()),
        ("SIGHTLINE_DATABASE", server.database.clone()),
        ("PATH", format!("{work}/bin:{}", std::env::var("PATH").unwrap())),
    ];
    // A document that creates the account also creates its key.
    if !markdown.contains(&format!("account create --email {ACCOUNT}")) {
        server.cli(&["account", "create", "--email", ACCOUNT, "--plan", "unlimited"]);
        let key = server.cli(&["key", "create", "--account", ACCOUNT]);
        environment.push(("KEY", key.trim().to_owned()));
    }
    environment
}

/// Creates the files that examples use: lists of other tools, and files that a document tells the reader to save.
fn prepare(work: &Path, markdown: &str) {
    for folder in ["bin", "sherlock", "maigret"] {
        fs::create_dir_all(work.join(folder)).unwrap();
    }
    symlink(root().join("tests/manual/sightline.sh"), work.join("bin/sightline")).unwrap();
    symlink(root().join("scripts"), work.join("scripts")).unwrap();
    let lists = [
        (
            "wmn-data.json",
            json!({"license": [], "authors": [], "categories": ["social"], "sites": [{
                "name": "River", "uri_check": "https://river.example/u/{account}", "cat": "social", "known": ["blue"],
                "e_code": 200, "e_string": "member since", "m_code": 404, "m_string": "no such member"
            }]}),
        ),
        (
            "sherlock/data.json",
            json!({"$schema": "x", "Pond": {
                "url": "https://pond.example/u/{}", "urlMain": "https://pond.example/", "errorType": "status_code",
                "username_claimed": "blue"
            }}),
        ),
        (
            "maigret/data.json",
            json!({"engines": {}, "tags": [], "sites": {"Lake": {
                "checkType": "status_code", "url": "https://lake.example/u/{username}",
                "urlMain": "https://lake.example/", "usernameClaimed": "blue", "usernameUnclaimed": "nobodyatall"
            }}}),
        ),
    ];
    for (name, list) in lists {
        fs::write(work.join(name), list.to_string()).unwrap();
    }
    for part in markdown.split("Save this as `").skip(1) {
        let (name, rest) = part.split_once('`').unwrap();
        let (_, block) = rest.split_once("```json\n").unwrap();
        fs::write(work.join(name), block.split_once("```").unwrap().0).unwrap();
    }
}
