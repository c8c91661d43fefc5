//! Mistakes of form, names, limits and probes.

use super::*;

/// Entries with an invalid structure. The JSON Schema refuses all of these, too.
pub(super) fn mistakes_of_form() -> Vec<(Value, &'static str)> {
    vec![
        (json!({"platform": null}), "f.json: site: the field `platform` is missing"),
        (
            json!({"platfrom": "x"}),
            "f.json: site: unknown field `platfrom`; did you mean `platform`? allowed are accepts, barrier, category, contact, control, discovery, domain_in, domain_not_in, enabled, every_ms, hit, home, id, known, miss, needs, note, nsfw, off, per_day, platform, probes, profile, rank, result, results, scripts, strip, tags, type, verified, weak_miss",
        ),
        (json!({"id": 5}), "f.json: [0]: id: 5 is not allowed here; write a text"),
        (
            json!({"type": "usrname"}),
            "f.json: site: type: `usrname` is not allowed here; did you mean `username`? allowed are domain, email, username",
        ),
        (json!({"nsfw": "yes"}), "f.json: site: nsfw: a text is not allowed here; write true or false"),
        (
            json!({"rank": -1}),
            "f.json: site: rank: -1 is not allowed here; write a whole number from 1 to 4294967295",
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
            "f.json: site: hit[0].status[0]: true is not allowed here; write a whole number from 100 to 599 or one of 1xx, 2xx, 3xx, 4xx, 5xx",
        ),
        (
            json!({"hit": [{"stats": [200]}]}),
            "f.json: site: hit[0]: unknown field `stats`; did you mean `status`? allowed are any_word, body_is, css, final_url, header, ignore_case, json, no_header, no_word, probe, regex, shows_query, status, text, title, title_is, words",
        ),
        (
            json!({"hit": [{"json": [{"equals": 1}]}]}),
            "f.json: site: hit[0].json[0]: the field `at` is missing",
        ),
        (
            json!({"hit": [{"css": [{"select": "a", "exist": false}]}]}),
            "f.json: site: hit[0].css[0]: unknown field `exist`; did you mean `exists`? allowed are attribute, equals_query, exists, matches, select",
        ),
        (
            json!({"verified": "2026-08"}),
            "f.json: site: verified: a text is not allowed here; write an object",
        ),
        (
            json!({"verified": {"by": "lists", "date": "2026-08"}}),
            "f.json: site: verified.by: `lists` is not allowed here; did you mean `list`? allowed are recorded, list, documentation",
        ),
        (
            json!({"verified": {"by": "list", "date": "2026-13"}}),
            "f.json: site: verified.date: `2026-13` is not allowed here; write a date such as 2026-08-22, or 2026-08 if the day is not known",
        ),
        (
            json!({"enabled": false, "off": {"date": "2026-08-22"}}),
            "f.json: site: off: the field `reason` is missing",
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
            "f.json: site: result.metadata.a.labels[0]: an array is not allowed here; write an array of 2 texts",
        ),
    ]
}

#[test]
fn mistakes_of_form_name_file_entry_and_field() {
    assert_eq!(faults(&json!({})), [""; 0]);
    assert_faults(&mistakes_of_form());
}

#[test]
fn mistakes_of_names_and_limits() {
    assert_faults(&[
        (
            json!({"id": "Site!"}),
            "f.json: Site!: id: `Site!` is not allowed here; an id is 1 to 64 of a-z, 0-9, `_`, `-` and `.`",
        ),
        (
            json!({"platform": " Site"}),
            "f.json: site: platform: ` Site` is not allowed here; allowed are 1 to 80 characters without white space at the ends",
        ),
        (
            json!({"category": "Social"}),
            "f.json: site: category: `Social` is not allowed here; allowed are a-z, 0-9, `_`, `-` and spaces, at most 64 characters",
        ),
        (
            json!({"tags": ["ok", "Ä"]}),
            "f.json: site: tags[1]: `Ä` is not allowed here; allowed are a-z, 0-9, `_`, `-` and spaces, at most 64 characters",
        ),
        (
            json!({"rank": 0}),
            "f.json: site: rank: 0 is not allowed here; write a whole number from 1 to 4294967295",
        ),
        (
            json!({"home": "site.example"}),
            "f.json: site: home: `site.example` is not allowed here; a web address begins with `https://` or `http://`",
        ),
        (
            json!({"home": "http:/site.example/"}),
            "f.json: site: home: `http:/site.example/` is not allowed here; a web address begins with `https://` or `http://`",
        ),
        (
            json!({"probes": [{"url": "https://site.example/{config.MY_KEY}"}]}),
            "f.json: site: probes[0].url: `MY_KEY` of `{config.MY_KEY}` is not a valid name; allowed are a-z, 0-9 and `_`, at most 40 characters",
        ),
        (
            json!({"every_ms": 0}),
            "f.json: site: every_ms: 0 is not allowed here; allowed are 1 to 86400000 (a day)",
        ),
        (
            json!({"per_day": 0}),
            "f.json: site: per_day: 0 is not allowed here; write a whole number from 1 to 4294967295",
        ),
        (
            json!({"strip": ""}),
            "f.json: site: strip: an empty text is not allowed here; write something, or leave it out",
        ),
        (
            json!({"off": {"date": "2026-08-22", "reason": "the site is closed"}}),
            "f.json: site: off: it is for disabled modules; add `\"enabled\": false`, or leave it out",
        ),
        (
            json!({"verified": {"by": "recorded", "date": "2026-02-30"}}),
            "f.json: site: verified.date: the day `2026-02-30` does not exist",
        ),
        (json!({"domain_in": ["a.example"]}), "f.json: site: domain_in: it is for email modules"),
        (
            json!({"type": "email", "domain_in": ["A.example"]}),
            "f.json: site: domain_in[0]: `A.example` is not allowed here; write a domain in lower case",
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
            "f.json: site: accepts: the regex `(?:\\w{500}){500}` is too costly: with its repetitions written out it has 250000 positions, allowed are 1000",
        ),
        (
            json!({"accepts": "[0-9]+", "known": ["bob"]}),
            "f.json: site: known[0]: the module itself would skip it: not_accepted",
        ),
    ]);
}

#[test]
fn mistakes_of_probes() {
    let probe = |more: Value| json!({"probes": [with(json!({"url": URL}), &more)]});
    assert_faults(&[
        (json!({"probes": []}), "f.json: site: probes: it is empty; at least 1 is required"),
        (
            json!({"probes": [{"url": URL}, {"url": URL}, {"url": URL}, {"url": URL}, {"url": URL}]}),
            "f.json: site: probes: 5 are too many; at most 4",
        ),
        (
            probe(json!({"fallback": true})),
            "f.json: site: probes[0].fallback: the first probe cannot fall back on anything before it",
        ),
        (
            probe(json!({"url": "site.example/{query}"})),
            "f.json: site: probes[0].url: `site.example/{query}` is not allowed here; a URL must begin with `https://`, `http://` or `{saved.NAME}`",
        ),
        (
            probe(json!({"url": "https://site.example/{user}"})),
            "f.json: site: probes[0].url: `{user}` is not a variable; allowed are query, local, domain, saved.NAME, config.NAME, config.NAME?; write a literal brace twice: `{{`",
        ),
        (
            probe(json!({"url": "https://site.example/{query|upper}"})),
            "f.json: site: probes[0].url: `|upper` is not a filter; allowed are lower, md5, sha1, sha256, wkd, first_56, registrable, label, suffix, tld, reverse_ip, urlencode",
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
            "f.json: site: probes[0].url: `localhost` is not a public host name",
        ),
        (
            probe(json!({"url": "https://site.example:99999/{query}"})),
            "f.json: site: probes[0].url: `https://site.example:99999/example` (filled with an example) is not a valid URL: invalid port number",
        ),
        (
            json!({"needs": ["k"]}),
            "f.json: site: needs[0]: `k` is not allowed here; write `config.NAME`, where NAME consists of a-z, 0-9 and `_`",
        ),
        (
            json!({"needs": ["config.k"]}),
            "f.json: site: needs[0]: no probe uses `{config.k}`; use it or remove it",
        ),
        (
            probe(json!({"headers": {"X-A": "1", "x-a": "2"}})),
            "f.json: site: probes[0].headers: `x-a` is repeated; case does not matter",
        ),
        (
            probe(json!({"headers": {"Host": "x"}})),
            "f.json: site: probes[0].headers: `Host` is set by the program",
        ),
        (
            probe(json!({"headers": {"TE": "trailers"}})),
            "f.json: site: probes[0].headers: `TE` is set by the program",
        ),
        (
            probe(json!({"headers": {"X A": "x"}})),
            "f.json: site: probes[0].headers: `X A` is not allowed here; allowed are ASCII letters, digits and `-`",
        ),
        (
            probe(json!({"headers": {"X-A": "a\nb"}})),
            "f.json: site: probes[0].headers.X-A: a header value may contain only printable ASCII",
        ),
        (
            probe(json!({"method": "POST", "form": {"a": "b"}, "json": {}})),
            "f.json: site: probes[0]: `form`, `json` and `text` exclude each other: a probe has one body",
        ),
        (
            probe(json!({"form": {"a": "b"}})),
            "f.json: site: probes[0].method: GET has no body; use POST or PUT",
        ),
        (
            probe(json!({"method": "PUT", "text": "a"})),
            "f.json: site: probes[0].text: add a `Content-Type` header",
        ),
        (
            probe(json!({"method": "POST", "json": {"a": ["{user}"]}})),
            "f.json: site: probes[0].json.a[0]: `{user}` is not a variable; allowed are query, local, domain, saved.NAME, config.NAME, config.NAME?; write a literal brace twice: `{{`",
        ),
        (
            drawn(probe(json!({"via": "browser", "method": "HEAD"}))),
            "f.json: site: probes[0].via: a browser opens pages: method GET, no body",
        ),
        (
            probe(json!({"save": {"A": "title:"}})),
            "f.json: site: probes[0].save: `A` is not allowed here; allowed are a-z, 0-9 and `_`, at most 40 characters",
        ),
        (
            probe(json!({"save": {"a": "titel:"}})),
            "f.json: site: probes[0].save.a: `titel:` is not an extractor that is allowed here; allowed are json, css, meta, jsonld, script, regex, header, cookie, final_url, title, template, const, count, body_hash; in `results` also value, key, group, attr",
        ),
        (
            drawn(json!({"type": "email", "probes": [{"url": URL, "via": "browser"}]})),
            "f.json: site: probes: `\"via\": \"browser\"` is for username modules only",
        ),
        (
            json!({"probes": [{"url": URL, "method": "HEAD"}], "hit": [{"words": ["a"]}]}),
            "f.json: site: probes[0].method: HEAD has no body, but a rule or an extractor reads it; use GET",
        ),
    ]);
}
