//! Sites that answer with injected markup and scripts in every field that a site can fill.

use std::io::Write as _;

use serde_json::{Value, json};

use super::injection::{ADDRESSES, TEXTS};
use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags, with};
use crate::support::site::{Site, answer};

/// One site for each text, all on one port.
pub(super) struct HostileSites {
    site: Site,
    folder: Folder,
}

impl HostileSites {
    pub(super) fn start() -> Self {
        // The client may have disconnected.
        let site = Site::start(|socket, request| drop(socket.write_all(&page(request.path()))));
        Self { site, folder: Folder::new() }
    }

    pub(super) fn flags(&self) -> Vec<String> {
        let modules: Vec<Value> = (0..TEXTS.len()).map(|number| module(number, &self.site)).collect();
        let more = "--check-timeout=60s".to_owned();
        own_flags(&self.folder, &modules).into_iter().chain([more]).collect()
    }
}

fn module(number: usize, site: &Site) -> Value {
    let module = entry(&format!("hostile-{number}"), &site.url(&format!("/{number}/{{query}}")));
    let changes = json!({
        "platform": TEXTS[number],
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
    });
    with(module, &changes)
}

/// Returns an answer with the text of that number in all values, and in the name of a member.
fn page(path: &str) -> Vec<u8> {
    let number: usize = path.split('/').nth(1).and_then(|number| number.parse().ok()).unwrap_or_default();
    let (text, address) = (TEXTS[number], ADDRESSES[number % ADDRESSES.len()]);
    let page = json!({
        "text": text, "address": address, "texts": [text], "addresses": [address],
        "more": {text: {"a": [text, address], "b": {text: text}}},
    });
    answer(200, "application/json", &page.to_string())
}
