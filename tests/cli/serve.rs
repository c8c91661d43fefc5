//! `serve`, from its first start to its end.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::{Folder, ran, sightline};

/// A running `serve`; killed when dropped.
struct Serving {
    child: Child,
    out: BufReader<ChildStdout>,
    address: SocketAddr,
}

fn spawn(database: &str, listen: &str) -> (Child, BufReader<ChildStdout>, String) {
    let args = ["serve", "--listen", listen, "--database", database, "--sandbox=perfect"];
    let mut command = sightline(&args, &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    // Ends when the line comes or the server goes.
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

    /// The next line on standard output that holds `text`.
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

    /// Stops it as an operator would; gives its exit code and the rest of standard output.
    fn stop(mut self) -> (Option<i32>, String) {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
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

/// A server that must not come up: its exit code and standard error.
fn refused(database: &str, listen: &str) -> (Option<i32>, String) {
    let (mut child, out, first) = spawn(database, listen);
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
fn a_second_server_on_the_same_file_is_refused_and_the_first_goes_on() {
    let folder = Folder::new();
    let database = folder.database();
    let first = Serving::start(&database);
    let (code, err) = refused(&database, "127.0.0.1:0");
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains("error: ") && err.contains("is in use by another server"), "{err}");
    assert!(err.contains(&first.child.id().to_string()), "which one: {err}");
    // The commands work beside it.
    assert_eq!(accounts(&database).as_array().map(Vec::len), Some(1));
    assert_eq!(first.stop().0, Some(0));
    Serving::start(&database).stop();
}

#[test]
fn a_port_that_is_taken_is_said_and_uses_up_no_first_key() {
    let folder = Folder::new();
    let database = folder.database();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, err) = refused(&database, &address);
    assert_eq!(code, Some(3), "{err}");
    assert!(err.contains(&format!("error: can't listen on {address}: ")), "{err}");
    assert!(
        !std::path::Path::new(database.trim_start_matches("sqlite:")).exists(),
        "it leaves nothing behind"
    );
    Serving::start(&database).line_with("sl_live_");
}
