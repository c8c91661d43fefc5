//! `account` and `key` on a database of their own.

use serde_json::Value;
use sightline::account::key::ApiKey;

use super::{Folder, Ran, ran, sightline};

struct Desk {
    folder: Folder,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { folder: Folder::new() };
        desk.ran(&["migrate"]).code_is(0);
        desk
    }

    fn ran(&self, args: &[&str]) -> Ran {
        // The database is given by its variable, to test this way too.
        ran(args, &[("SIGHTLINE_DATABASE", &self.folder.database())])
    }

    fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--format", "json"]).collect();
        serde_json::from_str(&self.ran(&args).code_is(0).out).unwrap()
    }
}

#[test]
fn an_account_is_created_listed_and_moved_to_another_plan() {
    let desk = Desk::new();
    let created = desk.ran(&["account", "create", "--email", "Me@Example.org", "--plan", "free"]).code_is(0);
    assert!(created.out.starts_with("created me@example.org on plan free ("), "{}", created.out);
    assert!(created.out.contains("\nhttp://127.0.0.1:8080/app/set-up/"), "{}", created.out);
    desk.ran(&["account", "set-plan", "--email", "ME@example.org", "--plan", "pro"]).code_is(0);
    desk.ran(&["account", "create", "--email", "b@example.org", "--plan", "unlimited"]).code_is(0);

    let list = desk.json(&["account", "list"]);
    let shown: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|account| (account["email"].as_str().unwrap(), account["plan"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, [("me@example.org", "pro"), ("b@example.org", "unlimited")]);
    let args = ["account", "set-role", "--email", "b@example.org", "--role", "operator"];
    assert_eq!(desk.ran(&args).code_is(0).out, "b@example.org is now operator\n");
    assert_eq!(desk.json(&["account", "list"])[1]["role"], "operator");
    let args = ["account", "link", "--email", "b@example.org", "--base-url", "https://s.example/x"];
    assert!(desk.ran(&args).code_is(0).out.contains("\nhttps://s.example/x/app/set-up/"));
    let table = desk.ran(&["account", "list"]).code_is(0).out;
    assert!(table.starts_with("EMAIL           PLAN       ROLE      CREATED"), "{table}");
    assert_eq!(table.lines().count(), 3);
}

#[test]
fn errors_about_accounts_name_the_cause() {
    let desk = Desk::new();
    desk.ran(&["account", "create", "--email", "a@example.org", "--plan", "pro"]).code_is(0);
    for (args, code, want) in [
        (
            vec!["account", "create", "--email", "A@example.org", "--plan", "pro"],
            3,
            "an account with this email address exists",
        ),
        (
            vec!["account", "create", "--email", "nobody", "--plan", "pro"],
            2,
            "LOCAL@DOMAIN of at most 254 bytes is allowed",
        ),
        (
            vec!["account", "create", "--email", "c@example.org", "--plan", "gold"],
            2,
            "free, basic, pro, unlimited are allowed",
        ),
        (vec!["account", "set-plan", "--email", "a@example.org", "--plan", "gold"], 2, "are allowed"),
        (vec!["account", "set-plan", "--email", "x@example.org", "--plan", "pro"], 3, "no such account"),
        (vec!["account", "link", "--email", "x@example.org"], 3, "no such account"),
        (vec!["account", "set-role", "--email", "a@example.org", "--role", "king"], 2, "operator"),
        (vec!["key", "create", "--account", "x@example.org"], 3, "no such account"),
        (vec!["key", "create", "--account", "a@example.org", "--label", "a\nb"], 2, "at most 100 characters"),
        (vec!["key", "revoke", "01980000-0000-7000-8000-000000000000"], 3, "no such key"),
    ] {
        let refused = desk.ran(&args).code_is(code).err_has(want);
        assert_eq!(refused.out, "", "{args:?}");
    }
    let own = ["account", "create", "--email", "d@example.org", "--plan", "gold", "--plans", "gold=9:api"];
    desk.ran(&own).code_is(0);
}

#[test]
fn a_key_is_shown_once_alone_on_standard_output() {
    let desk = Desk::new();
    desk.ran(&["account", "create", "--email", "a@example.org", "--plan", "pro"]).code_is(0);
    let created = desk.ran(&["key", "create", "--account", "a@example.org", "--label", "lab"]).code_is(0);
    let key = created.out.strip_suffix('\n').unwrap().to_owned();
    assert!(ApiKey::parse(&key).is_ok(), "{key}");
    assert!(!created.err.contains(&key), "{}", created.err);

    let list = desk.json(&["key", "list"]);
    let id = list[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(list[0]["label"].as_str(), Some("lab"));
    assert_eq!(list[0]["account"].as_str(), Some("a@example.org"));
    assert_eq!(list[0]["last_four"].as_str().unwrap(), &key[key.len() - 4..]);
    assert_eq!(list[0]["revoked_at"], Value::Null);
    desk.ran(&["key", "list"]).code_is(0).never_prints(&key);

    desk.ran(&["key", "revoke", &id]).code_is(0);
    assert!(desk.json(&["key", "list", "--account", "a@example.org"])[0]["revoked_at"].is_string());
}

#[test]
fn a_database_that_cannot_be_opened_is_a_failure_without_its_password() {
    let folder = Folder::new();
    let no_folder = format!("sqlite:{}/file/x.db", folder.file("file", "").trim_end_matches("/file"));
    ran(&["account", "list", "--database", &no_folder], &[]).code_is(3).err_has("error: ");
    // Port 1 on loopback refuses connections at once.
    let nowhere = "postgres://someone:hunter2@127.0.0.1:1/x?connect_timeout=1";
    ran(&["account", "list", "--database", nowhere], &[]).code_is(3).never_prints("hunter2");
}

#[test]
fn a_closed_output_does_not_panic() {
    let desk = Desk::new();
    desk.ran(&["account", "create", "--email", "a@example.org", "--plan", "pro"]).code_is(0);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = super::sightline(&["account", "list", "--database", &desk.folder.database()], &[])
        .stdout(writer)
        .output()
        .unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn a_command_that_fails_creates_no_database() {
    let folder = Folder::new();
    let database = folder.database();
    let create = ["account", "create", "--email", "a@example.org", "--plan"];
    for args in [
        [&create[..], &["basic"]].concat(),
        vec!["account", "list"],
        vec!["account", "set-plan", "--email", "a@example.org", "--plan", "pro"],
        vec!["key", "create", "--account", "a@example.org"],
        vec!["key", "list"],
    ] {
        let args = [args, vec!["--database", &database]].concat();
        let place = folder.path("test.db");
        ran(&args, &[])
            .code_is(3)
            .err_has(&format!("no database at {place}: "))
            .err_has("SIGHTLINE_DATABASE");
    }
    ran(&[&create[..], &["baisc"]].concat(), &[]).code_is(2).err_has("did you mean \"basic\"?");
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
    // By default, the database is below the current folder.
    let mut command = sightline(&[&create[..], &["basic"]].concat(), &[]);
    let refused = command.current_dir(folder.path("")).output().unwrap();
    let place = format!("no database at {}: ", folder.path("data/sightline.db"));
    assert!(String::from_utf8_lossy(&refused.stderr).contains(&place), "{refused:?}");
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
}
