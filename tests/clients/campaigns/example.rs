//! Runs the clients of `scripts/examples`.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::folder::Folder;
use crate::support::server::{PATIENCE, Server};

/// The longest time for a client, which waits for servers and after cut connections.
const LONGEST: Duration = Duration::from_secs(3 * PATIENCE.as_secs());

/// One of the clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Example {
    pub(crate) file: &'static str,
    interpreter: &'static str,
}

pub(crate) const EXAMPLES: [Example; 3] = [
    Example { file: "search.sh", interpreter: "bash" },
    Example { file: "search.py", interpreter: "python3" },
    Example { file: "search.mjs", interpreter: "node" },
];

/// The result of a finished client.
pub(crate) struct Ended {
    file: &'static str,
    pub(crate) code: Option<i32>,
    /// Its standard output.
    pub(crate) results: Value,
    /// Its standard error.
    pub(crate) said: String,
}

/// A client that can be started.
pub(crate) struct Run {
    example: Example,
    command: Command,
    folder: Folder,
    key: String,
}

impl Example {
    /// Sets the key and the address of a server or proxy.
    pub(crate) fn at(self, server: SocketAddr, key: &str) -> Run {
        let folder = Folder::new();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/examples").join(self.file);
        let mut command = Command::new(self.interpreter);
        command
            .arg(script)
            .env("SIGHTLINE_URL", format!("http://{server}/"))
            .env("SIGHTLINE_API_KEY", key)
            // For machines with a proxy for external connections.
            .env("no_proxy", "127.0.0.1");
        Run { example: self, command, folder, key: key.to_owned() }
    }
}

/// Replaces the number in `NAME = 1` or `name=1`.
fn with_constant(text: &str, name: &str, value: u32) -> Option<String> {
    let forms = [format!("const {name} = "), format!("\n{name} = "), format!("\n{}=", name.to_lowercase())];
    let start = forms.iter().find_map(|form| Some(text.find(form)? + form.len()))?;
    let length = text[start..].find(|sign: char| !sign.is_ascii_digit())?;
    Some(format!("{}{value}{}", &text[..start], &text[start + length..]))
}

impl Run {
    /// Sets one of the constants of the client, to avoid long waits.
    pub(crate) fn with(mut self, name: &str, value: u32) -> Self {
        let (script, changed) = (self.script(), self.folder.path(self.example.file));
        let text = fs::read_to_string(script).unwrap();
        let text = with_constant(&text, name, value);
        fs::write(&changed, text.unwrap_or_else(|| panic!("{} has no {name}", self.example.file))).unwrap();
        let mut command = Command::new(self.example.interpreter);
        command.arg(changed);
        for (name, value) in self.command.get_envs() {
            command.env(name, value.unwrap());
        }
        self.command = command;
        self
    }

    fn script(&self) -> PathBuf {
        self.command.get_args().next().unwrap().into()
    }

    /// Runs the client to its end, and checks that its arguments do not show the key.
    pub(crate) fn search(mut self, arguments: &[&str]) -> Ended {
        let [out, err] = ["out", "err"].map(|name| self.folder.path(name));
        let child = self
            .command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap())
            .spawn();
        let mut child = child.unwrap_or_else(|error| {
            panic!("{} is needed: run scripts/test ({error})", self.example.interpreter)
        });
        let status = wait(&mut child, &self.key);
        let said = fs::read_to_string(err).unwrap();
        let file = self.example.file;
        let status = status.unwrap_or_else(|| panic!("{file} does not end:\n{said}"));
        assert!(!said.contains(&self.key), "{file} tells its key: {said}");
        let printed = fs::read_to_string(out).unwrap();
        let parse = |line| with_plain_numbers(&serde_json::from_str(line).unwrap());
        let results = printed.lines().map(parse).collect();
        Ended { file, code: status.code(), results, said }
    }
}

/// Returns `None` after the longest time.
fn wait(child: &mut Child, key: &str) -> Option<ExitStatus> {
    let until = Instant::now() + LONGEST;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        let seen = arguments_with(key);
        if seen.is_some() || Instant::now() > until {
            let _ = child.kill();
            let _ = child.wait();
            assert_eq!(seen, None, "every user of the machine sees the key");
            return None;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the arguments of a process that contain the text.
fn arguments_with(text: &str) -> Option<String> {
    let processes = fs::read_dir("/proc").unwrap().map_while(Result::ok);
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .map(|arguments| String::from_utf8_lossy(&arguments).into_owned())
        .find(|arguments| arguments.contains(text))
}

impl Ended {
    /// Asserts that the client found all results once, in one search that was charged once.
    pub(crate) fn has_everything(&self, server: &Server, key: &str) {
        let get = |path: &str| {
            let answer = server.request("GET", path).key(key).send();
            assert_eq!(answer.status, 200, "{answer}");
            answer.json()
        };
        assert_eq!(self.code, Some(0), "{}:\n{}", self.file, self.said);
        let runs = get("/v1/searches");
        assert_eq!(runs["count"], 1, "{}: {runs}\n{}", self.file, self.said);
        let run = get(&format!("/v1/searches/{}", runs["searches"][0]["run_id"].as_str().unwrap()));
        assert_eq!(run["status"], "completed", "{run}");
        assert!(run["total_results"].as_u64() > Some(50), "{}: little was tried: {run}", self.file);
        assert_eq!(self.results, with_plain_numbers(&run["results"]), "{}:\n{}", self.file, self.said);
        assert_eq!(get("/v1/credits")["credits_used"], 1, "{}:\n{}", self.file, self.said);
    }
}

/// Replaces 1 by 1.0, since some languages do not distinguish them.
pub(crate) fn with_plain_numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(values) => values.iter().map(with_plain_numbers).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), with_plain_numbers(value)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}
