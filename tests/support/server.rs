//! The real binary on a free port with the simulated web, and a client whose failures show the request, the
//! answer and the log.

use std::fmt;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use super::event_stream::{Event, EventStream};
use super::folder::Folder;
use super::nginx::Nginx;
use super::process::{signal, status_of};
use super::wire::{Transport, Wire, read_chunked, read_head};
use super::{admin, awaited, modules};

/// The binary under test.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_sightline");
/// Longer than anything in the tests takes, also on a busy machine: a test that waits this long has failed. A longer
/// time costs nothing, since tests wait for conditions.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A running `sightline serve`. It is killed when this is dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    transport: Transport,
    pub(crate) database: String,
    /// A key of an account on the unlimited plan.
    pub(crate) key: String,
    /// The plans, which account commands need too.
    plans: Option<String>,
    /// Whether it has all built-in modules.
    has_all_modules: bool,
    log: PathBuf,
    folders: Vec<Folder>,
}

/// The options of a server under test.
pub(crate) struct Setup {
    database: Option<String>,
    flags: Vec<String>,
    sandbox: &'static str,
    listen: String,
    launcher: Vec<String>,
    has_admin: bool,
    has_all_modules: bool,
}

impl Setup {
    /// SQLite in a temporary folder, the simulated web without delays or faults, and high rate limits.
    pub(crate) fn new() -> Self {
        Self {
            database: None,
            flags: Vec::new(),
            sandbox: "--sandbox=perfect",
            listen: "127.0.0.1:0".to_owned(),
            launcher: Vec::new(),
            has_admin: true,
            has_all_modules: false,
        }
    }

    pub(crate) fn database(mut self, url: &str) -> Self {
        self.database = Some(url.to_owned());
        self
    }

    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.flags.push(flag.to_owned());
        self
    }

    pub(crate) fn flags(mut self, flags: &[String]) -> Self {
        self.flags.extend_from_slice(flags);
        self
    }

    /// With all built-in modules. Other servers have some for each type, because all of them cost a debug build seconds for
    /// each search.
    pub(crate) fn all_modules(self) -> Self {
        Self { has_all_modules: true, ..self }
    }

    /// Without the admin listener that every other server under test has.
    pub(crate) fn without_admin(self) -> Self {
        Self { has_admin: false, ..self }
    }

    /// Listens on this address instead of a free port.
    pub(crate) fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address.to_string();
        self
    }

    /// Starts the server by this program, which becomes the server.
    pub(crate) fn launched_by(mut self, launcher: &[&str]) -> Self {
        self.launcher = launcher.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// Without a simulated web: for modules that ask a site of the test's own.
    pub(crate) fn real() -> Self {
        Self { sandbox: "--sandbox=off", ..Self::new() }
    }

    /// With the usual delays and faults of the simulated web.
    pub(crate) fn realistic(mut self) -> Self {
        self.sandbox = "--sandbox=realistic";
        self
    }

    pub(crate) fn start(self) -> Server {
        let folder = Folder::new();
        let database =
            self.database.clone().unwrap_or_else(|| format!("sqlite:{}", folder.path("sightline.db")));
        let log = PathBuf::from(folder.path("log"));
        let mut words = self.launcher.iter().map(String::as_str).chain([BINARY]);
        let mut child = Command::new(words.next().unwrap_or(BINARY))
            .args(words)
            .args(["serve", "--database", &database])
            .args(self.defaults())
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let Some(address) = first.strip_prefix("listening on http://") else {
            let _ = child.kill();
            panic!("no address in {first:?}; log:\n{}", std::fs::read_to_string(&log).unwrap());
        };
        let address = address.parse().unwrap();
        // Reads the rest of standard output (the first key), so that the pipe does not fill up.
        std::thread::spawn(move || for _ in lines {});
        let plans = self.flags.iter().find(|flag| flag.starts_with("--plans=")).cloned();
        let has_all_modules = self.has_all_modules;
        let mut server = Server {
            child,
            address,
            transport: Transport::Plain,
            database,
            key: String::new(),
            plans,
            has_all_modules,
            log,
            folders: vec![folder],
        };
        server.key = server.new_key("unlimited");
        server
    }

    /// Returns the options that the flags do not set.
    fn defaults(&self) -> impl Iterator<Item = String> {
        let limits = ["search", "stream", "read"].map(|policy| format!("--rate-limits={policy}=1000000"));
        // Tests count the requests of searches that ask the same.
        let share = "--times=share-answers=0s".to_owned();
        let own = [format!("--listen={}", self.listen), self.sandbox.to_owned(), share];
        let admin = self.has_admin.then(|| "--admin-listen=127.0.0.1:0".to_owned());
        // On a busy machine a check or a whole search may take long. In a realistic web, though, silent sites let a
        // search take as long as a check may.
        let realistic = "--sandbox=realistic";
        let is_realistic = self.sandbox == realistic || self.flags.iter().any(|flag| flag == realistic);
        let checks = (!is_realistic).then(|| "--check-timeout=60s".to_owned());
        let waits = "--times=wait=5m".to_owned();
        let has_choice =
            self.has_all_modules || own.iter().chain(&self.flags).any(|flag| modules::is_choice(flag));
        let modules = if has_choice { Vec::new() } else { modules::few() };
        let log = "--log-level=debug".to_owned();
        let all = own.into_iter().chain(admin).chain(limits).chain(checks).chain([waits, log]).chain(modules);
        let names = |flag: &str| flag.rsplit_once('=').map_or(flag, |(name, _)| name).to_owned();
        all.filter(move |flag| !self.flags.iter().any(|given| names(given) == names(flag)))
    }
}

impl Server {
    /// Creates an account on that plan, and returns its key.
    pub(crate) fn new_key(&self, plan: &str) -> String {
        self.key_of(&format!("{}@example.com", uuid::Uuid::new_v4().simple()), plan)
    }

    /// Creates an account with this address, and returns its key.
    pub(crate) fn key_of(&self, email: &str, plan: &str) -> String {
        let mut create = vec!["account", "create", "--email", email, "--plan", plan];
        create.extend(self.plans.as_deref());
        self.cli(&create);
        self.cli(&["key", "create", "--account", email]).trim().to_owned()
    }

    /// Sends all further requests through this proxy.
    pub(crate) fn ask_through(&mut self, nginx: &Nginx) {
        (self.address, self.transport) = (nginx.address, nginx.transport.clone());
    }

    /// Runs another command of the binary on the same database, and returns its standard output.
    pub(crate) fn cli(&self, arguments: &[&str]) -> String {
        let output =
            Command::new(BINARY).args(arguments).args(["--database", &self.database]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Returns a current sample of `/metrics` by its name with labels.
    pub(crate) fn figure(&self, name: &str) -> f64 {
        let said = admin::get(admin::admin_of(self), "/metrics");
        admin::figure(said.text(), name).unwrap_or_else(|| panic!("no {name} in {said}"))
    }

    /// Returns a number from `/proc/PID/status`, such as that of `Threads`.
    pub(crate) fn of_process(&self, name: &str) -> usize {
        status_of(self.child.id(), name)
    }

    /// Sends SIGTERM, and waits for the end of the process.
    pub(crate) fn terminate(&mut self) -> std::process::ExitStatus {
        signal(self.child.id(), "TERM");
        self.child.wait().unwrap()
    }

    /// Kills the process.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts the same database again on another port.
    pub(crate) fn restart(mut self, flags: &[&str]) -> Server {
        let folders = std::mem::take(&mut self.folders);
        let (database, key, has_all_modules) =
            (self.database.clone(), self.key.clone(), self.has_all_modules);
        drop(self);
        let mut setup = Setup { has_all_modules, ..Setup::new() }.database(&database);
        for flag in flags {
            setup = setup.flag(flag);
        }
        let mut server = setup.start();
        server.key = key;
        // The folder of the database outlives both servers.
        server.folders.extend(folders);
        server
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path).key(&self.key).send()
    }

    pub(crate) fn post(&self, body: &Value) -> Answer {
        self.request("POST", "/v1/searches").key(&self.key).json(body).send()
    }

    /// Starts a search and returns its run id. Of the built-in modules for usernames, it takes one category: all 610
    /// cost a debug build some seconds.
    pub(crate) fn search(&self, search_type: &str, query: &str) -> String {
        let is_large = search_type == "username" && self.has_all_modules;
        let mut body = json!({"type": search_type, "query": query});
        if is_large {
            body["categories"] = json!(["coding"]);
        }
        let answer = self.post(&body);
        assert_eq!(answer.status, 200, "{answer}");
        answer.json()["run_id"].as_str().unwrap().to_owned()
    }

    /// Polls a run until it ends.
    pub(crate) fn finished(&self, run_id: &str) -> Value {
        awaited("the run ends", || {
            let answer = self.get(&format!("/v1/searches/{run_id}"));
            assert_eq!(answer.status, 200, "{answer}");
            let run = answer.json();
            if run["status"] == "running" { Err(answer) } else { Ok(run) }
        })
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let request = self.request(method, path).key(&self.key);
        match body {
            Some(body) => request.json(body).send(),
            None => request.send(),
        }
    }

    /// Starts a search under an idempotency key.
    pub(crate) fn post_once(&self, idempotency_key: &str, body: &Value) -> Answer {
        let request = self.request("POST", "/v1/searches").key(&self.key);
        request.header("Idempotency-Key", idempotency_key).json(body).send()
    }

    /// Starts a search, and returns its stream.
    pub(crate) fn post_stream(&self, body: &Value) -> EventStream {
        self.request("POST", "/v1/searches").key(&self.key).json(body).stream()
    }

    pub(crate) fn stream(&self, path: &str) -> EventStream {
        self.request("GET", path).key(&self.key).stream()
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path).key(&self.key).send()
    }

    pub(crate) fn request(&self, method: &str, path: &str) -> RequestBuilder<'_> {
        RequestBuilder::to(self.address, &self.transport, method, path)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<&str> = log.lines().rev().take(60).collect();
            eprintln!("--- the server's log, newest line first ---\n{}", tail.join("\n"));
        }
    }
}

pub(crate) struct RequestBuilder<'a> {
    address: SocketAddr,
    transport: &'a Transport,
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl<'a> RequestBuilder<'a> {
    pub(crate) fn to(address: SocketAddr, transport: &'a Transport, method: &str, path: &str) -> Self {
        let (method, path) = (method.to_owned(), path.to_owned());
        Self { address, transport, method, path, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("Authorization", &format!("Bearer {key}"))
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string().as_bytes())
    }

    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    fn open(&self) -> BufReader<Box<dyn Wire>> {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut socket = self.transport.on(socket);
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !self.body.is_empty() || self.method == "POST" {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        socket.write_all(head.as_bytes()).unwrap();
        // A server that refuses early may close before a large body is written.
        let _ = socket.write_all(&self.body);
        BufReader::new(socket)
    }

    /// Sends the request and reads the whole answer.
    pub(crate) fn send(self) -> Answer {
        let mut reader = self.open();
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(300)]);
        let mut answer = Answer::head(format!("{} {} {body}", self.method, self.path), &mut reader);
        if self.method == "HEAD" || [204, 304].contains(&answer.status) {
            // A body in spite of that, until the connection is closed, would be a mistake of the server.
            reader.read_to_end(&mut answer.body).unwrap();
            return answer;
        }
        answer.with_body(&mut reader)
    }

    /// Sends the request and returns the stream of events.
    pub(crate) fn stream(self) -> EventStream {
        EventStream::over(self.open())
    }
}

/// Returns the run ids of a page of the list of runs.
pub(crate) fn run_ids(page: &Value) -> Vec<String> {
    page["searches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run_id"].as_str().unwrap().to_owned())
        .collect()
}

/// An answer, which may be without its body.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    request: String,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads the head of the answer to a request.
    pub(crate) fn head(request: String, reader: &mut impl BufRead) -> Self {
        let (status, headers) = read_head(reader);
        Self { request, status, headers, body: Vec::new() }
    }

    /// Reads the body, by its length or its chunks.
    pub(crate) fn with_body(mut self, reader: &mut impl BufRead) -> Self {
        if self.header("transfer-encoding").is_some() {
            self.body = read_chunked(reader);
        } else if let Some(length) = self.header("content-length") {
            self.body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut self.body).unwrap();
        }
        self
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {self}"))
    }

    /// Asserts status and error code, in both formats.
    pub(crate) fn is_error(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self}");
        let body = self.json();
        assert_eq!(body["error"], code, "{self}");
        assert_eq!(body["detail"]["error"], code, "{self}");
        assert_eq!(body["detail"]["message"], body["message"], "{self}");
        assert_eq!(body["detail"]["request_id"].as_str(), self.header("x-request-id"), "{self}");
        body
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n→ {} {:?}\n{}",
            self.request,
            self.status,
            self.headers,
            String::from_utf8_lossy(&self.body)
        )
    }
}
