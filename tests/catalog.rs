//! The catalogue: what is wrong is said with its place and its mend; what is right loads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use sightline::modules::catalog::{Catalog, Selection};
use sightline::modules::query::SearchType;

fn sites() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/sites");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

#[test]
fn the_builtin_catalogue_loads() {
    let catalog = Catalog::builtin().unwrap_or_else(|error| panic!("{error}"));
    assert!(catalog.modules().len() >= 135, "{}", catalog.modules().len());
    assert_eq!(catalog.get("github").unwrap().platform(), "GitHub");
    assert!(catalog.get("nowhere").is_none());
    let from_files = Catalog::load(false, &sites()).unwrap();
    assert_eq!(from_files.modules().len(), catalog.modules().len());
}

#[test]
fn the_builtin_files_are_in_canonical_form() {
    for path in sites() {
        let text = std::fs::read_to_string(&path).unwrap();
        let formatted = Catalog::format(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(formatted == text, "run `sightline catalog format` on {}", path.display());
    }
}

#[test]
fn selections_leave_out_what_was_not_asked_for() {
    let module = |id: &str, more: Value| {
        let mut entry = entry();
        entry["id"] = json!(id);
        for (name, value) in more.as_object().unwrap() {
            entry[name] = value.clone();
        }
        entry
    };
    let list = json!([
        module("plain", json!({})),
        module("popular", json!({"rank": 2})),
        module("off", json!({"enabled": false})),
        module("adult", json!({"nsfw": true})),
        module("signin", json!({"discovery": true})),
        module("browser", json!({"probes": [{"url": "https://a.example/{query}", "via": "browser"}]})),
        module("mail", json!({"type": "email"})),
    ]);
    let catalog = Catalog::from_text("list.json", &list.to_string()).unwrap();
    let ids = |premium, discovery, nsfw| {
        let selection = Selection { search_type: SearchType::Username, premium, discovery, nsfw };
        catalog.select(&selection).iter().map(|module| module.id().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(false, false, false), ["popular", "plain"]);
    assert_eq!(ids(true, true, true), ["popular", "adult", "browser", "plain", "signin"]);
    assert!(catalog.get("browser").unwrap().is_premium() && !catalog.get("plain").unwrap().is_premium());
}

fn entry() -> Value {
    json!({
        "id": "site", "platform": "Site", "type": "username", "category": "test",
        "probes": [{"url": "https://site.example/{query}"}], "hit": [{"status": [200]}], "miss": [{"status": [404]}],
    })
}

/// The messages for an entry with these fields changed (`null`: taken out).
fn faults(changes: &Value) -> Vec<String> {
    let mut entry = entry();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            entry.as_object_mut().unwrap().remove(name);
        } else {
            entry[name] = value.clone();
        }
    }
    match Catalog::from_text("f.json", &json!([entry]).to_string()) {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

fn assert_faults(cases: &[(Value, &str)]) {
    for (changes, want) in cases {
        assert_eq!(faults(changes), [*want], "{changes}");
    }
}

const URL: &str = "https://site.example/{query}";

#[test]
fn mistakes_of_form_name_file_entry_and_field() {
    assert_eq!(faults(&json!({})), [""; 0]);
    assert_faults(&[
        (json!({"platform": null}), "f.json: site: the field `platform` is missing"),
        (
            json!({"platfrom": "x"}),
            "f.json: site: unknown field `platfrom`; did you mean `platform`? there are id, platform, type, category, tags, rank, enabled, nsfw, discovery, contact, home, profile, accepts, scripts, strip, domain_in, needs, every_ms, per_day, probes, barrier, hit, miss, weak_miss, control, result, results, known, note",
        ),
        (json!({"id": 5}), "f.json: [0]: id: 5 is not allowed here; write a text"),
        (
            json!({"type": "usrname"}),
            "f.json: site: type: `usrname` is not allowed here; did you mean `username`? allowed are domain, email, username",
        ),
        (json!({"nsfw": "yes"}), "f.json: site: nsfw: a text is not allowed here; write true or false"),
        (
            json!({"rank": -1}),
            "f.json: site: rank: -1 is not allowed here; write a whole number from 0 to 4294967295",
        ),
        (
            json!({"hit": {"status": [200]}}),
            "f.json: site: hit: an object is not allowed here; write an array",
        ),
        (
            json!({"hit": [{"status": 200}]}),
            "f.json: site: hit[0].status: 200 is not allowed here; write an array",
        ),
        (
            json!({"hit": [{"status": [true]}]}),
            "f.json: site: hit[0].status[0]: true is not allowed here; write a whole number from 0 to 65535 or a text",
        ),
        (
            json!({"hit": [{"stats": [200]}]}),
            "f.json: site: hit[0]: unknown field `stats`; did you mean `status`? there are probe, status, final_url, header, no_header, words, any_word, no_word, ignore_case, body_is, regex, json, css, sha256",
        ),
        (
            json!({"hit": [{"json": [{"equals": 1}]}]}),
            "f.json: site: hit[0].json[0]: the field `at` is missing",
        ),
        (
            json!({"hit": [{"css": [{"select": "a", "exist": false}]}]}),
            "f.json: site: hit[0].css[0]: unknown field `exist`; did you mean `exists`? there are select, exists, attribute, matches, equals_query",
        ),
        (
            json!({"result": {"type": "profil"}}),
            "f.json: site: result.type: `profil` is not allowed here; did you mean `profile`? allowed are account, profile, email, username, person_name, url, domain, subdomain, dns_record, ip_address, certificate, registration, technology, archive, breach, reputation, public_key, phone, tenant",
        ),
        (
            json!({"result": {"type": "profile", "value": 5}}),
            "f.json: site: result.value: 5 is not allowed here; write a text or an object",
        ),
        (
            json!({"result": {"type": "profile", "metadata": {"a": {"from": ["title:"], "labels": [["a"]]}}}}),
            "f.json: site: result.metadata.a.labels[0]: an array is not allowed here; write an array of two texts",
        ),
    ]);
    for (text, want) in [
        ("{", "f.json: it is no JSON: EOF while parsing an object at line 1 column 1"),
        ("{}", "f.json: a catalogue file is a JSON array of entries"),
        (
            "[{\"id\": 1, \"id\": 2}]",
            "f.json: it is no JSON: the name `id` stands twice in one object at line 1 column 15",
        ),
        ("[7]", "f.json: [0]: 7 is not allowed here; write an object"),
    ] {
        assert_eq!(Catalog::from_text("f.json", text).unwrap_err().to_string(), want);
    }
}

#[test]
fn mistakes_of_names_and_limits() {
    assert_faults(&[
        (
            json!({"id": "Site!"}),
            "f.json: Site!: id: `Site!` is no id; allowed are a-z, 0-9, `_`, `-` and `.`, at most 64",
        ),
        (
            json!({"platform": " Site"}),
            "f.json: site: platform: allowed are 1 to 80 characters without white space at the ends",
        ),
        (
            json!({"category": "Social"}),
            "f.json: site: category: `Social` is no such word; allowed are a-z, 0-9, `_`, `-` and spaces, at most 64",
        ),
        (
            json!({"tags": ["ok", "Ä"]}),
            "f.json: site: tags[1]: `Ä` is no such word; allowed are a-z, 0-9, `_`, `-` and spaces, at most 64",
        ),
        (json!({"rank": 0}), "f.json: site: rank: the most popular site has rank 1"),
        (json!({"home": "site.example"}), "f.json: site: home: `site.example` is no web address"),
        (json!({"every_ms": 0}), "f.json: site: every_ms: allowed are 1 to 86400000 (a day)"),
        (json!({"per_day": 0}), "f.json: site: per_day: 0 checks a day are none; say `\"enabled\": false`"),
        (json!({"strip": ""}), "f.json: site: strip: it is empty; leave it out"),
        (json!({"domain_in": ["a.example"]}), "f.json: site: domain_in: it is for email modules"),
        (
            json!({"type": "email", "domain_in": ["A.example"]}),
            "f.json: site: domain_in[0]: `A.example` is no domain in lower case",
        ),
        (
            json!({"type": "email", "scripts": "any"}),
            "f.json: site: scripts: it is for usernames; other queries are ASCII always",
        ),
        (
            json!({"type": "email", "strip": "."}),
            "f.json: site: strip: it is for usernames; other queries are asked as they are",
        ),
        (
            json!({"accepts": "[a-z"}),
            "f.json: site: accepts: the regex `[a-z` is not valid: unclosed character class",
        ),
        (
            json!({"accepts": "(?=a)b"}),
            "f.json: site: accepts: the regex `(?=a)b` is not valid: look-around, including look-ahead and look-behind, is not supported",
        ),
        (
            json!({"accepts": "a)|(b"}),
            "f.json: site: accepts: the regex `a)|(b` is not valid: unopened group",
        ),
        (
            json!({"accepts": "(?:\\w{500}){500}"}),
            "f.json: site: accepts: the regex `(?:\\w{500}){500}` is too large; make its repetitions smaller",
        ),
        (
            json!({"accepts": "[0-9]+", "known": ["bob"]}),
            "f.json: site: known[0]: the module itself would skip it: not_accepted",
        ),
    ]);
}

#[test]
fn mistakes_of_probes() {
    let probe = |more: Value| {
        let mut probe = json!({"url": URL});
        for (name, value) in more.as_object().unwrap() {
            probe[name] = value.clone();
        }
        json!({"probes": [probe]})
    };
    assert_faults(&[
        (json!({"probes": []}), "f.json: site: probes: it is empty; a module sends at least one probe"),
        (
            json!({"probes": [{"url": URL}, {"url": URL}, {"url": URL}, {"url": URL}]}),
            "f.json: site: probes: 4 are too many; at most 3",
        ),
        (
            probe(json!({"fallback": true})),
            "f.json: site: probes[0].fallback: the first probe cannot fall back on anything before it",
        ),
        (
            probe(json!({"url": "site.example/{query}"})),
            "f.json: site: probes[0].url: a URL begins with `https://`, `http://` or `{saved.NAME}`",
        ),
        (
            probe(json!({"url": "https://site.example/{user}"})),
            "f.json: site: probes[0].url: `{user}` is no variable; there are query, local, domain, saved.NAME, config.NAME; write a literal brace twice: `{{`",
        ),
        (
            probe(json!({"url": "https://site.example/{query|upper}"})),
            "f.json: site: probes[0].url: `|upper` is no filter; there are lower, md5, sha1, sha256, registrable, label, urlencode",
        ),
        (
            probe(json!({"url": "https://site.example/{domain}"})),
            "f.json: site: probes[0].url: `{domain}` has no value in username modules; use `{query}`",
        ),
        (
            probe(json!({"url": "https://site.example/{saved.t}"})),
            "f.json: site: probes[0].url: `{saved.t}` is not saved by an earlier probe; add it to that probe's `save`",
        ),
        (
            probe(json!({"url": "https://site.example/{config.k}"})),
            "f.json: site: probes[0].url: `{config.k}` is used but not needed; add \"config.k\" to `needs`",
        ),
        (
            probe(json!({"url": "https://localhost/{query}"})),
            "f.json: site: probes[0].url: `localhost` is no public host name",
        ),
        (
            probe(json!({"url": "https://site.example:99999/{query}"})),
            "f.json: site: probes[0].url: `https://site.example:99999/example` (filled with an example) is no URL: invalid port number",
        ),
        (
            json!({"needs": ["k"]}),
            "f.json: site: needs[0]: `k` names no key; write `config.NAME`, NAME of a-z, 0-9 and `_`",
        ),
        (
            json!({"needs": ["config.k"]}),
            "f.json: site: needs[0]: no probe uses `{config.k}`; use it or take it out",
        ),
        (
            probe(json!({"headers": {"X-A": "1", "x-a": "2"}})),
            "f.json: site: probes[0].headers: `x-a` stands twice; upper and lower case are the same",
        ),
        (
            probe(json!({"headers": {"Host": "x"}})),
            "f.json: site: probes[0].headers: `Host` is set by the program",
        ),
        (probe(json!({"headers": {"X A": "x"}})), "f.json: site: probes[0].headers: `X A` is no header name"),
        (
            probe(json!({"headers": {"X-A": "a\nb"}})),
            "f.json: site: probes[0].headers.X-A: a header value holds printable ASCII only",
        ),
        (
            probe(json!({"method": "POST", "form": {"a": "b"}, "json": {}})),
            "f.json: site: probes[0]: `form`, `json` and `text` exclude each other: one body a probe",
        ),
        (
            probe(json!({"form": {"a": "b"}})),
            "f.json: site: probes[0].method: GET has no body; say POST or PUT",
        ),
        (
            probe(json!({"method": "PUT", "text": "a"})),
            "f.json: site: probes[0].text: say its `Content-Type` among the headers",
        ),
        (
            probe(json!({"method": "POST", "json": {"a": ["{user}"]}})),
            "f.json: site: probes[0].json.a[0]: `{user}` is no variable; there are query, local, domain, saved.NAME, config.NAME; write a literal brace twice: `{{`",
        ),
        (
            probe(json!({"via": "browser", "method": "HEAD"})),
            "f.json: site: probes[0].via: a browser opens pages: method GET, no body",
        ),
        (
            probe(json!({"save": {"A": "title:"}})),
            "f.json: site: probes[0].save: `A` is no name; allowed are a-z, 0-9 and `_`, at most 40",
        ),
        (
            probe(json!({"save": {"a": "titel:"}})),
            "f.json: site: probes[0].save.a: `titel:` is no extractor here; there are json, css, meta, jsonld, regex, header, cookie, final_url, title, template, const, count; in `results` also value, key, group, attr",
        ),
        (
            json!({"type": "email", "probes": [{"url": URL, "via": "browser"}]}),
            "f.json: site: probes: `\"via\": \"browser\"` is for username modules only",
        ),
        (
            json!({"probes": [{"url": URL, "method": "HEAD"}], "hit": [{"words": ["a"]}]}),
            "f.json: site: probes[0].method: HEAD brings no body, but a rule or an extractor reads it; say GET",
        ),
    ]);
}

#[test]
fn mistakes_of_rules() {
    let rule = |rule: Value| json!({"hit": [rule]});
    assert_faults(&[
        (json!({"hit": []}), "f.json: site: hit: it is empty; without a rule nothing can ever be found"),
        (
            rule(json!({})),
            "f.json: site: hit[0]: no condition: it would match every answer; say at least a `status`",
        ),
        (
            rule(json!({"probe": 0, "ignore_case": true})),
            "f.json: site: hit[0]: no condition: it would match every answer; say at least a `status`",
        ),
        (
            rule(json!({"probe": 1, "status": [200]})),
            "f.json: site: hit[0].probe: there is no probe 1; the last one is 0 (0 is the first)",
        ),
        (
            rule(json!({"status": [404]})),
            "f.json: site: hit[0]: the same rule stands in `miss`: it would always be a conflict",
        ),
        (
            rule(json!({"status": [99]})),
            "f.json: site: hit[0].status[0]: 99 is no HTTP status; allowed are 100 to 599, \"1xx\" to \"5xx\"",
        ),
        (
            rule(json!({"status": ["6xx"]})),
            "f.json: site: hit[0].status[0]: `6xx` is no class of HTTP statuses; allowed are \"1xx\" to \"5xx\"",
        ),
        (
            rule(json!({"regex": "("})),
            "f.json: site: hit[0].regex: the regex `(` is not valid: unclosed group",
        ),
        (rule(json!({"regex": ""})), "f.json: site: hit[0].regex: an empty regex is found everywhere"),
        (
            rule(json!({"header": {"X-A": "("}})),
            "f.json: site: hit[0].header.X-A: the regex `(` is not valid: unclosed group",
        ),
        (
            rule(json!({"words": ["a", ""]})),
            "f.json: site: hit[0].words[1]: an empty text stands in every body",
        ),
        (
            rule(json!({"words": ["{\"a\""]})),
            "f.json: site: hit[0].words[0]: a `{` without its `}`; write a literal brace twice: `{{`",
        ),
        (
            rule(json!({"words": ["{config.k}"]})),
            "f.json: site: hit[0].words[0]: `{config.k}` must not stand here: keys are for requests only",
        ),
        (rule(json!({"sha256": ["abc"]})), "f.json: site: hit[0].sha256[0]: a SHA-256 is 64 hex digits"),
        (
            rule(json!({"css": ["a:hover"]})),
            "f.json: site: hit[0].css[0]: the selector `a:hover` holds `:`, which is not supported; allowed are compound selectors such as `tag#id.class[attribute^=\"value\"]`, joined by a space or `>`, listed by `,`",
        ),
        (
            rule(json!({"json": [{"at": "a", "exists": true}]})),
            "f.json: site: hit[0].json[0].at: the JSON pointer `a` must be empty or begin with `/`",
        ),
        (
            rule(json!({"json": [{"at": "/a"}]})),
            "f.json: site: hit[0].json[0]: no condition beside `at`; say `\"exists\": true`, or what the value must be",
        ),
        (
            rule(json!({"json": [{"at": "/a", "matches": "["}]})),
            "f.json: site: hit[0].json[0].matches: the regex `[` is not valid: unclosed character class",
        ),
    ]);
}

#[test]
fn rules_that_no_answer_can_fulfil() {
    let rule = |rule: Value| json!({"hit": [rule]});
    let at = |more: Value| {
        let mut condition = json!({"at": "/a"});
        for (name, value) in more.as_object().unwrap() {
            condition[name] = value.clone();
        }
        json!({"hit": [{"json": [condition]}]})
    };
    assert_faults(&[
        (
            rule(json!({"words": ["not found"], "no_word": ["found"]})),
            "f.json: site: hit[0].no_word: `found` stands in `not found` of `words`: no body has the one without the other",
        ),
        (
            rule(json!({"any_word": ["a", "A"], "no_word": ["a"], "ignore_case": true})),
            "f.json: site: hit[0].no_word: it forbids every text of `any_word`",
        ),
        (
            rule(json!({"header": {"X-A": ""}, "no_header": ["x-a"]})),
            "f.json: site: hit[0].no_header: `X-A` is wanted by `header`",
        ),
        (
            rule(json!({"header": {"X-A": "", "x-a": "b"}})),
            "f.json: site: hit[0].header: `x-a` stands twice; upper and lower case are the same",
        ),
        (
            rule(json!({"body_is": "", "words": ["a"]})),
            "f.json: site: hit[0].body_is: an empty body fulfils none of the other conditions on the body",
        ),
        (
            rule(json!({"css": ["a", {"select": "a", "exists": false}]})),
            "f.json: site: hit[0].css[1]: `a` must be there and not be there",
        ),
        (
            rule(json!({"json": [{"at": "/a", "exists": true}, {"at": "/a", "exists": false}]})),
            "f.json: site: hit[0].json[1]: `/a` must be there and not be there",
        ),
        (
            rule(json!({"json": [{"at": "/a", "equals": 1}, {"at": "/a", "equals": 2}]})),
            "f.json: site: hit[0].json[0]: `/a` cannot equal two values; use `any_of`",
        ),
        (
            at(json!({"exists": false, "equals": 1})),
            "f.json: site: hit[0].json[0].exists: nothing is there that could fulfil the other conditions",
        ),
        (
            at(json!({"exists": true, "null": true})),
            "f.json: site: hit[0].json[0].null: null counts as absent, and `exists` wants a value",
        ),
        (
            at(json!({"null": true, "min_length": 1})),
            "f.json: site: hit[0].json[0].null: null fulfils none of the other conditions",
        ),
        (
            at(json!({"equals": 1, "not_equals": 1})),
            "f.json: site: hit[0].json[0].not_equals: it is the value that `equals` wants",
        ),
        (
            at(json!({"equals": 1, "any_of": [2]})),
            "f.json: site: hit[0].json[0].any_of: the value that `equals` wants is not among them",
        ),
        (
            at(json!({"contains": "a", "not_contains": "a"})),
            "f.json: site: hit[0].json[0].not_contains: it is the text that `contains` wants",
        ),
        (
            at(json!({"min_length": 3, "max_length": 2})),
            "f.json: site: hit[0].json[0].max_length: it is less than `min_length`",
        ),
        (
            at(json!({"above": 3, "below": 3})),
            "f.json: site: hit[0].json[0].below: no number is above the one and below the other",
        ),
    ]);
}

#[test]
fn mistakes_of_results() {
    let meta = |extractor: Value| json!({"result": {"type": "profile", "metadata": {"m": extractor}}});
    let list = |more: Value| {
        let mut list = json!({"type": "url", "each": "json:/*"});
        for (name, value) in more.as_object().unwrap() {
            list[name] = value.clone();
        }
        json!({"results": [list]})
    };
    let kinds = "json, css, meta, jsonld, regex, header, cookie, final_url, title, template, const, count; in `results` also value, key, group, attr";
    let no_kind = format!(
        "f.json: site: result.metadata.m: `title` is no extractor; write KIND:ARGUMENT, KIND being one of {kinds}"
    );
    let not_here =
        format!("f.json: site: result.metadata.m: `group:` is no extractor here; there are {kinds}");
    assert_faults(&[
        (
            json!({"profile": "https://site.example/{saved.x}"}),
            "f.json: site: profile: `{saved.x}` is not saved by an earlier probe; add it to that probe's `save`",
        ),
        (
            json!({"profile": "https://site.example/{config.x}"}),
            "f.json: site: profile: `{config.x}` must not stand here: keys are for requests only",
        ),
        (meta(json!("title")), &no_kind),
        (meta(json!("group:1")), &not_here),
        (meta(json!("meta:")), "f.json: site: result.metadata.m: `meta:` lacks what it reads"),
        (
            meta(json!("template:{value}")),
            "f.json: site: result.metadata.m: `{value}` stands in an extractor's `format` only",
        ),
        (
            meta(json!({"from": []})),
            "f.json: site: result.metadata.m.from: it is empty; name at least one KIND:ARGUMENT",
        ),
        (
            meta(json!({"from": ["title:"], "limit": 0})),
            "f.json: site: result.metadata.m.limit: allowed are 1 to 1000",
        ),
        (
            meta(json!({"from": ["title:"], "probe": 3})),
            "f.json: site: result.metadata.m.probe: there is no probe 3; the last one is 0 (0 is the first)",
        ),
        (
            meta(json!({"from": ["title:"], "where": [{"at": "/a", "equals": 1}]})),
            "f.json: site: result.metadata.m.where: it chooses among JSON elements: give one `json:` in `from`, or `each`",
        ),
        (
            meta(json!({"from": ["json:/a"], "regex": "("})),
            "f.json: site: result.metadata.m.regex: the regex `(` is not valid: unclosed group",
        ),
        (
            json!({"result": {"type": "profile", "metadata": {"A": "title:"}}}),
            "f.json: site: result.metadata: `A` is no name; allowed are a-z, 0-9 and `_`",
        ),
        (
            list(json!({"each": "title:"})),
            "f.json: site: results[0].each: `title:` gives no elements; write json:/POINTER/*, jsonld:/POINTER, css:SELECTOR, regex:PATTERN, header:NAME, lines: or json_lines:",
        ),
        (list(json!({"limit": 1001})), "f.json: site: results[0].limit: allowed are 1 to 1000"),
        (
            list(json!({"probe": 1})),
            "f.json: site: results[0].probe: there is no probe 1; the last one is 0 (0 is the first)",
        ),
        (
            list(json!({"keep": "("})),
            "f.json: site: results[0].keep: the regex `(` is not valid: unclosed group",
        ),
        (list(json!({"value": "group:1"})), "f.json: site: results[0]: `group:` needs `regex:` in `each`"),
        (
            list(json!({"each": "regex:(a)", "value": "group:2"})),
            "f.json: site: results[0]: `group:2`: the regex of `each` has only 1 groups",
        ),
        (
            list(json!({"each": "lines:", "value": "attr:href"})),
            "f.json: site: results[0]: `attr:` needs `css:` in `each`",
        ),
        (
            list(json!({"each": "lines:", "where": [{"at": "", "equals": 1}]})),
            "f.json: site: results[0].where: its pointers need JSON elements; use `keep` for texts",
        ),
    ]);
}

#[test]
fn every_mistake_is_listed_at_once_over_all_files() {
    let folder = std::env::temp_dir().join(format!("sightline-catalog-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut bad = entry();
    bad["id"] = json!("bad");
    bad["rank"] = json!(0);
    bad["hit"] = json!([{"regex": "("}, {"status": [1]}]);
    let one = write("one.json", &json!([entry(), bad]).to_string());
    let two = write("two.json", &json!([entry()]).to_string());
    let error = Catalog::load(false, &[one.clone(), two.clone(), folder.join("none.json")]).unwrap_err();
    let (one, two) = (one.display(), two.display());
    assert_eq!(error.faults().len(), 5);
    let want = [
        format!("{one}: bad: rank: the most popular site has rank 1"),
        format!("{one}: bad: hit[0].regex: the regex `(` is not valid: unclosed group"),
        format!(
            "{one}: bad: hit[1].status[0]: 1 is no HTTP status; allowed are 100 to 599, \"1xx\" to \"5xx\""
        ),
        format!("{two}: site: id: this id is there already; ids are unique over all files"),
    ];
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..4], want);
    assert!(lines[4].contains("none.json: it cannot be read: "), "{}", lines[4]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn formatting_sorts_orders_wraps_and_drops_defaults() {
    let text = r#"[{"miss":[{"status":[404]}],"hit":[{"status":[200]}],"probes":[{"method":"GET","url":"https://b.example/{query}"}],
        "category":"c","type":"username","platform":"B","id":"b","enabled":true,"known":[]},
        {"id":"a","platform":"A","type":"username","category":"c","probes":[{"url":"https://a.example/{query}","headers":{"Accept":"application/json","X-Something-Rather-Long":"and its value"}}],
        "hit":[{"status":["2xx"]}]}]"#;
    let want = r#"[
  {
    "id": "a",
    "platform": "A",
    "type": "username",
    "category": "c",
    "probes": [
      {
        "url": "https://a.example/{query}",
        "headers": {"Accept": "application/json", "X-Something-Rather-Long": "and its value"}
      }
    ],
    "hit": [{"status": ["2xx"]}]
  },
  {
    "id": "b",
    "platform": "B",
    "type": "username",
    "category": "c",
    "probes": [{"url": "https://b.example/{query}"}],
    "hit": [{"status": [200]}],
    "miss": [{"status": [404]}]
  }
]
"#;
    assert_eq!(Catalog::format(text).unwrap(), want);
    assert_eq!(Catalog::format(want).unwrap(), want);
    assert_eq!(Catalog::format("[]").unwrap(), "[]\n");
    assert!(Catalog::format("[{}]").is_err());
}

#[test]
fn every_builtin_regex_gives_sample_names() {
    for module in Catalog::builtin().unwrap().modules() {
        let Some(accepts) = &module.entry().accepts else { continue };
        let whole = format!("^(?:{accepts})$");
        let made: BTreeSet<_> =
            (0..10).filter_map(|seed| sightline::modules::sample::sample(&whole, seed)).collect();
        assert!(!made.is_empty(), "{}: {accepts}", module.id());
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_loader_panic(text in "\\PC{0,60}|[\\[\\]{}\",:a-z0-9 ]{0,80}") {
        let _ = Catalog::from_text("f.json", &text);
        let _ = Catalog::format(&text);
    }

    #[test]
    fn no_field_value_makes_the_compiler_panic(field in "accepts|profile|strip|home", value in "\\PC{0,20}|[(){}\\[\\]|.?*+:/a-z\\\\^$]{0,20}") {
        let mut entry = entry();
        entry[field] = json!(value.clone());
        entry["hit"] = json!([{"regex": value.clone()}, {"css": [value.clone()]}, {"words": [value.clone()]}]);
        entry["results"] = json!([{"type": "url", "each": value.clone(), "value": value.clone()}]);
        let _ = Catalog::from_text("f.json", &json!([entry]).to_string());
    }
}
