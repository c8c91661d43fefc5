//! The API of webhooks.

use serde_json::{Value, json};

use super::lab::{create, id, key_flag, lab, send, test};
use crate::cli::ran;
use crate::support::databases::{databases, postgres, sqlite};
use crate::support::folder::Folder;
use crate::support::server::Setup;

const NONE: &str = "018f4a7e-5c1d-7b3a-9e2f-0123456789ab";

#[test]
fn a_webhook_is_created_changed_rotated_and_deleted() {
    for database in databases() {
        let server = lab(&database).start();
        let created = create(&server, "https://hooks.example.com/in");
        assert!(created["secret"].as_str().unwrap().starts_with("whsec_"), "{created}");
        let path = format!("/{}", id(&created));
        let read = send(&server, "GET", &path, None).json();
        assert_eq!(read["secret"], Value::Null, "{read}");
        assert_eq!((&read["enabled"], &read["disabled_reason"]), (&json!(true), &Value::Null));
        let list = send(&server, "GET", "", None).json();
        assert_eq!((&list["count"], &list["webhooks"][0]), (&json!(1), &read));
        let change =
            json!({"url": "https://hooks.example.com/out", "events": ["run.failed"], "enabled": false});
        let changed = send(&server, "PATCH", &path, Some(&change)).json();
        assert_eq!(changed["url"], "https://hooks.example.com/out");
        assert_eq!(changed["events"], json!(["run.failed"]));
        assert_eq!(changed["disabled_reason"], "owner");
        send(&server, "POST", &format!("{path}/test"), None).is_error(409, "conflict");
        let same = send(&server, "PATCH", &path, Some(&json!({}))).json();
        assert_eq!(same, changed);
        let rotated = send(&server, "POST", &format!("{path}/rotate"), None).json();
        assert_ne!(rotated["secret"], created["secret"]);
        assert!(rotated["previous_secret_expires_at"].is_string(), "{rotated}");
        assert_eq!(send(&server, "DELETE", &path, None).status, 204);
        send(&server, "GET", &path, None).is_error(404, "not_found");
        let actions = server.cli(&["audit", "--format", "json"]);
        for action in ["created", "changed", "secret_rotated", "deleted"] {
            assert!(actions.contains(&format!("webhook.{action}")), "{action}: {actions}");
        }
        let (log, secrets) = (server.log(), [&created["secret"], &rotated["secret"]]);
        assert!(secrets.iter().all(|secret| !log.contains(secret.as_str().unwrap())));
    }
}

#[test]
fn what_is_not_allowed_is_refused_with_what_is() {
    let server = Setup::new().start();
    let url = "https://hooks.example.com/";
    let events = json!(["run.completed"]);
    for (body, field, allowed) in [
        (json!({"events": events}), "url", "a string"),
        (json!({"url": "http://hooks.example.com/", "events": events}), "url", "an https:// address"),
        (json!({"url": "https://u:p@hooks.example.com/", "events": events}), "url", "an https:// address"),
        (json!({"url": 5, "events": events}), "url", "a string"),
        (json!({"url": url}), "events", "run.completed"),
        (json!({"url": url, "events": []}), "events", "an array"),
        (json!({"url": url, "events": ["run.started"]}), "events", "run.completed"),
        (json!({"url": url, "events": ["run.failed", "webhook.test"]}), "events", "run.completed"),
        (json!({"url": url, "events": [""]}), "events", "run.completed"),
        (json!({"url": url, "events": "run.completed"}), "events", "an array"),
    ] {
        let error = send(&server, "POST", "", Some(&body)).is_error(400, "invalid_request");
        assert_eq!(error["detail"]["field"], field, "{error}");
        assert!(error["detail"]["allowed"].to_string().contains(allowed), "{error}");
    }
    let plain = server.request("POST", "/v1/webhooks").key(&server.key).body(b"{}").send();
    plain.is_error(415, "unsupported_media_type");
    let webhook = create(&server, "https://hooks.example.com/");
    let path = format!("/{}", id(&webhook));
    for body in [json!({"url": "ftp://x"}), json!({"events": []}), json!({"enabled": "yes"}), json!([])] {
        send(&server, "PATCH", &path, Some(&body)).is_error(400, "invalid_request");
    }
    let twice = json!({"events": ["run.failed", "run.completed", "run.failed"]});
    let changed = send(&server, "PATCH", &path, Some(&twice)).json();
    assert_eq!(changed["events"], json!(["run.completed", "run.failed"]));
    for query in ["limit=0", "limit=101", "cursor=x"] {
        send(&server, "GET", &format!("{path}/deliveries?{query}"), None).is_error(400, "invalid_request");
    }
    for below in ["", "/deliveries"] {
        for other in [NONE, "x"] {
            send(&server, "GET", &format!("/{other}{below}"), None).is_error(404, "not_found");
        }
    }
    let replay = format!("{path}/deliveries/{NONE}/replay");
    let error = send(&server, "POST", &replay, None).is_error(404, "not_found");
    assert_eq!(error["message"], "unknown delivery");
}

#[test]
fn an_account_sees_only_its_own_webhooks_and_has_ten_at_most() {
    let server = Setup::new().start();
    let webhook = create(&server, "https://hooks.example.com/");
    let other = server.new_key("pro");
    for (method, below) in
        [("GET", ""), ("DELETE", ""), ("POST", "/rotate"), ("POST", "/test"), ("GET", "/deliveries")]
    {
        let path = format!("/v1/webhooks/{}{below}", id(&webhook));
        server.request(method, &path).key(&other).send().is_error(404, "not_found");
    }
    for _ in 1..10 {
        create(&server, "https://hooks.example.com/");
    }
    let body = json!({"url": "https://hooks.example.com/", "events": ["run.failed"]});
    let error = send(&server, "POST", "", Some(&body)).is_error(409, "conflict");
    assert!(error["message"].as_str().unwrap().contains("at most 10 webhooks"), "{error}");
}

#[test]
fn with_postgresql_webhooks_need_a_key_file() {
    let database = postgres();
    let server = Setup::new().database(&database.url).start();
    let body = json!({"url": "https://hooks.example.com/", "events": ["run.failed"]});
    let error = send(&server, "POST", "", Some(&body)).is_error(503, "webhooks_unavailable");
    assert!(error["message"].as_str().unwrap().contains("--secret-key-file"), "{error}");
    assert_eq!(send(&server, "GET", "", None).json()["count"], 0);
}

#[test]
fn a_wrong_key_is_noticed_at_the_start() {
    let (folder, database) = (Folder::new(), sqlite());
    let mut server = lab(&database).start();
    create(&server, "http://127.0.0.1:1/");
    server.terminate();
    for text in [&b""[..], b"c2hvcnQ=", &[0xff; 32], b"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=MDEy"] {
        let path = folder.path("key");
        std::fs::write(&path, text).unwrap();
        let args = ["serve", "--listen=127.0.0.1:0", "--database", &database.url, "--secret-key-file", &path];
        let refused =
            ran(&args, &[]).code_is(2).err_has(&format!("the key of webhooks in {path}: 32 random bytes"));
        assert_eq!(refused.out, "");
    }
    let other = folder.file("other", "AAEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n");
    let wrong = format!("the key of webhooks in {other} does not decrypt the secrets of 1 of 1 webhooks");
    let start =
        |path: &str| Setup::new().database(&database.url).flag(&format!("--secret-key-file={path}")).start();
    assert!(start(&other).log().contains(&wrong));
    assert!(
        !Setup::new().database(&database.url).flag(&key_flag()).start().log().contains("does not decrypt")
    );
}

#[test]
fn with_sqlite_the_key_is_created_beside_the_database_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let database = sqlite();
    let site = crate::support::site::Site::saying("HTTP/1.1 204 No Content\r\n\r\n");
    let file = database.path().with_extension("db.key");
    // What an interrupted start may leave without hard links. A start without any file is the usual case.
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "").unwrap();
    let mut server = Setup::new().database(&database.url).flag("--allow-private-targets").start();
    let webhook = create(&server, &site.url("/"));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let key = std::fs::read_to_string(&file).unwrap();
    assert!(server.terminate().success());
    // The next process uses the same key, so that it can sign.
    let server = server.restart(&["--allow-private-targets"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), key);
    let delivery = test(&server, &webhook);
    let delivery = super::lab::attempted(&server, &webhook, &delivery);
    assert_eq!(delivery["status"], "delivered", "{delivery}");
    assert!(!server.log().contains(key.trim()));
}
