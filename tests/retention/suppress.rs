//! `--suppress`: what is on the list is never searched.

use std::fs::File;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::json;

use crate::cli::{ran, sightline};
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::server::{Server, Setup};

const KEY: &str = "a-key-of-the-operator";

/// Returns lines of a list, made by the command.
fn hashed(kind: &str, identifiers: &str) -> String {
    let output = hash(kind, identifiers);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn hash(kind: &str, identifiers: &str) -> std::process::Output {
    let mut child = sightline(&["suppress", "hash", kind], &[("SIGHTLINE_SUPPRESS_KEY", KEY)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(identifiers.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn list() -> String {
    [
        "# asked for by mail\n".to_owned(),
        hashed("email", "# a comment\n\nJane.Doe@Bücher.de\n"),
        hashed("username", "@Jane_Doe\n"),
        hashed("domain", "https://www.jane-doe.org/about\n"),
    ]
    .concat()
}

fn serving(file: &str) -> Setup {
    Setup::new().flag(&format!("--suppress={file}")).flag(&format!("--suppress-key={KEY}"))
}

/// Starts a server that suppresses this identifier. Returns it with the folder of its list.
pub(crate) fn suppressing(kind: &str, identifier: &str) -> (Server, Folder) {
    let folder = Folder::new();
    let file = folder.path("suppressed.txt");
    std::fs::write(&file, hashed(kind, identifier)).unwrap();
    (serving(&file).start(), folder)
}

fn ask(server: &Server, key: &str, kind: &str, query: &str, premium: bool) -> crate::support::server::Answer {
    let body = json!({"type": kind, "query": query, "premium": premium, "wait": true});
    server.request("POST", "/v1/searches").key(key).json(&body).send()
}

#[test]
fn no_spelling_of_a_suppressed_identifier_is_searched_or_charged() {
    let folder = Folder::new();
    let file = folder.path("suppressed.txt");
    std::fs::write(&file, list()).unwrap();
    for shown in ["jane", "doe", "cher", KEY] {
        assert!(!list().to_lowercase().contains(shown), "{shown}");
    }
    let server = serving(&file).flag("--plans=pro=1:api,unlimited=unlimited:api:premium").start();
    let pro = server.new_key("pro");
    for (kind, query) in [
        ("email", "jane.doe@bücher.de"),
        ("email", " JANE.DOE@XN--BCHER-KVA.DE. "),
        ("username", "jane_doe"),
        ("username", " @JANE_doe"),
        ("username", "ｊａｎｅ_doe"),
        ("domain", "WWW.Jane-Doe.org"),
        ("domain", "http://user@www.jane-doe.org:8080/x?y"),
    ] {
        for premium in [false, true] {
            let refused = ask(&server, &pro, kind, query, premium).is_error(403, "suppressed");
            assert!(!refused.to_string().to_lowercase().contains("doe"), "{refused}");
        }
    }
    let credits = server.request("GET", "/v1/credits").key(&pro).send().json();
    assert_eq!(credits["credits_used"], 0);
    // Similar identifiers are searched.
    for (kind, query) in
        [("email", "jane.doe+x@bücher.de"), ("username", "jane-doe"), ("domain", "jane-doe.org")]
    {
        let answer = server.post(&json!({"type": kind, "query": query}));
        assert_eq!(answer.status, 200, "{answer}");
    }
    // The refusal comes before errors about credits, plans and modules.
    assert_eq!(ask(&server, &pro, "username", "nobody", false).status, 200);
    ask(&server, &pro, "username", "nobody", false).is_error(402, "insufficient_credits");
    ask(&server, &pro, "username", "nobody", true).is_error(403, "plan_required");
    ask(&server, &pro, "username", "jane_doe", true).is_error(403, "suppressed");
    let log = server.log().to_lowercase();
    assert!(!log.contains("jane") && !log.contains(KEY), "{log}");
}

#[test]
fn a_request_that_is_repeated_is_refused_too() {
    let folder = Folder::new();
    let file = folder.path("suppressed.txt");
    std::fs::write(&file, "").unwrap();
    let server = serving(&file).start();
    let repeat = || {
        let body = json!({"type": "username", "query": "jane_doe"});
        server.post_once("k", &body)
    };
    assert_eq!(repeat().status, 200);
    std::fs::write(&file, list()).unwrap();
    eventually("the list is read again", || repeat().status == 403);
    repeat().is_error(403, "suppressed");
}

#[test]
fn a_changed_list_is_read_again_and_a_broken_one_changes_nothing() {
    let folder = Folder::new();
    let file = folder.path("suppressed.txt");
    std::fs::write(&file, hashed("username", "first\n")).unwrap();
    let server = serving(&file).start();
    let status = |query: &str| server.post(&json!({"type": "username", "query": query})).status;
    assert_eq!((status("first"), status("second")), (403, 200));

    // Rewritten in place with the same size. (It is not emptied first, because an empty list is valid.)
    let second = hashed("username", "second\n");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), second.len() as u64);
    File::options().write(true).open(&file).unwrap().write_all(second.as_bytes()).unwrap();
    eventually("the list is read again", || status("second") == 403);
    assert_eq!(status("first"), 200);

    // Replaced by another file, as many editors do.
    let replace = |text: String| {
        let beside = folder.path("new.txt");
        std::fs::write(&beside, text).unwrap();
        std::fs::rename(&beside, &file).unwrap();
    };
    replace(hashed("username", "first\n") + "not an entry\n");
    eventually("the mistake is told", || server.log().contains("line 2: the type is unknown"));
    assert_eq!((status("first"), status("second")), (200, 403));
    std::fs::remove_file(&file).unwrap();
    eventually("the loss is told", || server.log().contains("cannot read the file"));
    assert_eq!(status("second"), 403);
    assert_eq!(server.log().matches("line 2: the type is unknown").count(), 1);

    replace(hashed("username", "first\nsecond\n"));
    eventually("the new file is read", || status("first") == 403);
    assert_eq!(status("second"), 403);
}

#[test]
fn a_bad_list_is_refused_at_the_start_with_its_line() {
    let folder = Folder::new();
    let file = folder.path("suppressed.txt");
    let key = [("SIGHTLINE_SUPPRESS_KEY", KEY)];
    let serve = ["serve", "--sandbox", "--listen", "127.0.0.1:0", "--suppress", &file];
    let search = ["search", "username", "x", "--sandbox", "--suppress", &file];
    for (text, want) in [
        (list() + "jane@example.org\n", format!("{file}: line 5: not an entry")),
        (list().replace("email", "e-mail"), format!("{file}: line 2: the type is unknown")),
    ] {
        std::fs::write(&file, text).unwrap();
        ran(&serve, &key).code_is(2).err_has(&want).never_prints("jane@");
        ran(&search, &key).code_is(2).err_has(&want);
    }
    std::fs::write(&file, list()).unwrap();
    let other = [("SIGHTLINE_SUPPRESS_KEY", "another-key-of-another-operator")];
    ran(&serve, &other).code_is(2).err_has("line 2: made with another key").never_prints("another-key-of");
    ran(&serve, &[]).code_is(2).err_has("--suppress needs the key");
    ran(&serve, &[("SIGHTLINE_SUPPRESS_KEY", "short")])
        .code_is(2)
        .err_has("16 to 256 visible")
        .never_prints("short");
    let gone = ["serve", "--suppress", &folder.path("nowhere.txt")];
    ran(&gone, &key).code_is(2).err_has("(SIGHTLINE_SUPPRESS): cannot read the file");
}

#[test]
fn a_command_line_search_respects_the_suppression_list() {
    let folder = Folder::new();
    let file = folder.path("suppressed.txt");
    std::fs::write(&file, list()).unwrap();
    let variables = [("SIGHTLINE_SUPPRESS", file.as_str()), ("SIGHTLINE_SUPPRESS_KEY", KEY)];
    let refused = ran(&["search", "username", "@JANE_DOE", "--sandbox=perfect"], &variables).code_is(2);
    assert_eq!(refused.out, "");
    refused.err_has("the query is suppressed").never_prints("JANE");
    ran(&["search", "username", "everybody", "--sandbox=perfect"], &variables).code_is(0);
}

#[test]
fn only_identifiers_are_hashed_and_none_is_repeated() {
    let output = hash("email", "jane@example.org\nnot an address\n");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("standard input, line 2: ") && !said.contains("not an address"), "{said}");
    let args = ["suppress", "hash", "email"];
    ran(&args, &[]).code_is(2).err_has("--suppress-key <KEY>");
    let keys = [ran(&["suppress", "key"], &[]).code_is(0).out, ran(&["suppress", "key"], &[]).code_is(0).out];
    assert_ne!(keys[0], keys[1]);
    assert_eq!(keys[0].trim().len(), 64);
}
