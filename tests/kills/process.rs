//! The real binary, process after process on one database.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::server::BINARY;

/// The command of a server process.
pub(super) struct Program {
    pub(super) database: String,
    pub(super) flags: Vec<String>,
    /// The log of all processes.
    pub(super) log: PathBuf,
}

impl Program {
    /// Starts process number `life`, whose number sites see in its User-Agent, without waiting.
    pub(super) fn spawn(&self, life: usize) -> Process {
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let child = Command::new(BINARY)
            .args(["serve", "--database", &self.database, "--listen=127.0.0.1:0", "--sandbox=off"])
            .arg(format!("--user-agent=life{life}/1"))
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        Process(child)
    }

    /// Runs a command on the same database and returns its standard output.
    pub(super) fn cli(&self, arguments: &[&str]) -> String {
        let output =
            Command::new(BINARY).args(arguments).args(["--database", &self.database]).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// A process that is killed when it is dropped.
pub(super) struct Process(Child);

impl Process {
    /// Waits for the port on which the server listens.
    pub(super) fn port(&mut self) -> u16 {
        let mut lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        // The rest of standard output must not fill the pipe.
        std::thread::spawn(move || for _ in lines {});
        let port = first.rsplit(':').next().and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("no address in {first:?}: the server did not start"))
    }

    /// Kills the process.
    pub(super) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
