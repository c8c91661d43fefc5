//! Sites that answer with injected markup and scripts in every field that a site can fill.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::injection::{ADDRESSES, TEXTS};
use crate::support::folder::Folder;

/// One site for each text, all on one port. They end with the process of the tests.
pub(super) struct HostileSites {
    catalog: String,
    _folder: Folder,
}

impl HostileSites {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                std::thread::spawn(move || answer(socket));
            }
        });
        let folder = Folder::new();
        let catalog = folder.path("catalog.json");
        let modules: Vec<Value> = (0..TEXTS.len()).map(|number| module(number, port)).collect();
        std::fs::write(&catalog, Value::Array(modules).to_string()).unwrap();
        Self { catalog, _folder: folder }
    }

    pub(super) fn flags(&self) -> Vec<String> {
        let flags = ["--no-builtin", "--allow-private-targets", "--check-timeout=60s"];
        flags.iter().map(|flag| (*flag).to_owned()).chain([format!("--catalog={}", self.catalog)]).collect()
    }
}

fn module(number: usize, port: u16) -> Value {
    json!({
        "id": format!("hostile-{number}"), "platform": TEXTS[number], "type": "username", "category": "test",
        "control": false,
        "probes": [{"url": format!("http://127.0.0.1:{port}/{number}/{{query}}")}],
        "hit": [{"status": [200]}], "miss": [{"status": [404]}],
        "result": {"type": "profile", "value": "json:/text", "metadata": {
            "display_name": "json:/text", "bio": "json:/text", "location": "json:/text", "title": "json:/text",
            "avatar_url": "json:/address", "profile_url": "json:/address", "website": "json:/address",
            "links": "json:/addresses", "more": "json:/more",
        }},
        "results": [
            {"type": "technology", "each": "json:/texts/*", "value": "value:", "metadata": {"note": "value:"}},
            {"type": "person_name", "each": "json:/texts/*", "value": "value:"},
            {"type": "url", "each": "json:/addresses/*", "value": "value:", "metadata": {"avatar_url": "value:"}},
        ],
    })
}

/// Answers every request with the text of that number in all values, and in the name of a member.
fn answer(mut socket: std::net::TcpStream) {
    let mut lines = BufReader::new(socket.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(target) = lines.next().and_then(|line| line.split(' ').nth(1).map(str::to_owned)) else {
        return;
    };
    for _ in lines.take_while(|line| !line.is_empty()) {}
    let number: usize = target.split('/').nth(1).and_then(|number| number.parse().ok()).unwrap_or_default();
    let (text, address) = (TEXTS[number], ADDRESSES[number % ADDRESSES.len()]);
    let page = json!({
        "text": text, "address": address, "texts": [text], "addresses": [address],
        "more": {text: {"a": [text, address], "b": {text: text}}},
    })
    .to_string();
    // The client may have disconnected.
    let _ = write!(
        socket,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
}
