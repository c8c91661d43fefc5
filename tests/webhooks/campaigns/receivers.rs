//! The receivers of the manual, as a reader would copy them.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::super::lab::{attempted, create, lab, test};
use crate::support::databases::sqlite;
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::server::Server;
use crate::support::site::Site;

/// A process that is killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes a file of the manual's page into the folder. Returns its path.
fn copied(folder: &Folder, name: &str) -> String {
    let page = sightline::manual::topic("webhooks").unwrap().markdown;
    let (_, rest) = page.split_once(&format!("cat > {name} <<'END'\n")).unwrap();
    let path = folder.path(name);
    std::fs::write(&path, rest.split_once("\nEND\n").unwrap().0).unwrap();
    path
}

/// Runs a receiver of the manual with a secret. Returns the last attempt of a message to it.
fn received(server: &Server, program: &str, name: &str, with: Option<&str>) -> Value {
    let folder = Folder::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let webhook = create(server, &format!("http://127.0.0.1:{port}/"));
    let secret = with.unwrap_or_else(|| webhook["secret"].as_str().unwrap());
    let mut command = Command::new(program);
    command.arg(copied(&folder, name)).env("PORT", port.to_string()).env("WEBHOOK_SECRET", secret);
    let _process = Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    eventually("the receiver listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let delivery = test(server, &webhook);
    attempted(server, &webhook, &delivery)["last_attempt"].clone()
}

#[test]
fn the_receivers_of_the_manual_take_genuine_messages_only() {
    let database = sqlite();
    let server = lab(&database).start();
    let other = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    for (program, name) in [("python3", "receiver.py"), ("node", "receiver.mjs")] {
        assert_eq!(received(&server, program, name, None)["http_status"], json!(204), "{name}");
        assert_eq!(received(&server, program, name, Some(other))["http_status"], json!(401), "{name}");
    }
    let site = Site::saying("HTTP/1.1 204 No Content\r\n\r\n");
    let webhook = create(&server, &site.url("/"));
    let delivery = test(&server, &webhook);
    attempted(&server, &webhook, &delivery);
    let message = site.received().remove(0);
    let folder = Folder::new();
    let script = copied(&folder, "verify.sh");
    let verified = |secret: &str, body: &[u8]| {
        let headers = ["webhook-id", "webhook-timestamp", "webhook-signature"];
        let mut command = Command::new("sh");
        command.arg(&script).args(headers.map(|name| message.header(name).unwrap()));
        let mut child = command.env("WEBHOOK_SECRET", secret).stdin(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(body);
        child.wait().unwrap().success()
    };
    let secret = webhook["secret"].as_str().unwrap();
    assert!(verified(secret, &message.body));
    assert!(!verified(other, &message.body));
    assert!(!verified(secret, b"{}"));
}
