//! Both revisions over HTTP: sessions, stateless requests, errors, headers, limits.

use serde_json::{Value, json};

use super::{in_session, result_of, stateless};
use crate::support::server::Setup;

#[test]
fn a_session_of_2025_11_25_works() {
    let server = Setup::new().start();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let opened = in_session(&server, &initialize).send();
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let result = opened.json()["result"].clone();
    assert_eq!(result["protocolVersion"], "2025-11-25");
    assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(result["capabilities"], json!({"tools": {}, "resources": {}}));
    assert!(result["instructions"].as_str().unwrap().contains("untrusted"), "{result}");
    let send = |message: Value| {
        let request = in_session(&server, &message).header("Mcp-Session-Id", &session);
        request.header("MCP-Protocol-Version", "2025-11-25").send()
    };
    let ready = send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((ready.status, ready.body.len()), (202, 0), "{ready}");
    assert_eq!(send(json!({"jsonrpc": "2.0", "id": "a", "method": "ping"})).json()["result"], json!({}));
    let search = send(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "search", "arguments": {"type": "username", "query": "octocat"},
        "_meta": {"progressToken": "p"}}}));
    assert_eq!(search.header("content-type"), Some("text/event-stream"));
    assert_eq!(search.header("x-accel-buffering"), Some("no"));
    let answer = result_of(&search);
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(2), &json!(false)), "{answer}");
    assert!(answer["result"].get("resultType").is_none(), "{answer}");
    // An unknown method is an answer, and an unknown revision is refused.
    let unknown = send(json!({"jsonrpc": "2.0", "id": 3, "method": "server/discover"}));
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (200, &json!(-32601)));
    let other = in_session(&server, &json!({"jsonrpc": "2.0", "id": 4, "method": "ping"}));
    let other = other.header("MCP-Protocol-Version", "1999-01-01").send();
    assert_eq!((other.status, &other.json()["error"]["code"]), (400, &json!(-32022)), "{other}");
    let older = json!({"jsonrpc": "2.0", "id": 5, "method": "initialize", "params": {"protocolVersion": "2024-11-05"}});
    assert_eq!(in_session(&server, &older).send().json()["result"]["protocolVersion"], "2025-11-25");
}

#[test]
fn stateless_requests_of_2026_07_28_work() {
    let server = Setup::new().start();
    let discovered = stateless(&server, "server/discover", json!({})).send().json()["result"].clone();
    assert_eq!(discovered["supportedVersions"], json!(["2026-07-28", "2025-11-25", "2025-06-18"]));
    assert_eq!(discovered["resultType"], "complete");
    assert_eq!(discovered["cacheScope"], "public");
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "sightline");
    let search =
        json!({"name": "search", "arguments": {"type": "username", "query": "octocat", "wait": false}});
    let started = stateless(&server, "tools/call", search).send();
    assert_eq!(started.header("mcp-session-id"), None, "{started}");
    let run = started.json()["result"]["structuredContent"]["run"]["run_id"].as_str().unwrap().to_owned();
    server.finished(&run);
    let uri = format!("sightline://runs/{run}");
    let listed = stateless(&server, "resources/list", json!({})).send().json()["result"].clone();
    assert_eq!((&listed["resources"][0]["uri"], &listed["cacheScope"]), (&json!(uri), &json!("private")));
    let read = stateless(&server, "resources/read", json!({"uri": uri})).send().json()["result"].clone();
    let text: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["run"]["run_id"], run.as_str());
    assert!(text["coverage"]["statement"].is_string() && read["ttlMs"] == 0, "{read}");
    for (method, params) in [("initialize", json!({})), ("ping", json!({})), ("prompts/list", json!({}))] {
        let gone = stateless(&server, method, params).send();
        assert_eq!((gone.status, &gone.json()["error"]["code"]), (404, &json!(-32601)), "{gone}");
        assert_eq!(gone.json()["id"], 7);
    }
    let other_account = server.new_key("pro");
    let mut request = stateless(&server, "resources/read", json!({"uri": uri}));
    request = request.header("X-API-Key", &other_account);
    request.send().is_error(401, "invalid_api_key");
}

#[test]
fn what_is_not_a_request_is_refused() {
    let server = Setup::new().start();
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}{}}}"#,
        "[".repeat(99),
        "]".repeat(99)
    );
    // The id is repeated if it is valid.
    for (body, status, code, id) in [
        ("", 400, -32700, None),
        ("{", 400, -32700, None),
        ("[]", 400, -32600, None),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600, None),
        (&deep, 400, -32600, None),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, 400, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, 400, -32600, None),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, 400, -32600, None),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, 400, -32600, Some(1)),
        (r#"{"jsonrpc":"2.0","id":1}"#, 400, -32600, Some(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, 400, -32600, Some(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, 400, -32600, Some(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#, 200, -32602, Some(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#, 200, -32602, Some(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":[]}}"#,
            200,
            -32602,
            Some(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"sightline://runs/x"}}"#,
            200,
            -32602,
            Some(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}"#, 200, -32602, Some(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"x"}}"#,
            200,
            -32602,
            Some(1),
        ),
    ] {
        let request = server.request("POST", "/mcp").key(&server.key);
        let answer = request.header("Content-Type", "application/json").body(body.as_bytes()).send();
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)), "{answer}");
        assert_eq!(answer.json().get("id"), id.map(Value::from).as_ref(), "{answer}");
    }
    let response = in_session(&server, &json!({"jsonrpc": "2.0", "id": 1, "result": {}})).send();
    assert_eq!((response.status, response.body.len()), (202, 0), "{response}");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    server.request("POST", "/mcp").json(&ping).send().is_error(401, "invalid_api_key");
    let text = server.request("POST", "/mcp").key(&server.key).header("Content-Type", "text/plain");
    text.body(b"{}").send().is_error(415, "unsupported_media_type");
    for method in ["GET", "DELETE"] {
        server.request(method, "/mcp").key(&server.key).send().is_error(405, "method_not_allowed");
    }
}

#[test]
fn pages_of_other_origins_may_not_call() {
    let server = Setup::new().flag("--cors-origin=https://app.example.org").start();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for (origin, status) in [
        ("https://app.example.org", 200),
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:8080", 200),
        ("http://evil.example.com", 403),
        ("http://127.0.0.1.evil.example.com", 403),
        ("null", 403),
    ] {
        let answer = in_session(&server, &ping).header("Origin", origin).send();
        assert_eq!(answer.status, status, "{origin}: {answer}");
    }
    let public = Setup::new().flag("--base-url=https://search.example.org/x").start();
    for (origin, status) in [("https://search.example.org", 200), ("http://localhost:3000", 403)] {
        let answer = in_session(&public, &ping).header("Origin", origin).send();
        assert_eq!(answer.status, status, "{origin}: {answer}");
    }
}

#[test]
fn limits_credits_and_plans_hold() {
    let server = Setup::new().flag("--rate-limits=search=2").flag("--rate-limits=read=4").start();
    let search = json!({"name": "search", "arguments": {"type": "username", "query": "octocat"}});
    for left in ["1", "0"] {
        let answer = stateless(&server, "tools/call", search.clone()).send();
        assert_eq!(answer.header("x-ratelimit-remaining"), Some(left), "{answer}");
    }
    stateless(&server, "tools/call", search.clone()).send().is_error(429, "rate_limited");
    for left in ["3", "2", "1", "0"] {
        let answer = stateless(&server, "tools/call", json!({"name": "get_credits"})).send();
        assert_eq!(answer.header("x-ratelimit-remaining"), Some(left), "{answer}");
    }
    stateless(&server, "tools/list", json!({})).send().is_error(429, "rate_limited");
    let mut poor = Setup::new().flag("--plans=tiny=1:api,unlimited=unlimited:api").start();
    poor.key = poor.new_key("tiny");
    let first = result_of(&stateless(&poor, "tools/call", search.clone()).send());
    assert_eq!(first["result"]["isError"], false, "{first}");
    let second = result_of(&stateless(&poor, "tools/call", search).send());
    assert_eq!(second["result"]["isError"], true, "{second}");
    let said = second["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("insufficient_credits") && said.contains("period_end"), "{said}");
    assert!(second["result"].get("structuredContent").is_none(), "{second}");
}
