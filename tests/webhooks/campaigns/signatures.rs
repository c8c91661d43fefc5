//! Signatures, as the libraries of Standard Webhooks verify them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::super::lab::{attempted, create, id, lab, send, test};
use crate::support::databases::sqlite;
use crate::support::npm::packages;
use crate::support::python::venv;
use crate::support::site::{Received, Site};

const PYTHON: &str = "\
import json, sys
from standardwebhooks.webhooks import Webhook
case = json.loads(sys.argv[1])
print(json.dumps(Webhook(case['secret']).verify(case['body'], case['headers'])))
";

/// Returns what a library needs: the secret, the headers and the body.
fn case(secret: &Value, request: &Received) -> Value {
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let headers: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), request.header(name).into())).collect();
    json!({"secret": secret, "headers": headers, "body": String::from_utf8(request.body.clone()).unwrap()})
}

/// Asserts that the program accepts the case, and refuses it if its body is another.
fn is_verified(command: impl Fn() -> Command, case: &Value) {
    let verified = command().arg(case.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success(), "{said}");
    let body: Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(body["type"], "webhook.test");
    let mut forged = case.clone();
    forged["body"] = case["body"].as_str().unwrap().replace("webhook.test", "webhook.tesT").into();
    assert!(!command().arg(forged.to_string()).output().unwrap().status.success(), "a forgery was accepted");
}

#[test]
fn the_standard_libraries_verify_messages_with_both_secrets() {
    let site = Site::saying("HTTP/1.1 204 No Content\r\n\r\n");
    let database = sqlite();
    let server = lab(&database).start();
    let webhook = create(&server, &site.url("/"));
    let first = test(&server, &webhook);
    attempted(&server, &webhook, &first);
    let rotated = send(&server, "POST", &format!("/{}/rotate", id(&webhook)), None).json();
    let second = test(&server, &webhook);
    attempted(&server, &webhook, &second);
    let received = site.received();
    let cases = [
        case(&webhook["secret"], &received[0]),
        case(&webhook["secret"], &received[1]),
        case(&rotated["secret"], &received[1]),
    ];
    let python = venv(&["standardwebhooks==1.1.0"]);
    let npm = packages("webhooks", &["standardwebhooks@1.1.1"]);
    let script = npm.script(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/webhooks/verify.cjs"));
    for case in &cases {
        let with_python = || {
            let mut command = python.command("python");
            command.args(["-c", PYTHON]);
            command
        };
        is_verified(with_python, case);
        is_verified(|| script.command(), case);
    }
    // The new secret was not known to the first message.
    let too_early = case(&rotated["secret"], &received[0]);
    let refused = python.command("python").args(["-c", PYTHON, &too_early.to_string()]).output().unwrap();
    assert!(!refused.status.success());
}
