//! A PostgreSQL server of one test, which may be stopped, paused and starved.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

use super::folder::Folder;
use super::server::PATIENCE;

/// A server on a free port of the loopback address. It is removed when this is dropped.
pub(crate) struct PrivatePostgres {
    folder: Folder,
    port: u16,
    postmaster: Option<Child>,
    settings: Vec<String>,
}

/// Pauses a server while this lives. Drop it before the server's clients, which wait for the server.
pub(crate) struct Paused {
    postmaster: u32,
}

impl Drop for Paused {
    fn drop(&mut self) {
        send("CONT", &children(self.postmaster));
        send("CONT", &[self.postmaster]);
    }
}

/// A way to end the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A restart by an administrator: connections are cut, committed data is kept.
    Fast,
    /// A crash.
    Crash,
}

impl PrivatePostgres {
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// Starts with more settings: `name=value`.
    pub(crate) fn with(settings: &[&str]) -> Self {
        let folder = Folder::new();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { folder, port: 0, postmaster: None, settings };
        server.give_to_user();
        server.run_initdb();
        server.launch();
        server
    }

    /// Starts a standby that streams from this server. `pg_promote()` makes it a server of its own.
    pub(crate) fn standby(&self) -> Self {
        let (folder, settings) = (Folder::new(), self.settings.clone());
        let mut standby = Self { folder, port: 0, postmaster: None, settings };
        standby.give_to_user();
        let mut copy = as_server_user(&program("pg_basebackup"));
        copy.args(["--host", "127.0.0.1", "--port", &self.port.to_string(), "--username", "sightline"]);
        copy.args(["--pgdata", &standby.folder.path("data"), "--write-recovery-conf"]);
        let output = copy.args(["--checkpoint", "fast", "--no-sync"]).current_dir("/").output().unwrap();
        assert!(output.status.success(), "pg_basebackup: {}", String::from_utf8_lossy(&output.stderr));
        standby.launch();
        standby
    }

    fn launch(&mut self) {
        // Another process may take a free port first.
        for _ in 0..10 {
            self.port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            if self.try_launch() {
                return;
            }
        }
        panic!("PostgreSQL does not start: {}", self.log());
    }

    /// The port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address of a database on the server.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://sightline@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Runs a statement.
    pub(crate) fn admin(&self, sql: &str) {
        self.client("postgres").batch_execute(sql).unwrap();
    }

    /// Opens a connection for the test.
    pub(crate) fn client(&self, database: &str) -> Client {
        Client::connect(&self.url(database), NoTls).unwrap()
    }

    /// Starts it again on its port.
    pub(crate) fn start_again(&mut self) {
        assert!(self.postmaster.is_none());
        assert!(self.try_launch(), "{}", self.log());
    }

    pub(crate) fn stop(&mut self, end: End) {
        let mut postmaster = self.postmaster.take().expect("it runs");
        let signal = match end {
            End::Fast => "INT",
            End::Crash => "QUIT",
        };
        send(signal, &[postmaster.id()]);
        postmaster.wait().unwrap();
    }

    /// Pauses all processes of the server.
    #[must_use = "it goes on when this goes"]
    pub(crate) fn pause(&self) -> Paused {
        let postmaster = self.postmaster.as_ref().unwrap().id();
        // The postmaster first, so that it starts no other process meanwhile.
        send("STOP", &[postmaster]);
        send("STOP", &children(postmaster));
        Paused { postmaster }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path("log")).unwrap_or_default()
    }

    fn give_to_user(&self) {
        if is_root() {
            let folder = self.folder.path("");
            let given = Command::new("chown").args(["-R", server_user().0, &folder]).status().unwrap();
            assert!(given.success());
        }
    }

    fn run_initdb(&self) {
        let data = self.folder.path("data");
        let mut command = as_server_user(&program("initdb"));
        command.args(["--pgdata", &data, "--username", "sightline", "--auth", "trust"]);
        command.args(["--encoding", "UTF8", "--locale", "C", "--no-sync"]);
        let output = command.current_dir("/").output().unwrap();
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Returns `false` if the port is taken.
    fn try_launch(&mut self) -> bool {
        let log = std::fs::File::create(self.folder.path("log")).unwrap();
        let mut command = as_server_user(&program("postgres"));
        command.args(["-D", &self.folder.path("data"), "-p", &self.port.to_string()]);
        let own = format!("unix_socket_directories={}", self.folder.path(""));
        // A crash of the server loses nothing without fsync; only a crash of the machine would.
        let fixed =
            ["listen_addresses=127.0.0.1", "fsync=off", "full_page_writes=off", "autovacuum=off", &own];
        for setting in fixed.into_iter().chain(self.settings.iter().map(String::as_str)) {
            command.args(["-c", setting]);
        }
        let started = command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        let mut postmaster = started.unwrap();
        let until = Instant::now() + PATIENCE;
        // Connects by the socket in its own folder, which exists after the port is open. Another program may
        // have the port.
        let mut own = Config::new();
        own.user("sightline").dbname("postgres").host_path(self.folder.path("")).port(self.port);
        while own.connect(NoTls).is_err() {
            if postmaster.try_wait().unwrap().is_some() {
                let log = self.log();
                assert!(log.contains("Address already in use"), "PostgreSQL ended: {log}");
                return false;
            }
            assert!(Instant::now() < until, "PostgreSQL does not answer: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
        self.postmaster = Some(postmaster);
        true
    }
}

impl Drop for PrivatePostgres {
    fn drop(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            send("QUIT", &[postmaster.id()]);
            let _ = postmaster.wait();
        }
    }
}

/// Debian installs the programs outside of `PATH`. Returns the newest version.
pub(crate) fn program(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().map_while(Result::ok);
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            Some((number, version.path().join("bin").join(name)))
        })
        .filter(|(_, path)| path.exists())
        .collect();
    found.sort();
    found.pop().map_or_else(|| PathBuf::from(name), |(_, path)| path)
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Returns the user and group of the server, since PostgreSQL refuses to run as root.
fn server_user() -> (&'static str, String) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let group = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        line.split(':').nth(3).map(str::to_owned)
    };
    let found = ["postgres", "nobody"].into_iter().find_map(|name| Some((name, group(name)?)));
    found.expect("a user for PostgreSQL")
}

pub(crate) fn as_server_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    // If the tests are killed, the system stops the server.
    command.args(["--pdeathsig", "QUIT"]);
    if is_root() {
        let (user, group) = server_user();
        command.args(["--reuid", user, "--regid", &group, "--clear-groups"]);
    }
    command.arg(program);
    command.process_group(0);
    command
}

fn send(signal: &str, processes: &[u32]) {
    if !processes.is_empty() {
        let ids = processes.iter().map(u32::to_string);
        // A child may just have ended.
        let _ = Command::new("kill").arg(format!("-{signal}")).args(ids).stderr(Stdio::null()).status();
    }
}

fn children(parent: u32) -> Vec<u32> {
    let output = Command::new("pgrep").args(["-P", &parent.to_string()]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.trim().parse().ok()).collect()
}
