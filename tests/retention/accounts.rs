//! `account export`, `account delete`, `audit`.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::{audit, on_both};
use crate::cli::ran;
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::server::Server;

const EMAIL: &str = "person@example.org";

/// Creates an account with this address, which makes all further requests.
fn act_as(server: &mut Server, email: &str) {
    server.cli(&["account", "create", "--email", email, "--plan", "unlimited"]);
    server.key = server.cli(&["key", "create", "--account", email, "--label", "a-label"]).trim().to_owned();
}

fn search(server: &Server, query: &str) -> String {
    let body = json!({"type": "username", "query": query});
    let answer = server
        .request("POST", "/v1/searches")
        .key(&server.key)
        .header("X-Request-Id", "request-1")
        .header("Idempotency-Key", query)
        .json(&body)
        .send();
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()["run_id"].as_str().unwrap().to_owned()
}

#[test]
fn an_export_is_private_and_contains_everything_except_secrets() {
    on_both(&[], |server, _| {
        act_as(server, "other@example.org");
        search(server, "somebody-else");
        act_as(server, EMAIL);
        let (key, run) = (server.key.clone(), search(server, "everybody"));
        let seen = server.finished(&run);

        let folder = Folder::new();
        let file = folder.path("me.json");
        let said = server.cli(&["account", "export", "--email", EMAIL, "--output", &file]);
        assert_eq!(said, format!("exported {EMAIL} to {file}\n"));
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(&file).unwrap();
        let export: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(export["account"]["email"], json!(EMAIL));
        assert_eq!(export["account"]["plan"], "unlimited");
        assert_eq!(export["keys"][0]["label"], "a-label");
        assert_eq!(export["keys"][0]["last_four"], json!(key[key.len() - 4..]));
        assert!(!text.contains(&key) && !text.contains("somebody-else"), "{text}");
        assert_eq!(export["ledger"][0]["run_id"], json!(run));
        assert_eq!(export["ledger"][0]["kind"], "charge");
        assert_eq!(export["cycles"][0]["credits_used"], 1);
        assert_eq!(export["idempotency_keys"][0]["key"], "everybody");
        let runs = export["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 1);
        for field in ["run_id", "query", "status", "results", "total_results", "coverage", "completed_at"] {
            assert_eq!(runs[0][field], seen[field], "{field}");
        }
        assert!(!runs[0]["results"].as_array().unwrap().is_empty());
        assert_eq!(
            runs[0]["modules"].as_array().unwrap().len() as u64,
            seen["progress"]["modules_total"].as_u64().unwrap()
        );
        let actions: Vec<&str> = export["audit"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["action"].as_str().unwrap())
            .collect();
        assert_eq!(
            actions,
            ["account.created", "account.link_made", "key.created", "run.started", "account.exported"]
        );
        assert_eq!(export["sessions"], json!([]));
        let printed = server.cli(&["account", "export", "--email", "Person@Example.org"]);
        let printed: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(printed["runs"], export["runs"]);
        let nowhere = folder.path("no/such/folder.json");
        let args =
            ["account", "export", "--email", EMAIL, "--output", &nowhere, "--database", &server.database];
        ran(&args, &[]).code_is(3).err_has("cannot write ");
        let args = ["account", "export", "--email", "nobody@example.org", "--database", &server.database];
        ran(&args, &[]).code_is(3).err_has("no such account");
    });
}

#[test]
fn a_deleted_account_is_gone_at_once_in_a_running_server_too() {
    on_both(&["--max-runs=1"], |server, database| {
        act_as(server, EMAIL);
        server.finished(&search(server, "everybody"));
        let id = audit(server, &["--account", EMAIL])[0]["account"].as_str().unwrap().to_owned();
        let args = ["account", "delete", "--email", EMAIL, "--database", &server.database];
        ran(&args, &[]).code_is(2).err_has("confirm with --yes");
        assert_eq!(server.get("/v1/me").status, 200);

        let said = server.cli(&["account", "delete", "--email", EMAIL, "--yes"]);
        assert!(said.starts_with(&format!("deleted {EMAIL} ({id}) with 1 keys and 1 searches")), "{said}");
        eventually("the key is refused", || server.get("/v1/me").status == 401);
        server.post(&json!({"type": "username", "query": "x"})).is_error(401, "invalid_api_key");
        ran(&args, &[]).code_is(3).err_has("no such account");
        assert!(!server.cli(&["account", "list"]).contains(EMAIL));
        assert_eq!(database.number("SELECT count(*) FROM runs"), 0);
        assert_eq!(database.number("SELECT count(*) FROM charges"), 1);

        // The audit still has the entries under the account's id, without personal data.
        let entries = audit(server, &["--account", &id]);
        let actions: Vec<&str> = entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        assert_eq!(
            actions,
            ["account.created", "account.link_made", "key.created", "run.started", "account.deleted"]
        );
        assert_eq!((&entries[3]["actor"], &entries[3]["request_id"]), (&json!("key"), &json!("request-1")));
        assert_eq!(entries[4]["actor"], "cli");
        assert_eq!(entries[4]["detail"], json!({"keys": 1, "runs": 1}));
        assert!(!format!("{entries:?}").contains("person") && !format!("{entries:?}").contains("everybody"));
    });
}

#[test]
fn a_deletion_that_was_interrupted_is_finished_by_the_next_server() {
    for database in crate::support::databases::databases() {
        let setup = || crate::support::server::Setup::new().database(&database.url);
        let mut server = setup().start();
        act_as(&mut server, EMAIL);
        server.finished(&search(&server, "everybody"));
        let key = server.key.clone();
        drop(server);
        // The state that a command leaves if it is killed after its first step.
        database.execute("DELETE FROM idempotency_keys");
        database.execute(&format!("UPDATE accounts SET plan = '(being deleted)' WHERE email = '{EMAIL}'"));
        for command in ["create", "set-plan", "export"] {
            let plan: &[&str] = if command == "export" { &[] } else { &["--plan", "pro"] };
            let args = [&["account", command, "--email", EMAIL, "--database", &database.url], plan].concat();
            let why = if command == "create" { "exists" } else { "is being deleted" };
            ran(&args, &[]).code_is(3).err_has(why);
        }
        let mut server = setup().start();
        server.key = key;
        eventually("it is gone", || !server.cli(&["account", "list"]).contains(EMAIL));
        assert_eq!(database.number("SELECT count(*) FROM runs"), 0);
        assert_eq!(server.get("/v1/me").status, 401);
    }
}

#[test]
fn live_runs_of_a_deleted_account_stop() {
    for database in crate::support::databases::databases() {
        let mut server = crate::support::server::Setup::new()
            .database(&database.url)
            .realistic()
            .flag("--check-workers=4")
            .flag("--run-timeout=10m")
            .start();
        act_as(&mut server, EMAIL);
        let run = search(&server, "silent");
        let mut stream = server.stream(&format!("/v1/searches/{run}/stream"));
        assert_eq!(stream.next().unwrap().event, "run");
        server.cli(&["account", "delete", "--email", EMAIL, "--yes"]);
        // The reader is told that the run was deleted, and no more data arrives.
        let last = stream.all().pop().unwrap();
        assert_ne!(last.event, "done", "{last:?}");
        eventually("its driver has stopped", || server.figure("sightline_runs_driven") == 0.0);
        assert_eq!(database.number("SELECT count(*) FROM runs"), 0);
        assert_eq!(database.number("SELECT count(*) FROM results"), 0);
        assert!(!server.log().contains("person@"), "{}", server.log());
    }
}

#[test]
fn the_audit_is_shown_as_text_and_since_a_time() {
    on_both(&[], |server, _| {
        act_as(server, EMAIL);
        let (key, run) = (server.key.clone(), search(server, "nobody"));
        server.finished(&run);
        assert_eq!(server.delete(&format!("/v1/searches/{run}")).status, 204);
        server.cli(&["account", "set-plan", "--email", EMAIL, "--plan", "pro"]);
        let keys: Value =
            serde_json::from_str(&server.cli(&["key", "list", "--account", EMAIL, "--format", "json"]))
                .unwrap();
        server.cli(&["key", "revoke", keys[0]["id"].as_str().unwrap()]);

        let text = server.cli(&["audit", "--account", EMAIL]);
        let lines: Vec<&str> = text.lines().collect();
        let actions: Vec<&str> = lines.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
        let all = "account.created account.link_made key.created run.started run.deleted account.plan_changed \
                   key.revoked";
        assert_eq!(actions.join(" "), all);
        assert!(lines[3].contains(" by key:") && lines[3].contains(" request=request-1 "), "{}", lines[3]);
        assert!(lines[3].ends_with(" type=username credits=1"), "{}", lines[3]);
        assert!(lines[5].ends_with(" from=unlimited to=pro"), "{}", lines[5]);
        assert!(!text.contains("nobody") && !text.contains(&key) && !text.contains(EMAIL));

        let since = lines[5].split(' ').next().unwrap();
        assert_eq!(audit(server, &["--account", EMAIL, "--since", since]).len(), 2);
        assert_eq!(audit(server, &["--since", "2100-01-01"]), Vec::<Value>::new());
        let args = ["audit", "--since", "yesterday", "--database", &server.database];
        ran(&args, &[]).code_is(2).err_has("for --since <TIME>: expected a time or a day (UTC)");
        let args = ["audit", "--account", "nobody@example.org", "--database", &server.database];
        ran(&args, &[]).code_is(3).err_has("no such account");
    });
}
