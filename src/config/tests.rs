use std::net::SocketAddr;

use super::*;

fn parse(flags: &[&str]) -> Result<ServeConfig, String> {
    ServeConfig::from_flags(flags).map_err(|error| error.to_string())
}

#[test]
fn the_base_url_follows_the_address_that_was_bound() {
    let bound = |text: &str| -> SocketAddr { text.parse().unwrap() };
    let server = parse(&[]).unwrap().server;
    assert_eq!(server.base_url_at(bound("127.0.0.1:4711")), "http://127.0.0.1:4711");
    assert_eq!(server.base_url_at(bound("[::1]:1")), "http://[::1]:1");
    assert_eq!(server.base_url_at(bound("0.0.0.0:80")), "http://localhost:80");
    let server = parse(&["--base-url", "https://s.example.org/"]).unwrap().server;
    assert_eq!(server.base_url_at(bound("127.0.0.1:4711")), "https://s.example.org");
}

/// Flags, and a part of the message that refuses them.
const REFUSED: &[(&[&str], &str)] = &[
    (&["--listen", "localhost"], "\"localhost\" for --listen <ADDRESS>: expected an IP address and a port"),
    (&["--listen", "127.0.0.1:99999"], "for --listen"),
    (&["--admin-listen", "9090"], "\"9090\" for --admin-listen <ADDRESS>: expected an IP address and a port"),
    (&["--database", "@/nowhere/hunter2"], "value for --database <URL>: cannot read the file after the @"),
    (
        &["--database", "@/proc/self/comm"],
        "value for --database <URL>: in the file: invalid database address: expected sqlite:PATH or",
    ),
    (&["--base-url", "ftp://x"], "\"ftp://x\" for --base-url <URL>: expected an http:// or https:// address"),
    (&["--base-url", "http://x/?a=b"], "for --base-url"),
    (&["--base-url", "http://u@x"], "for --base-url"),
    (&["--base-url", "http://x/#a"], "for --base-url"),
    (&["--max-streams", "12001"], "expected a whole number from 1 to 12000"),
    (&["--max-streams", "+5"], "expected a whole number from 1 to 12000"),
    (&["--drain-timeout", "30"], "\"30\" for --drain-timeout <DURATION>: expected a number with its unit"),
    (&["--check-timeout", "0s"], "from 100ms to 10m"),
    (&["--catalog-feed", "Cargo.toml"], "--catalog-key"),
    (&["--catalog-feed", "ftp://h/feed"], "for --catalog-feed <SOURCE>: expected an http:// or https://"),
    (&["--times", "lunch"], "for --times"),
    (&["--sandbox", "unreal"], "[possible values: off, realistic, perfect]"),
    (&["--drain-timeout", "2h"], "from 0s to 1h"),
    (
        &["--cors-origin", "https://a.example/x"],
        "for --cors-origin <ORIGIN>: expected a scheme, host and port",
    ),
    (&["--cors-origin", "https://a.example,b"], "\"b\" for --cors-origin"),
    (&["--trusted-proxy", "10.0.0.0/33"], "for --trusted-proxy <NETWORK>: expected an IP address or network"),
    (
        &["--database", "mysql://u:hunter2@h/d"],
        "value for --database <URL>: invalid database address: expected sqlite:PATH or",
    ),
    (
        &["--database", "sqlite:"],
        "value for --database <URL>: invalid database address: a file name is missing",
    ),
    (&["--secret-key-file", "/nowhere/key"], "\"/nowhere/key\" for --secret-key-file <FILE>: cannot read"),
    (&["--secret-key-file", "/"], "for --secret-key-file <FILE>: not a file; expected the path of a file"),
    (&["--catalog", "/nowhere/x.json"], "\"/nowhere/x.json\" for --catalog <FILE>: cannot read the file"),
    (&["--catalog", "/"], "for --catalog <FILE>: not a file"),
    (&["--catalog-key", "abc"], "value for --catalog-key <KEY>: expected a public Ed25519 key: 32 bytes in"),
    (&["--no-builtin"], "--catalog <FILE>"),
    (
        &["--check-workers", "many"],
        "\"many\" for --check-workers <N>: expected a whole number from 1 to 4096",
    ),
    (&["--max-runs", "-1"], "for --max-runs"),
    (&["--check-timeout", "1h"], "from 100ms to 10m"),
    (&["--run-timeout", "2h"], "from 100ms to 1h"),
    (&["--run-timeout", "5s"], "--check-timeout 10s is longer than --run-timeout 5s: expected at most that"),
    (
        &["--user-agent", "a\nb"],
        "\"a\\nb\" for --user-agent <TEXT>: expected 1 to 256 visible ASCII characters",
    ),
    (
        &["--outbound-proxy", "ftp://u:hunter2@h"],
        "value for --outbound-proxy <URL>: it has an unknown scheme; expected http://[USER",
    ),
    (&["--outbound-proxy", "socks5://"], "value for --outbound-proxy"),
    (&["--ca-file", "/nowhere/ca.pem"], "\"/nowhere/ca.pem\" for --ca-file <FILE>: cannot read the file"),
    (
        &["--ca-file", "Cargo.toml"],
        "--ca-file <FILE>: the file contains no certificate; expected a PEM file with one",
    ),
    (&["--key", "shodan:hunter2"], "value for --key <NAME=VALUE>: expected NAME=VALUE"),
    (&["--key", "a-b=hunter2"], "value for --key <NAME=VALUE>: invalid name:"),
    (
        &["--plans", "pro=x"],
        "for --plans <TABLE>: credits of plan \"pro\": expected a whole number or \"unlimited\"",
    ),
    (&["--rate-limits", "search=0"], "for --rate-limits <TABLE>: expected a whole number from 1 to 1000000"),
    (&["--rate-limits", "30"], "for --rate-limits <TABLE>: expected search=N, stream=N and read=N"),
    (&["--rate-limits", "read=1000001"], "for --rate-limits <TABLE>: expected a whole number"),
    (
        &["--log-level", "loud"],
        "\"loud\" for --log-level <LEVEL>: expected off, error, warn, info, debug or trace",
    ),
    (&["--log-format", "xml"], "[possible values: text, json]"),
    (&["--listn", "x"], "unexpected argument '--listn'"),
];

#[test]
fn every_option_refuses_what_it_does_not_allow() {
    for (flags, want) in REFUSED {
        // In this form `--max-runs -1` reaches the parser as a value.
        let flags = [format!("{}={}", flags[0], flags.get(1).unwrap_or(&"true"))];
        let flags: Vec<&str> = match flags[0].strip_suffix("=true") {
            Some(alone) => vec![alone],
            None => flags.iter().map(String::as_str).collect(),
        };
        let error = parse(&flags).unwrap_err();
        assert!(error.contains(want), "{flags:?}\ngot:  {error}\nwant: {want}");
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn nothing_secret_shows_in_the_debug_form() {
    let config = parse(&[
        "--database=postgres://u:hunter2@h/d",
        "--outbound-proxy=socks5://u:hunter2@h:1",
        "--key=a=hunter2",
    ])
    .unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
    assert_eq!(config.engine.keys["a"].expose(), "hunter2");
}

#[test]
fn lists_take_repeated_flags_and_separators() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let config = parse(&[
        &format!("--catalog={file}:{file}"),
        &format!("--catalog={file}"),
        "--no-builtin",
        "--cors-origin=https://a.example,https://b.example:8443",
        "--trusted-proxy=10.0.0.0/8,::1",
    ])
    .unwrap();
    assert_eq!(config.engine.catalog.files.len(), 3);
    assert_eq!(config.server.cors_origins, ["https://a.example", "https://b.example:8443"]);
    assert_eq!(config.server.trusted_proxies.len(), 2);
}

#[test]
fn an_option_that_is_gone_says_what_holds_instead() {
    for given in ["--webdriver", "--webdriver=x", "SIGHTLINE_WEBDRIVER"] {
        let said = gone(given).unwrap();
        assert!(
            said.starts_with("--webdriver (SIGHTLINE_WEBDRIVER): this option is gone: use --browser"),
            "{said}"
        );
    }
    assert_eq!((gone("--listen"), gone("SIGHTLINE_LISTEN")), (None, None));
    let mut engine = parse(&[]).unwrap().engine;
    let error = engine.check([("SIGHTLINE_RATE_LIMIT_READ".into(), "5".into())]).unwrap_err();
    assert!(error.contains("(SIGHTLINE_RATE_LIMIT_READ): this option is gone: use --rate-limits"), "{error}");
}
