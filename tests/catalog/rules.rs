//! Mistakes of rules and results.

use super::*;

#[test]
fn mistakes_of_rules() {
    let rule = |rule: Value| json!({"hit": [rule]});
    assert_faults(&[
        (json!({"hit": []}), "f.json: site: hit: it is empty; at least 1 is required"),
        (
            rule(json!({})),
            "f.json: site: hit[0]: it is empty; it would match every answer; add at least a `status`",
        ),
        (
            rule(json!({"probe": 0, "ignore_case": true})),
            "f.json: site: hit[0]: no condition: it would match every answer; add at least a `status`",
        ),
        (
            rule(json!({"probe": 1, "status": [200]})),
            "f.json: site: hit[0].probe: there is no probe 1; the last one is 0 (0 is the first)",
        ),
        (
            rule(json!({"status": [404]})),
            "f.json: site: hit[0]: the same rule is in `miss`: it would always be a conflict",
        ),
        (
            rule(json!({"status": [99]})),
            "f.json: site: hit[0].status[0]: 99 is not allowed here; allowed are 100 to 599 and \"1xx\" to \"5xx\"",
        ),
        (
            rule(json!({"status": ["6xx"]})),
            "f.json: site: hit[0].status[0]: `6xx` is not allowed here; did you mean `1xx`? allowed are 1xx, 2xx, 3xx, 4xx, 5xx",
        ),
        (
            rule(json!({"regex": "("})),
            "f.json: site: hit[0].regex: the regex `(` is not valid: unclosed group",
        ),
        (
            rule(json!({"header": {"X-A": "\\b{query}"}})),
            "f.json: site: hit[0].header.X-A: the regex `\\b{query}` is not valid: unrecognized special word boundary assertion, valid choices are: start, end, start-half or end-half; variables are not filled in at this place",
        ),
        (
            rule(json!({"regex": ""})),
            "f.json: site: hit[0].regex: an empty text is not allowed here; write something, or leave it out",
        ),
        (
            rule(json!({"regex": "(?:a{1,100}){1,100}b"})),
            "f.json: site: hit[0].regex: the regex `(?:a{1,100}){1,100}b` is too costly: with its repetitions written out it has 10001 positions, allowed are 1000",
        ),
        (
            rule(json!({"header": {"X-A": "("}})),
            "f.json: site: hit[0].header.X-A: the regex `(` is not valid: unclosed group",
        ),
        (
            rule(json!({"words": ["a", ""]})),
            "f.json: site: hit[0].words[1]: an empty text is not allowed here; write something, or leave it out",
        ),
        (
            rule(json!({"words": ["{\"a\""]})),
            "f.json: site: hit[0].words[0]: a `{` without its `}`; write a literal brace twice: `{{`",
        ),
        (
            rule(json!({"words": ["{config.k}"]})),
            "f.json: site: hit[0].words[0]: `{config.k}` is not allowed here: keys are only for requests",
        ),
        (
            rule(json!({"css": ["a:hover"]})),
            "f.json: site: hit[0].css[0]: the selector `a:hover` contains `:`, which is not supported; allowed are compound selectors such as `tag#id.class[attribute^=\"value\"]`, joined by a space or `>`, listed by `,`",
        ),
        (
            rule(json!({"json": [{"at": "a", "exists": true}]})),
            "f.json: site: hit[0].json[0].at: `a` is not allowed here; a JSON pointer is empty or begins with `/`",
        ),
        (
            rule(json!({"json": [{"at": "/a"}]})),
            "f.json: site: hit[0].json[0]: 1 is too few; say `\"exists\": true`, or what the value must be",
        ),
        (
            rule(json!({"json": [{"at": "/a", "matches": "["}]})),
            "f.json: site: hit[0].json[0].matches: the regex `[` is not valid: unclosed character class",
        ),
    ]);
}

#[test]
fn mistakes_of_results() {
    let meta = |extractor: Value| json!({"result": {"type": "profile", "metadata": {"m": extractor}}});
    let list = |more: Value| json!({"results": [with(json!({"type": "url", "each": "json:/*"}), &more)]});
    let kinds = "json, css, meta, jsonld, script, regex, header, cookie, final_url, title, template, const, count, body_hash; in `results` also value, key, group, attr";
    let no_kind = format!(
        "f.json: site: result.metadata.m: `title` is not allowed here; write KIND:ARGUMENT, where KIND is one of {kinds}"
    );
    let not_here = format!(
        "f.json: site: result.metadata.m: `group:` is not an extractor that is allowed here; allowed are {kinds}"
    );
    assert_faults(&[
        (
            json!({"profile": "https://site.example/{saved.x}"}),
            "f.json: site: profile: `{saved.x}` is not saved by an earlier probe; add it to that probe's `save`",
        ),
        (
            json!({"profile": "https://site.example/{config.x}"}),
            "f.json: site: profile: `{config.x}` is not allowed here: keys are only for requests",
        ),
        (meta(json!("title")), &no_kind),
        (meta(json!("group:1")), &not_here),
        (
            meta(json!("body_hash:crc32")),
            "f.json: site: result.metadata.m: `crc32` is not a known algorithm; allowed are sha256, sha1, md5, mmh3",
        ),
        (
            meta(json!({"inner": {"from": ["json:/a"]}})),
            "f.json: site: result.metadata.m.inner: set `each` to the elements that it reads from",
        ),
        (
            meta(json!({"from": ["json:/a"], "each": "/b/*", "inner": {"from": ["json:/a"]}})),
            "f.json: site: result.metadata.m.from: `inner` reads instead of it: leave one of them out",
        ),
        (
            meta(json!({"each": "/b/*", "inner": {"each": "/b/*", "inner": {"from": ["group:1"]}}})),
            "f.json: site: result.metadata.m.inner.inner.from[0]: the elements that `inner` reads from are JSON",
        ),
        (
            meta(json!({"each": "/b/*", "inner": {"from": ["json:/a"], "each": "script:/b/*"}})),
            "f.json: site: result.metadata.m.inner.each: `script:` is not allowed here: elements are selected from the element itself",
        ),
        (
            meta(json!({"from": ["json:/a"], "each": "css:b"})),
            "f.json: site: result.metadata.m.each: `css:` gives no elements; write /POINTER/*, jsonld:/POINTER or script:/POINTER/*",
        ),
        (meta(json!("meta:")), "f.json: site: result.metadata.m: `meta:` lacks its argument"),
        (
            meta(json!("template:{value}")),
            "f.json: site: result.metadata.m: `{value}` is allowed only in an extractor's `format`",
        ),
        (
            meta(json!({"from": []})),
            "f.json: site: result.metadata.m.from: it is empty; at least 1 is required",
        ),
        (
            meta(json!({"from": ["title:"], "limit": 0})),
            "f.json: site: result.metadata.m.limit: 0 is not allowed here; write a whole number from 1 to 1000",
        ),
        (
            meta(json!({"from": ["title:"], "probe": 3})),
            "f.json: site: result.metadata.m.probe: there is no probe 3; the last one is 0 (0 is the first)",
        ),
        (
            meta(json!({"from": ["title:"], "where": [{"at": "/a", "equals": 1}]})),
            "f.json: site: result.metadata.m.where: it chooses among JSON elements: give one `json:` or `script:` in `from`, or `each`",
        ),
        (
            meta(json!({"from": ["json:/a"], "regex": "("})),
            "f.json: site: result.metadata.m.regex: the regex `(` is not valid: unclosed group",
        ),
        (
            json!({"result": {"type": "profile", "metadata": {"A": "title:"}}}),
            "f.json: site: result.metadata: `A` is not allowed here; allowed are a-z, 0-9 and `_`, at most 40 characters",
        ),
        (
            list(json!({"each": "title:"})),
            "f.json: site: results[0].each: `title:` gives no elements; write json:/POINTER/*, jsonld:/POINTER, script:/POINTER/*, css:SELECTOR, regex:PATTERN, header:NAME, lines: or json_lines:",
        ),
        (
            list(json!({"limit": 1001})),
            "f.json: site: results[0].limit: 1001 is not allowed here; write a whole number from 1 to 1000",
        ),
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
            list(json!({"each": "regex:({query|lower}):[a-z]{2,3}", "value": "group:2"})),
            "f.json: site: results[0]: `group:2`: the regex of `each` has only 1 groups",
        ),
        (
            list(json!({"each": "regex:{local}"})),
            "f.json: site: results[0].each: `{local}` has no value in username modules; use `{query}`",
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
