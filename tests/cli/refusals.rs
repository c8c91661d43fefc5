//! Invalid values: exit code 2, the name of the option, the value unless it is a secret, and what is allowed.

use super::{Folder, ran, sightline};

const SECRET: &str = "hunter2";

#[test]
fn each_bad_flag_is_refused_by_its_name() {
    let folder = Folder::new();
    let missing = folder.path("missing.json");
    let handles = folder.path("handles.txt");
    std::fs::write(&handles, "bob\nhttps://example.social/@alice\n").unwrap();
    for (args, want) in [
        (
            vec!["serve", "--listen", "8080"],
            r#"invalid value "8080" for --listen <ADDRESS> (SIGHTLINE_LISTEN): an IP address and a port is allowed"#,
        ),
        (vec!["serve", "--listen", "unix:/run/sightline.sock"], "a unix socket is not supported"),
        (vec!["serve", "--listen", "/run/sightline.sock"], "let the reverse proxy connect there"),
        (vec!["serve", "--check-timeout", "200s"], "--check-timeout 200s is longer than --run-timeout 120s"),
        (vec!["serve", "extra"], "unexpected argument 'extra'"),
        (vec!["health", "reset"], "<NAME>"),
        (vec!["health", "list", "--kind", "circuit"], "[possible values: host, quarantine, deadline]"),
        (
            vec!["search", "https://github.com/torvalds"],
            "sightline search username torvalds --module github ",
        ),
        (vec!["search", "https://example.social/@alice"], "sightline search email alice@example.social "),
        (vec!["search", "alice", "example.social/@alice/9?x#y"], "sightline search username alice "),
        (
            vec!["search", "<https://example.social:8443/@alice>"],
            "sightline search email alice@example.social ",
        ),
        (vec!["search", "https://example.social/@alice@example.org"], "search email alice@example.org "),
        (vec!["search", "example.org/page", "https://example.social/@bob"], "search username bob "),
        (vec!["search", "example.org/page", "<https://github.com/bob?a&b>"], "search domain github.com "),
        (vec!["search", "--from", &handles], "sightline search email alice@example.social "),
        (
            vec!["search", "alice", "https://gitlab.com/alice", "--sandbox"],
            "is the address of alice on GitLab",
        ),
        (vec!["search", "octocat", "--sandbox", "--module", "githb"], "did you mean github?"),
        (vec!["search", "octocat", "--sandbox", "--exclude-module", "GitHb"], "did you mean github?"),
        (vec!["search", "octocat", "--sandbox", "--category", "codng,socal"], "did you mean coding, social?"),
        (vec!["search", "octocat", "--key", "githb_token=x"], "did you mean github_token?"),
        (vec!["search", "octocat", "-o", "octocat.jsn"], "did you mean json?"),
        (vec!["catalog", "list", "--category", "codng"], "did you mean coding?"),
        (vec!["search", "octocat", "--categry", "coding"], "a similar argument exists: '--category'"),
        (vec!["serch", "octocat"], "similar subcommands exist: 'serve', 'search'"),
        (
            vec!["search", "octocat", "-o", "octocat.xml"],
            "json, ndjson, csv, html, pdf, md, graphml, stix, txt are allowed",
        ),
        (vec!["search", "octocat", "--from", "-"], "--from replaces the queries"),
        (vec!["search", "alice", "bob", "--follow"], "--follow needs a single query"),
        (
            vec!["search", "alice", "bob", "--format", "html"],
            "html, pdf, md, graphml and stix hold one search",
        ),
        (vec!["search"], "a query is missing"),
        (vec!["search", "username"], "<QUERY>"),
        (vec!["search", "username", "   "], "invalid query for username"),
        (
            vec!["search", "username", "x", "--format", "xml"],
            "[possible values: table, json, ndjson, csv, html, pdf, md, graphml, stix]",
        ),
        (vec!["search", "username", "x", "--listen", "127.0.0.1:1"], "unexpected argument '--listen'"),
        (vec!["search", "username", "x", "--check-workers", "0"], "a whole number from 1 to 4096 is allowed"),
        (vec!["serve", "--host-concurrency", "65"], "a whole number from 1 to 64 is allowed"),
        (vec!["account", "create", "--email", "a@example.org"], "--plan <PLAN>"),
        (vec!["account", "list", "--listen", "127.0.0.1:1"], "unexpected argument '--listen'"),
        (
            vec!["key", "revoke", "1"],
            r#"invalid value "1" for <ID>: the id (a UUID) that `key list` shows is allowed"#,
        ),
        (vec!["key", "create"], "--account <EMAIL>"),
        (
            vec!["key", "list", "--database", "sqlite::memory:"],
            "a database in memory is lost when the program ends",
        ),
        (vec!["catalog", "show"], "<ID>"),
        (vec!["catalog", "show", "no\x1bwhere"], "no module has the id \"no\u{fffd}where\""),
        (vec!["catalog", "list", "--type", "phone"], "[possible values: domain, email, username]"),
        (vec!["search", "alice", "--follow", "--links", "x"], "[possible values: "),
        (vec!["serve", "--log-format", "xml"], "[possible values: text, json]"),
        (vec!["serve", "--sandbox=unreal"], "[possible values: off, realistic, perfect]"),
        (
            vec!["catalog", "list", "--category", "x\x1b"],
            "no module has the category \"x\u{fffd}\": allowed: ",
        ),
        (vec!["catalog", "list", "--tag", "x"], "no module has the tag \"x\": "),
        (vec!["catalog", "show", "githb"], "did you mean github?"),
        (vec!["catalog", "check", "--module", "githb"], "did you mean github?"),
        (vec!["catalog", "check", "--category", "x"], "no module has the category \"x\""),
        (vec!["catalog", "check", "--module", "github", "--tag", "x"], "cannot be used with"),
        (vec!["catalog", "check", "--faults"], "--sandbox[=<WEB>]"),
        (vec!["catalog", "check", "--timeout", "1"], "a number with its unit"),
        (vec!["catalog", "check", "--jobs", "0"], "a whole number from 1 to 4096 is allowed"),
        (vec!["catalog", "list", "--no-builtin"], "--catalog <FILE>"),
        (vec!["catalog", "format"], "<FILE>"),
        (vec!["catalog", "format", &missing], "cannot read the file"),
        (vec!["catalog", "format", "/"], "not a file"),
        (vec!["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (vec![], "Usage: sightline"),
        (vec!["account"], "Usage: sightline account"),
    ] {
        let refused = ran(&args, &[]).code_is(2).err_has(want);
        assert_eq!(refused.out, "", "a refusal goes to standard error: {args:?}");
    }
}

/// `src/config` has the values that each option refuses.
#[test]
fn each_bad_variable_is_refused_by_its_name() {
    for (variable, value, want) in [
        ("SIGHTLINE_LISTEN", "nowhere", "\"nowhere\" for --listen <ADDRESS> (SIGHTLINE_LISTEN)"),
        ("SIGHTLINE_MAX_STREAMS", "0", "(SIGHTLINE_MAX_STREAMS): a whole number from 1 to 12000"),
        (
            "SIGHTLINE_RATE_LIMIT_READ",
            "30",
            "(SIGHTLINE_RATE_LIMIT_READ): this option is gone: use --rate-limits",
        ),
        ("SIGHTLINE_CORS_ORIGIN", "https://a.example,b", "\"b\" for --cors-origin"),
        ("SIGHTLINE_CATALOG", "/:/nowhere.json", "(SIGHTLINE_CATALOG): not a file"),
        ("SIGHTLINE_NO_BUILTIN", "maybe", "'--no-builtin': value was not a boolean"),
        ("SIGHTLINE_ALLOW_PRIVATE_TARGETS", "2", "--allow-private-targets"),
        ("SIGHTLINE_BROWSER", "ftp://u:hunter2@h", "(SIGHTLINE_BROWSER): auto, the path of a Chromium or"),
        ("SIGHTLINE_BROWSER", "http://10.0.0.9:4444", "--browser-guard IP:PORT is needed"),
        ("SIGHTLINE_BROWSER_SESSIONS", "0", "(SIGHTLINE_BROWSER_SESSIONS): a whole number from 1 to 64"),
        ("SIGHTLINE_BROWSER_GUARD", "0.0.0.0:1", "BROWSER_GUARD): browsers cannot connect to 0.0.0.0"),
        ("SIGHTLINE_KEY_SHODAN", "hunter2\t", "invalid value for SIGHTLINE_KEY_SHODAN: invalid key:"),
        ("SIGHTLINE_RETAIN_DAYS", "-1", "(SIGHTLINE_RETAIN_DAYS): a whole number from 0 to 36500 is allowed"),
        ("SIGHTLINE_SUPPRESS", "/", "(SIGHTLINE_SUPPRESS): not a file"),
        ("SIGHTLINE_SUPPRESS_KEY", "hunter2", "(SIGHTLINE_SUPPRESS_KEY): 16 to 256 visible ASCII characters"),
    ] {
        ran(&["serve"], &[(variable, value)]).code_is(2).err_has(want).never_prints(SECRET);
    }
}

#[test]
fn a_refusal_never_repeats_a_secret() {
    for args in [
        vec!["serve", "--database", "mysql://u:hunter2@h/d"],
        vec!["serve", "--database=postgres://u:hunter2@127.0.0.1:1/d"],
        vec!["serve", "--database=postgres://u:hunt@hunter2@127.0.0.1:1/d"],
        vec!["serve", "--database=postgres://u:x@127.0.0.1:1/d?password=hunter2&sslmode=hunter2"],
        vec!["serve", "--outbound-proxy", "ftp://u:hunter2@h"],
        vec!["serve", "--outbound-proxy=http://u:hunter2@127.0.0.1:1/x"],
        vec!["serve", "--webdriver", "ftp://u:hunter2@h"],
        vec!["serve", "--browser", "http://u:hunter2@10.0.0.9:4444"],
        vec!["serve", "--browser=http://u:hunter2@127.0.0.1:1/?x"],
        vec!["serve", "--cors-origin=https://u:hunt@hunter2@h.example/x"],
        vec!["serve", "--key", "hunter2"],
        vec!["serve", "--key=github_token=hunter2\u{1}"],
        vec!["serve", "--suppress-key", "hunter2"],
        vec!["suppress", "hash", "email", "--suppress-key", "hunter2"],
        vec!["serve", "--key", "a b=hunter2"],
        vec!["serve", "database=postgres://u:hunter2@h/d"],
        vec!["serve", "postgres://u:hunter2@h/d"],
        vec!["serve", "--databse=postgres://u:hunter2@h/d"],
        vec!["search", "username", "x", "--database", "mysql://u:hunter2@h/d"],
        vec!["account", "list", "--database", "postgres//u:hunter2@h/d"],
        vec!["account", "list", "--database", "sqlite:postgres://u:hunter2@h/d"],
        vec!["serve", "--listen", "u:hunter2@127.0.0.1:80"],
        vec!["serve", "--base-url", "https://h.example/?token=hunter2"],
        vec!["serve", "--base-url=https://u:hunter2@h.example/"],
        vec!["serve", "--catalog-key", "hunter2"],
    ] {
        let refused = ran(&args, &[("SIGHTLINE_TIMES", "database-wait=0s")]).never_prints(SECRET);
        assert!([2, 3].contains(&refused.code), "{args:?}: {}", refused.err);
    }
}

#[test]
fn control_characters_of_a_bad_value_are_escaped() {
    ran(&["serve", "--listen", "\x1b[2Jx"], &[])
        .code_is(2)
        .err_has(r#""\u{1b}[2Jx""#)
        .never_prints("\x1b[2J");
}

#[test]
fn a_value_that_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut command = sightline(&["serve", "--listen"], &[]);
    let output = command.arg(std::ffi::OsStr::from_bytes(b"\xff")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains("--listen <ADDRESS> (SIGHTLINE_LISTEN): not valid UTF-8")
    );
}
