//! A site of the test on which every profile exists, and which answers only when the test permits it.

use std::collections::HashSet;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};

use crate::support::modules::{entry, with};
use crate::support::server::PATIENCE;
use crate::support::site::{self, Received, page};

/// Listens on all of 127.0.0.0/8, so that each module has its own host.
pub(crate) struct Site {
    site: site::Site,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The modules that are answered, by the user agent.
    open: HashSet<(String, String)>,
    all_open: bool,
    /// The requests in their order: user agent and module.
    asked: Vec<(String, String)>,
}

impl Site {
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let server = Arc::clone(&shared);
        let site = site::Site::on_all_addresses(move |socket, request| server.answer(socket, request));
        Self { site, shared }
    }

    /// Returns a catalogue of the modules `m0`, `m1`, … that query this site.
    pub(crate) fn catalog(&self, modules: usize) -> String {
        let module = |number: usize| {
            let host = format!("127.0.{}.{}:{}", number / 200 + 1, number % 200 + 1, self.site.addr.port());
            let url = format!("http://{host}/m{number}/{{query}}");
            let platform = json!({"platform": format!("Platform {number}")});
            with(entry(&format!("m{number}"), &url), &platform)
        };
        Value::from((0..modules).map(module).collect::<Vec<_>>()).to_string()
    }

    /// Answers the requests of `agent` for that module, pending ones too.
    pub(crate) fn open_to(&self, agent: &str, module: &str) {
        self.shared.state.lock().open.insert((agent.to_owned(), module.to_owned()));
        self.shared.changed.notify_all();
    }

    /// Answers the requests of all for that module.
    pub(crate) fn open(&self, module: &str) {
        self.open_to("*", module);
    }

    pub(crate) fn open_all(&self) {
        self.shared.state.lock().all_open = true;
        self.shared.changed.notify_all();
    }

    /// Waits until `agent` has sent a request for that module.
    pub(crate) fn wait_for(&self, agent: &str, module: &str) {
        let (want, end) = ((agent.to_owned(), module.to_owned()), Instant::now() + PATIENCE);
        let mut state = self.shared.state.lock();
        while !state.asked.contains(&want) {
            let late = self.shared.changed.wait_until(&mut state, end).timed_out();
            assert!(!late, "{agent} does not ask for {module}: {:?}", state.asked);
        }
    }

    /// Waits until anybody has sent a request for that module. Returns the user agent.
    pub(crate) fn asker(&self, module: &str) -> String {
        let end = Instant::now() + PATIENCE;
        let mut state = self.shared.state.lock();
        loop {
            if let Some((agent, _)) = state.asked.iter().find(|(_, asked)| asked == module) {
                return agent.clone();
            }
            let late = self.shared.changed.wait_until(&mut state, end).timed_out();
            assert!(!late, "nobody asks for {module}: {:?}", state.asked);
        }
    }

    /// Returns how many requests `agent` has sent.
    pub(crate) fn asked_by(&self, agent: &str) -> usize {
        self.shared.state.lock().asked.iter().filter(|(by, _)| by == agent).count()
    }

    /// Returns the modules of all requests, in their order.
    pub(crate) fn order(&self) -> Vec<String> {
        self.shared.state.lock().asked.iter().map(|(_, module)| module.clone()).collect()
    }

    /// Returns how many requests for that module were sent.
    pub(crate) fn asked(&self, module: &str) -> usize {
        self.shared.state.lock().asked.iter().filter(|(_, asked)| asked == module).count()
    }
}

impl Shared {
    fn answer(&self, socket: &mut TcpStream, request: &Received) {
        let module = request.path().split('/').nth(1).unwrap_or_default();
        let agent = request.header("user-agent").unwrap_or_default().to_lowercase();
        self.wait_until_open(agent.split('/').next().unwrap_or_default(), module);
        // The client may have disconnected.
        let _ = socket.write_all(&page(200));
    }

    fn wait_until_open(&self, agent: &str, module: &str) {
        let mut state = self.state.lock();
        state.asked.push((agent.to_owned(), module.to_owned()));
        self.changed.notify_all();
        let keys = [agent, "*"].map(|agent| (agent.to_owned(), module.to_owned()));
        while !state.all_open && !keys.iter().any(|key| state.open.contains(key)) {
            self.changed.wait(&mut state);
        }
    }
}
