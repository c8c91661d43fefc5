//! A site that holds each request until the test answers it, or until it is opened.

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags};
use crate::support::server::PATIENCE;
use crate::support::site::{self, Received, page};

/// The third numbers of the addresses of sites that wait, and of those that answer at once.
const GATED: usize = 1;
const FREE: usize = 2;

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
    /// The numbers of the requests that wait for an answer, in their order.
    held: Vec<usize>,
    /// The statuses of requests that the test has answered.
    answers: HashMap<usize, u16>,
    /// The statuses that are answered at once, by the user agent and the module, of which `*` is any.
    at_once: HashMap<(String, String), u16>,
    /// The user agents, modules and names of all requests, in their order.
    asked: Vec<[String; 3]>,
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

    /// Returns the flags for a server that asks only these modules, with more flags and with long deadlines.
    pub(crate) fn flags_of(&self, modules: &[Value], more: &[&str]) -> Vec<String> {
        let name = |flag: &str| flag.split('=').next().map(str::to_owned);
        let deadlines = ["--check-timeout=10m", "--run-timeout=1h"].into_iter();
        let deadlines = deadlines.filter(|flag| !more.iter().any(|given| name(given) == name(flag)));
        let more = deadlines.chain(more.iter().copied()).map(str::to_owned);
        own_flags(&self.folder, modules).into_iter().chain(more).collect()
    }

    /// Returns the flags for a server that asks `free` sites that answer at once, on hosts of their own below `127.0.2`, and
    /// `gated` sites that wait, below `127.0.1`.
    pub(crate) fn flags(&self, free: usize, gated: usize) -> Vec<String> {
        let gated = (1..=gated).map(|number| self.numbered(GATED, number));
        let all = (1..=free).map(|number| self.numbered(FREE, number)).chain(gated);
        self.flags_of(&all.collect::<Vec<_>>(), &[])
    }

    /// Returns the flags for a site for usernames, whose answer names an email address, and two sites for email addresses,
    /// of which one waits.
    pub(crate) fn family_flags(&self) -> Vec<String> {
        let mut all = [(FREE, 1), (FREE, 2), (GATED, 1)].map(|(net, number)| self.numbered(net, number));
        let email = json!({"email": "template:{query}@mail.example.net"});
        all[0]["result"] = json!({"type": "profile", "metadata": email});
        all[1..].iter_mut().for_each(|module| module["type"] = "email".into());
        self.flags_of(&all, &[])
    }

    fn numbered(&self, net: usize, number: usize) -> Value {
        let id = format!("site-127-0-{net}-{number}");
        if net == FREE {
            self.open(&id);
        }
        self.module(&id, net * 200 + number - 1)
    }

    /// Answers the requests of a module at once from now on.
    pub(crate) fn answer_at_once(&self, module: &str, status: u16) {
        self.at_once("*", module, status);
    }

    fn at_once(&self, agent: &str, module: &str, status: u16) {
        self.shared.state.lock().at_once.insert((agent.to_owned(), module.to_owned()), status);
        self.shared.changed.notify_all();
    }

    /// Answers the requests of `agent` for a module with a hit, held ones too.
    pub(crate) fn open_to(&self, agent: &str, module: &str) {
        self.at_once(agent, module, 200);
    }

    pub(crate) fn open(&self, module: &str) {
        self.open_to("*", module);
    }

    pub(crate) fn open_all(&self) {
        self.open_to("*", "*");
    }

    /// Ends what `open_all` has begun.
    pub(crate) fn close_all(&self) {
        self.shared.state.lock().at_once.remove(&("*".to_owned(), "*".to_owned()));
    }

    /// Waits until `agent` has asked for a module.
    pub(crate) fn wait_for(&self, agent: &str, module: &str) {
        let is_it = |asked: &[String; 3]| asked[0] == agent && asked[1] == module;
        drop(self.wait_until(|state| state.asked.iter().any(is_it)));
    }

    /// Waits until anybody has asked for a module. Returns the user agent.
    pub(crate) fn asker(&self, module: &str) -> String {
        let asker = |state: &State| Some(state.asked.iter().find(|asked| asked[1] == module)?[0].clone());
        let state = self.wait_until(|state| asker(state).is_some());
        asker(&state).unwrap()
    }

    /// Returns how many requests for a module were sent.
    pub(crate) fn asked_for(&self, module: &str) -> usize {
        self.shared.state.lock().asked.iter().filter(|asked| asked[1] == module).count()
    }

    /// Waits for a held request, and answers the oldest one.
    pub(crate) fn answer_one(&self, status: u16) {
        let mut state = self.wait_until(|state| !state.held.is_empty());
        let number = state.held.remove(0);
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
        let asked = self.shared.state.lock().asked.clone().into_iter();
        asked.map(|[_, module, name]| (module, name)).collect()
    }

    /// Returns the number of requests for that name, or of all for an empty one.
    pub(crate) fn asked_by(&self, name: &str) -> usize {
        self.asked().iter().filter(|(_, asked)| name.is_empty() || asked == name).count()
    }

    /// Returns the sites that were asked for that name more than once.
    pub(crate) fn asked_again(&self, name: &str) -> Vec<String> {
        let asked = self.asked().into_iter().filter(|(_, asked)| asked == name);
        let mut modules: Vec<String> = asked.map(|(module, _)| module).collect();
        modules.sort_unstable();
        modules
            .chunk_by(|one, next| one == next)
            .filter(|same| same.len() > 1)
            .map(|same| same[0].clone())
            .collect()
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
        let agent = request.header("user-agent").unwrap_or_default().to_lowercase();
        let status = self.status([agent.split('/').next().unwrap_or_default().to_owned(), module, name]);
        // The client may have disconnected.
        let _ = socket.write_all(&page(status));
    }

    fn status(&self, asked: [String; 3]) -> u16 {
        let any = "*".to_owned();
        let keys = [(&asked[0], &asked[1]), (&any, &asked[1]), (&any, &any)];
        let keys = keys.map(|(agent, module)| (agent.clone(), module.clone()));
        let mut state = self.state.lock();
        let number = state.asked.len();
        state.asked.push(asked);
        state.held.push(number);
        let answer = |state: &State| {
            let at_once = || keys.iter().find_map(|key| state.at_once.get(key));
            state.answers.get(&number).or_else(at_once).copied()
        };
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
        state.held.retain(|held| *held != number);
        self.changed.notify_all();
        status
    }
}
