//! `sightline mcp`: the protocol over standard input and output.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use super::meta;
use crate::support::server::BINARY;

/// A running `sightline mcp`. It is killed when this is dropped.
struct Channel {
    child: Child,
    input: Option<ChildStdin>,
    output: std::io::Lines<BufReader<std::process::ChildStdout>>,
    folder: crate::support::folder::Folder,
}

impl Channel {
    fn open(flags: &[&str]) -> Self {
        let folder = crate::support::folder::Folder::new();
        let mut command = Command::new(BINARY);
        // A character with a meaning in addresses of databases.
        std::fs::create_dir(folder.path("a?b")).unwrap();
        command.arg("mcp").args(flags).env("TMPDIR", folder.path("a?b"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { input: child.stdin.take(), child, output, folder }
    }

    fn send(&mut self, text: &str) {
        writeln!(self.input.as_mut().unwrap(), "{text}").unwrap();
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.output.next().unwrap().unwrap()).unwrap()
    }

    fn asked(&mut self, message: &Value) -> Value {
        self.send(&message.to_string());
        self.next()
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

#[test]
fn searches_are_made_read_and_compared_without_a_server() {
    let mut channel = Channel::open(&["--sandbox=perfect"]);
    let opened = channel.asked(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}));
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25", "{opened}");
    channel.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    let search = json!({"type": "username", "query": "octocat", "modules": ["github", "gitlab"]});
    let mut runs = Vec::new();
    for id in [2, 3] {
        let answer = channel.asked(&call(id, "search", &search))["result"]["structuredContent"].clone();
        assert_eq!(answer["run"]["status"], "completed", "{answer}");
        assert_eq!(answer["run"]["sandbox"], true, "{answer}");
        runs.push(answer["run"]["run_id"].clone());
    }
    let diff = channel.asked(&call(4, "diff", &json!({"before": runs[0], "after": runs[1]})));
    assert_eq!(diff["result"]["structuredContent"]["diff"]["added"], json!([]), "{diff}");
    let people = channel.asked(&call(5, "people", &json!({"run_id": runs[0]})));
    assert_eq!(people["result"]["isError"], false, "{people}");
    let credits = channel.asked(&call(6, "get_credits", &json!({})));
    assert_eq!(
        credits["result"]["structuredContent"]["credits"]["credits_remaining"], "unlimited",
        "{credits}"
    );
    // Both revisions are understood on one channel.
    let discovered =
        json!({"jsonrpc": "2.0", "id": "d", "method": "server/discover", "params": {"_meta": meta()}});
    assert_eq!(channel.asked(&discovered)["result"]["supportedVersions"][0], "2026-07-28");
    // The end of the input ends the program, which leaves nothing behind.
    drop(channel.input.take());
    assert!(channel.child.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(channel.folder.path("a?b")).unwrap().count(), 0, "files are left");
}

#[test]
fn lines_that_are_no_messages_are_answered_and_the_channel_stays_open() {
    let mut channel = Channel::open(&["--sandbox=perfect"]);
    for (line, code) in [
        ("{", -32700),
        ("[1]", -32600),
        (&format!("\"{}\"", "x".repeat(100_000)), -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1"}}}"#,
            -32022,
        ),
    ] {
        channel.send(line);
        let answer = channel.next();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    channel.send("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r");
    assert_eq!(channel.next()["result"], json!({}));
    channel.send("");
    channel.send(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    let pong = channel.asked(&json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}));
    assert_eq!(pong, json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
}

#[test]
fn the_end_of_the_input_ends_the_waiting() {
    let mut channel = Channel::open(&["--sandbox=perfect", "--check-timeout=60s"]);
    let search = json!({"type": "username", "query": "silent.smith", "modules": ["gitlab"]});
    let mut message = call(1, "search", &search);
    message["params"]["_meta"] = json!({"progressToken": "p"});
    let started = channel.asked(&message);
    assert_eq!(started["method"], "notifications/progress", "{started}");
    let listed = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"});
    let runs = channel.asked(&listed)["result"]["resources"].clone();
    assert!(runs[0]["description"].as_str().unwrap().starts_with("running"), "{runs}");
    drop(channel.input.take());
    let rest: Vec<String> = channel.output.by_ref().map_while(Result::ok).collect();
    assert_eq!(rest, [""; 0], "the call was answered");
}
