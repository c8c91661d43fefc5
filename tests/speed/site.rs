//! A site that holds each request until the test answers it.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::support::folder::Folder;
use crate::support::modules::entry;
use crate::support::server::PATIENCE;
use crate::support::site::{self, Received, page};

/// Listens on all of 127.0.0.0/8, so that a test can have many hosts.
pub(crate) struct Site {
    site: site::Site,
    shared: Arc<Shared>,
    /// A listener that accepts no connections.
    silent: TcpListener,
    /// A socket that does not listen, and holds its port.
    refusing: Socket,
    folder: Folder,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The requests that wait for an answer, in their order: number, module and name.
    held: Vec<(usize, String, String)>,
    /// The statuses of requests that the test has answered.
    answers: HashMap<usize, u16>,
    /// The status with which modules are answered at once.
    at_once: HashMap<String, u16>,
    /// The modules and names of all requests, in their order.
    asked: Vec<(String, String)>,
    most_held: usize,
}

impl Site {
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let server = Arc::clone(&shared);
        let site = site::Site::on_all_addresses(move |socket, request| server.answer(socket, request));
        let silent = TcpListener::bind("0.0.0.0:0").unwrap();
        let refusing = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        refusing.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)).into()).unwrap();
        Self { site, shared, silent, refusing, folder: Folder::new() }
    }

    /// Returns a module with a host of its own for each number, on which a 404 is a miss.
    pub(crate) fn module(&self, id: &str, host: usize) -> Value {
        module_at(id, host, self.site.addr.port())
    }

    /// Returns a module whose host accepts connections, if at all, and never answers.
    pub(crate) fn silent_module(&self, id: &str, host: usize) -> Value {
        module_at(id, host, self.silent.local_addr().unwrap().port())
    }

    /// Returns a module whose host is this name.
    pub(crate) fn named_module(&self, id: &str) -> Value {
        let mut module = self.module(id, 0);
        module["probes"][0]["url"] =
            json!(format!("http://{id}.example.com:{}/{{query}}", self.site.addr.port()));
        module
    }

    /// Returns a module whose host refuses connections.
    pub(crate) fn refusing_module(&self, id: &str, host: usize) -> Value {
        let address = self.refusing.local_addr().unwrap().as_socket();
        module_at(id, host, address.unwrap().port())
    }

    /// Returns the option with these modules as the catalogue.
    pub(crate) fn catalog(&self, modules: &[Value]) -> String {
        let file = self.folder.path("catalog.json");
        std::fs::write(&file, Value::from(modules.to_vec()).to_string()).unwrap();
        format!("--catalog={file}")
    }

    /// Answers the requests of a module at once from now on.
    pub(crate) fn answer_at_once(&self, module: &str, status: u16) {
        self.shared.state.lock().at_once.insert(module.to_owned(), status);
        self.shared.changed.notify_all();
    }

    /// Waits for a held request, and answers the oldest one.
    pub(crate) fn answer_one(&self, status: u16) {
        let mut state = self.wait_until(|state| !state.held.is_empty());
        let (number, ..) = state.held.remove(0);
        state.answers.insert(number, status);
        self.shared.changed.notify_all();
    }

    /// Waits until this number of requests is held.
    pub(crate) fn wait_for_held(&self, count: usize) {
        drop(self.wait_until(|state| state.held.len() == count));
    }

    /// Returns the largest number of requests that were held at once since the last call.
    pub(crate) fn take_most_held(&self) -> usize {
        let mut state = self.shared.state.lock();
        let now = state.held.len();
        std::mem::replace(&mut state.most_held, now)
    }

    /// Returns the modules and names of all requests, in their order.
    pub(crate) fn asked(&self) -> Vec<(String, String)> {
        self.shared.state.lock().asked.clone()
    }

    fn wait_until(&self, is_so: impl Fn(&State) -> bool) -> parking_lot::MutexGuard<'_, State> {
        let (mut state, end) = (self.shared.state.lock(), Instant::now() + PATIENCE);
        while !is_so(&state) {
            let late = self.shared.changed.wait_until(&mut state, end).timed_out();
            assert!(!late, "held: {:?}, asked: {:?}", state.held, state.asked);
        }
        state
    }
}

fn module_at(id: &str, host: usize, port: u16) -> Value {
    entry(id, &format!("http://127.0.{}.{}:{port}/{id}/{{query}}", host / 200, host % 200 + 1))
}

impl Shared {
    fn answer(&self, socket: &mut TcpStream, request: &Received) {
        let mut words = request.path().split('/').skip(1).map(str::to_owned);
        let (module, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let status = self.status(&module, name);
        // The client may have disconnected.
        let _ = socket.write_all(&page(status));
    }

    fn status(&self, module: &str, name: String) -> u16 {
        let mut state = self.state.lock();
        let number = state.asked.len();
        state.asked.push((module.to_owned(), name.clone()));
        state.held.push((number, module.to_owned(), name));
        let answer =
            |state: &State| state.answers.get(&number).or_else(|| state.at_once.get(module)).copied();
        if answer(&state).is_none() {
            state.most_held = state.most_held.max(state.held.len());
            self.changed.notify_all();
        }
        // Only changes are signalled. Threads that signal whenever they wake would wake each other forever.
        let status = loop {
            match answer(&state) {
                Some(status) => break status,
                None => self.changed.wait(&mut state),
            }
        };
        state.held.retain(|(held, ..)| *held != number);
        self.changed.notify_all();
        status
    }
}
