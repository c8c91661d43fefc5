//! Sites of the test's own: some answer at once, some when they are told to, and some slowly. They count the
//! requests for each name.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use super::folder::Folder;
use super::modules::{entry, own_flags};
use super::site::{Received, Site, page};

/// Sites on which every name exists.
pub(crate) struct GatedSite {
    site: Site,
    state: Arc<(Mutex<State>, Condvar)>,
    folder: Folder,
}

#[derive(Default)]
struct State {
    is_open: bool,
    asked: BTreeMap<String, usize>,
}

/// The addresses of gated sites. Those that answer at once are on `127.0.2.*`, slow ones on `127.0.3.*`. Each
/// site has a host of its own.
const GATED: &str = "127.0.1.";
const FREE: &str = "127.0.2.";
const SLOW: &str = "127.0.3.";
/// The delay of slow sites.
const THEIR_TIME: Duration = Duration::from_millis(150);

impl GatedSite {
    pub(crate) fn start() -> Self {
        let state = Arc::new((Mutex::new(State::default()), Condvar::new()));
        let shared = Arc::clone(&state);
        let site = Site::on_all_addresses(move |socket, request| answer(socket, request, &shared));
        Self { site, state, folder: Folder::new() }
    }

    /// Returns the flags for a server that asks `free` sites that answer at once and `gated` sites that wait
    /// for the gate.
    pub(crate) fn flags(&self, free: usize, gated: usize) -> Vec<String> {
        self.flags_for(&[(FREE, free), (GATED, gated)])
    }

    /// Returns the flags for slow sites.
    pub(crate) fn slow_flags(&self, slow: usize) -> Vec<String> {
        self.flags_for(&[(SLOW, slow)])
    }

    fn flags_for(&self, sites: &[(&str, usize)]) -> Vec<String> {
        let hosts = sites.iter().flat_map(|(kind, count)| (1..=*count).map(move |n| format!("{kind}{n}")));
        self.flags_of(&hosts.map(|host| self.module(&host)).collect::<Vec<_>>())
    }

    /// Returns the flags for a site for usernames, whose answer names an email address, and two sites for email addresses,
    /// of which one waits for the gate.
    pub(crate) fn family_flags(&self) -> Vec<String> {
        let mut profile = self.module(&format!("{FREE}1"));
        let email = json!({"email": "template:{query}@mail.example.net"});
        profile["result"] = json!({"type": "profile", "metadata": email});
        let emails = [format!("{FREE}2"), format!("{GATED}1")].map(|host| {
            let mut module = self.module(&host);
            module["type"] = "email".into();
            module
        });
        self.flags_of(&[&[profile], &emails[..]].concat())
    }

    fn flags_of(&self, modules: &[Value]) -> Vec<String> {
        let more = ["--check-timeout=5m", "--run-timeout=10m"].map(str::to_owned);
        own_flags(&self.folder, modules).into_iter().chain(more).collect()
    }

    fn module(&self, host: &str) -> Value {
        let id = format!("site-{}", host.replace('.', "-"));
        let url =
            format!("http://{}/{{query}}", SocketAddr::new(host.parse().unwrap(), self.site.addr.port()));
        entry(&id, &url)
    }

    pub(crate) fn open(&self) {
        self.state.0.lock().is_open = true;
        self.state.1.notify_all();
    }

    /// Lets gated sites wait again.
    pub(crate) fn close(&self) {
        self.state.0.lock().is_open = false;
    }

    /// Returns the number of requests for that name.
    pub(crate) fn asked(&self, name: &str) -> usize {
        let state = self.state.0.lock();
        let of_name = state.asked.iter().filter(|(question, _)| question.ends_with(&format!("/{name}")));
        of_name.map(|(_, count)| count).sum()
    }

    /// Returns the sites that were asked for that name more than once.
    pub(crate) fn asked_again(&self, name: &str) -> Vec<String> {
        let state = self.state.0.lock();
        let of_name = state.asked.iter().filter(|(question, _)| question.ends_with(&format!("/{name}")));
        of_name.filter(|(_, count)| **count > 1).map(|(question, _)| question.clone()).collect()
    }
}

fn answer(socket: &mut TcpStream, request: &Received, (state, opened): &(Mutex<State>, Condvar)) {
    let host = &request.host;
    let mut state = state.lock();
    *state.asked.entry(format!("{host}{}", request.path())).or_default() += 1;
    while host.starts_with(GATED) && !state.is_open {
        opened.wait(&mut state);
    }
    drop(state);
    if host.starts_with(SLOW) {
        std::thread::sleep(THEIR_TIME);
    }
    // The client may have disconnected.
    let _ = socket.write_all(&page(200));
}
