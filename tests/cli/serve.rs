//! `serve`, from its first start to its end.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::{Folder, ran, sightline};
use crate::support::process::signal;

/// A running `serve`. It is killed when this is dropped.
struct Serving {
    child: Child,
    out: BufReader<ChildStdout>,
    address: SocketAddr,
}

fn spawn(database: &str, listen: &str) -> (Child, BufReader<ChildStdout>, String) {
    spawn_with(database, &["--listen", listen])
}

fn spawn_with(database: &str, flags: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let args = [&["serve", "--database", database, "--sandbox=perfect"], flags].concat();
    spawned(sightline(&args, &[]))
}

/// Returns the first line as well, when it arrives or the server ends.
fn spawned(mut command: Command) -> (Child, BufReader<ChildStdout>, String) {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    (child, out, first)
}

impl Serving {
    fn start(database: &str) -> Self {
        let (child, out, first) = spawn(database, "127.0.0.1:0");
        let address = first.strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix('\n'));
        let address = address.and_then(|address| address.parse().ok());
        let mut serving = Self { child, out, address: SocketAddr::from(([0, 0, 0, 0], 0)) };
        serving.address = address.unwrap_or_else(|| panic!("the first line is {first:?}"));
        serving
    }

    /// Returns the next line on standard output that contains `text`.
    fn line_with(&mut self, text: &str) -> String {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "no {text:?} in {seen:?}");
            if line.contains(text) {
                return line.trim().to_owned();
            }
            seen.push_str(&line);
        }
    }

    /// Stops the server as an operator would. Returns its exit code and the rest of standard output.
    fn stop(mut self) -> (Option<i32>, String) {
        signal(self.child.id(), "TERM");
        let mut rest = String::new();
        self.out.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server that must fail. Returns its exit code and standard error.
fn refused(database: &str, listen: &str) -> (Option<i32>, String) {
    ended(spawn(database, listen))
}

fn ended((mut child, out, first): (Child, BufReader<ChildStdout>, String)) -> (Option<i32>, String) {
    if !first.is_empty() {
        let _ = child.kill();
        panic!("it came up: {first:?}");
    }
    drop(out);
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn accounts(database: &str) -> Value {
    let list = ran(&["account", "list", "--format", "json", "--database", database], &[]).code_is(0);
    serde_json::from_str(&list.out).unwrap()
}

#[test]
fn the_first_start_shows_a_key_once_with_a_line_that_works() {
    let folder = Folder::new();
    let database = folder.database();
    let mut first = Serving::start(&database);
    assert!(first.address.port() != 0 && first.address.ip().is_loopback());
    let curl = first.line_with("curl ");
    assert!(curl.contains(&format!("http://{}/v1/searches", first.address)), "{curl}");
    let pasted = Command::new("sh").args(["-c", &curl]).output().unwrap();
    let shown = String::from_utf8(pasted.stdout).unwrap();
    assert!(pasted.status.success() && shown.starts_with("event: run\n"), "{shown}");
    let last = shown.trim_end().rsplit("\n\n").next().unwrap();
    assert!(last.starts_with("event: done\n") && last.contains(r#""status":"completed""#), "{last}");
    assert_eq!(first.stop().0, Some(0), "SIGTERM is a clean end");

    let (code, rest) = Serving::start(&database).stop();
    assert_eq!((code, rest.as_str()), (Some(0), ""), "a restart shows no key");
    let accounts = accounts(&database);
    assert_eq!(accounts.as_array().map(Vec::len), Some(1), "{accounts}");
    assert_eq!(accounts[0]["plan"], "unlimited");
    assert_eq!(ran(&["key", "list", "--database", &database], &[]).code_is(0).out.lines().count(), 2);
}

#[test]
fn a_port_in_use_is_an_error_and_creates_no_first_key() {
    let folder = Folder::new();
    let database = folder.database();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, err) = refused(&database, &address);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains(&format!("error: cannot listen on {address}: ")), "{err}");
    assert!(err.contains("such as --listen 127.0.0.1:") && err.contains("or --listen 127.0.0.1:0 "), "{err}");
    assert!(
        !std::path::Path::new(database.trim_start_matches("sqlite:")).exists(),
        "it leaves nothing behind"
    );
    Serving::start(&database).line_with("sl_live_");
}

/// Starts the server as a user of its own, since the limit counts all processes of a user and does not apply
/// to root.
fn serve_with_threads(most: u32, folder: &Folder) -> (Child, BufReader<ChildStdout>, String) {
    let mut command = Command::new("prlimit");
    command.arg(format!("--nproc={most}"));
    command
        .args(["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"])
        .arg(env!("CARGO_BIN_EXE_sightline"));
    command.args(["serve", "--listen=127.0.0.1:0", "--sandbox=perfect", "--database", &folder.database()]);
    spawned(command)
}

#[test]
fn few_threads_make_fewer_workers_and_too_few_are_an_error() {
    use std::os::unix::fs::PermissionsExt;

    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !is_root {
        return crate::support::tier::left_out("only root can run a program as a user without processes");
    }
    let folder = Folder::new();
    std::fs::set_permissions(folder.path(""), std::fs::Permissions::from_mode(0o777)).unwrap();
    let (code, err) = ended(serve_with_threads(60, &folder));
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("more threads can be started, and at least") && err.contains("ulimit -u"), "{err}");
    assert!(!err.contains("panicked"), "{err}");

    let (mut child, mut out, first) = serve_with_threads(330, &folder);
    assert!(first.starts_with("listening on http://"), "{first}");
    let mut curl = String::new();
    while !curl.contains("curl ") {
        curl.clear();
        assert!(out.read_line(&mut curl).unwrap() > 0);
    }
    let pasted = Command::new("sh").args(["-c", &curl]).output().unwrap();
    let shown = String::from_utf8(pasted.stdout).unwrap();
    assert!(shown.contains(r#""status":"completed""#), "{shown}");
    signal(child.id(), "TERM");
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{log}");
    assert!(log.contains("of 512 check workers can be started") && !log.contains("panicked"), "{log}");
}
