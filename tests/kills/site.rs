//! A site of the test that records which process of the server has queried what.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::modules::{entry, with};
use crate::support::site::{self, Received};

/// The number of modules of a search.
pub(super) const MODULES: usize = 24;
/// The number of addresses that several modules find.
const SHARED: usize = 12;
/// Names with this prefix get no usable answer, so that their search fails.
pub(super) const GHOST: &str = "ghost";
/// The range of the latency in milliseconds, determined by the module and the name.
const TAKES: std::ops::Range<u64> = 50..400;
/// Names with this prefix take longer, so that their searches last through several checkpoints.
pub(super) const SLOW: &str = "slow";
const SLOWER: u64 = 6;

/// A request to the site.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) module: String,
    pub(super) name: String,
    /// The number of the server process that sent it.
    pub(super) life: usize,
}

/// Listens on all of 127.0.0.0/8, so that each module has its own host.
pub(super) struct Site {
    site: site::Site,
    book: Arc<Mutex<Vec<Question>>>,
}

impl Site {
    pub(super) fn start() -> Self {
        let book = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&book);
        let site = site::Site::on_all_addresses(move |socket, request| answer(socket, request, &kept));
        Self { site, book }
    }

    /// Returns a catalogue of the modules `m0`, `m1`, … that query this site for email addresses.
    pub(super) fn catalog(&self) -> String {
        let module = |number: usize| {
            let url = format!("http://127.0.9.{}:{}/m{number}/{{query}}", number + 1, self.site.addr.port());
            let changes = json!({
                "platform": format!("Platform {number}"), "results": [{"type": "email", "each": "json:/*"}]
            });
            with(entry(&format!("m{number}"), &url), &changes)
        };
        Value::from((0..MODULES).map(module).collect::<Vec<_>>()).to_string()
    }

    pub(super) fn book(&self) -> Vec<Question> {
        self.book.lock().clone()
    }
}

/// Returns the results of a complete search for a name.
pub(super) fn known_of(name: &str) -> BTreeSet<String> {
    (0..MODULES)
        .filter(|module| status(*module, name) == 200)
        .flat_map(|module| listed(module, name))
        .collect()
}

fn status(module: usize, name: &str) -> u16 {
    match module % 8 {
        _ if name.starts_with(GHOST) => 500,
        5 => 404,
        7 => 500,
        _ => 200,
    }
}

/// Returns the addresses that a module finds: one of its own, and some that others find too.
fn listed(module: usize, name: &str) -> [String; 3] {
    let shared = |number: usize| format!("shared{}.{name}@example.com", number % SHARED);
    [format!("own{module}.{name}@example.com"), shared(module), shared(module * 5 + 1)]
}

fn answer(socket: &mut TcpStream, request: &Received, book: &Mutex<Vec<Question>>) {
    let agent = request.header("user-agent").unwrap_or_default().to_lowercase();
    let life = agent.strip_prefix("life").and_then(|rest| rest.split('/').next()?.parse().ok());
    let Some(life) = life else { return };
    let target = request.path();
    let Some((module, name)) = target.trim_start_matches("/m").split_once('/') else { return };
    let number: usize = module.parse().unwrap();
    book.lock().push(Question { module: format!("m{number}"), name: name.to_owned(), life });
    std::thread::sleep(pause(number, name));
    let page = json!(listed(number, name)).to_string();
    // The client may have disconnected.
    let _ = socket.write_all(&site::answer(status(number, name), "application/json", &page));
}

fn pause(module: usize, name: &str) -> Duration {
    let mixed = name.bytes().fold(module as u64 + 1, |sum, byte| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte)).rotate_left(17)
    });
    let times = if name.starts_with(SLOW) { SLOWER } else { 1 };
    Duration::from_millis(times * (TAKES.start + mixed % (TAKES.end - TAKES.start)))
}
