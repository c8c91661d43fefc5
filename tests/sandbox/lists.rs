//! Feeds.

use serde_json::{Value, json};
use sightline::modules::module::Module;
use sightline::modules::outcome::{Outcome, Report};
use sightline::modules::query::{Query, SearchType};
use sightline::sandbox::SandboxOptions;

use super::lab::{Lab, module};
use super::language::play;
use crate::support::modules::with;

fn lab(id: &str, more: &Value) -> Lab {
    let lab = Lab::new(vec![module(id, more)], SandboxOptions::perfect());
    assert_eq!(lab.sandbox.problems(), [], "{id}");
    lab
}

fn ask(lab: &Lab, text: &str) -> Report {
    let site: &Module = &lab.modules[0];
    lab.check(site, &Query::parse(site.search_type(), text).unwrap())
}

#[test]
fn a_feed_contains_the_query_if_it_exists() {
    let feed = |more: Value| {
        let entry = json!({
            "type": "domain", "known": ["known-site.com"],
            "probes": [{"url": "https://feed.example.org/list", "feed": {"keep_s": 3600}}],
        });
        with(entry, &more)
    };
    for (id, more) in [
        (
            "text_list",
            json!({
                "hit": [{"status": [200], "regex": "(?mi)^https?://(?:[^/\\s]+\\.)?{domain|registrable}(?:[/?#]|\\s*$)"}],
                "miss": [{"status": [200], "regex": "(?i)\\A\\s*https?://\\S", "no_word": ["//{domain|registrable}", ".{domain|registrable}"]}],
                "results": [{"type": "url", "each": "lines:", "keep": "(?i)^https?://{domain|registrable}(?:[/?#]|$)"}],
            }),
        ),
        (
            "json_list",
            json!({
                "hit": [{"status": [200], "json": [{"at": "/*/Domain", "equals_query": true}]}],
                "miss": [{"status": [200], "json": [{"at": "/*/Domain", "exists": true}], "no_word": ["\"{query}\""]}],
                "results": [{"type": "breach", "each": "json:/*", "where": [{"at": "/Domain", "equals_query": true}], "value": "json:/Name"}],
                "control": true,
            }),
        ),
        (
            "member_list",
            json!({
                "hit": [{"status": [200], "json": [{"at": "/sites", "type": "object"}, {"at": "/sites/*/host", "equals_query": true}]}],
                "miss": [{"status": [200], "json": [{"at": "/sites", "type": "object"}], "no_word": ["\"{query}\""]}],
                "result": {"type": "reputation", "value": "const:listed"},
            }),
        ),
    ] {
        let lab = lab(id, &feed(more));
        for (name, want) in [
            ("nobody.com", Outcome::Miss),
            ("known-site.com", Outcome::Hit),
            ("everybody.org", Outcome::Hit),
            ("blocked.com", Outcome::Blocked),
        ] {
            let report = ask(&lab, name);
            assert_eq!(report.outcome, want, "{id} {name}: {report:?}");
            assert_eq!(report.findings.is_empty(), want != Outcome::Hit, "{id} {name}");
        }
    }
}

#[test]
fn a_feed_directs_each_query_to_its_own_server() {
    let more = json!({
        "type": "domain", "known": ["example.com"],
        "probes": [
            {
                "url": "https://feed.example.org/dns.json", "feed": {"keep_s": 3600},
                "save": {"base": {"each": "/services/*", "where": [{"at": "/0", "contains": "{domain|tld}"}], "from": ["json:/1/0"]}},
            },
            {"url": "{saved.base}domain/{domain|registrable}"},
        ],
        "hit": [{"probe": 1, "status": [200], "json": [{"at": "/ldhName", "matches": "(?i)^{domain|registrable}$"}]}],
        "miss": [{"probe": 1, "status": [404]}],
        "result": {"type": "registration", "metadata": {"handle": "json:/handle"}},
    });
    let lab = lab("bootstrap", &more);
    for (name, want) in [
        ("everybody.com", Outcome::Hit),
        ("everybody.co.uk", Outcome::Hit),
        ("nobody.org", Outcome::Miss),
        ("example.com", Outcome::Hit),
    ] {
        let report = ask(&lab, name);
        assert_eq!(report.outcome, want, "{name}: {report:?}");
    }
}

#[test]
fn feeds_of_mail_domains_and_names_are_simulated() {
    let email = json!({
        "type": "email", "control": false, "known": ["someone@throwaway-mail.com"],
        "probes": [{"url": "https://feed.example.org/domains.txt", "feed": {"keep_s": 3600}}],
        "hit": [{"status": [200], "regex": "(?mi)^{domain}\\s*$"}],
        "miss": [{"status": [200], "regex": "(?mi)^[a-z0-9-]+\\.[a-z]+\\s*$", "no_word": ["{domain}"]}],
        "result": {"type": "reputation", "value": "const:throwaway"},
    });
    let lab = lab("mail_domains", &email);
    let outcome = |text: &str| {
        let query = Query::parse(SearchType::Email, text).unwrap();
        lab.check(&lab.modules[0], &query).outcome
    };
    assert_eq!(outcome("everybody@throwaway-mail.com"), Outcome::Hit);
    assert_eq!(outcome("nobody@sample-mail.com"), Outcome::Miss);
    play(
        "names",
        &json!({
            "probes": [{"url": "https://feed.example.org/names.json", "feed": {"keep_s": 60}}],
            "hit": [{"json": [{"at": "/users/*", "equals_query": true}]}],
            "miss": [{"json": [{"at": "/users/0", "exists": true}], "no_word": ["\"{query}\""]}],
        }),
    );
}
