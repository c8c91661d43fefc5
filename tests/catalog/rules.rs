//! Mistakes of rules and results.

use super::*;

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
        (
            rule(json!({"header": {"X-A": "\\b{query}"}})),
            "f.json: site: hit[0].header.X-A: the regex `\\b{query}` is not valid: unrecognized special word boundary assertion, valid choices are: start, end, start-half or end-half; variables are not filled in at this place",
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
        (
            rule(json!({"body_hash": {"sha256": ["abc"]}})),
            "f.json: site: hit[0].body_hash.sha256[0]: a sha256 digest is 64 hex digits",
        ),
        (
            rule(json!({"body_hash": {"mmh3": [1_099_511_627_776_i64]}})),
            "f.json: site: hit[0].body_hash.mmh3[0]: 1099511627776 is not allowed here; write a whole number from -2147483648 to 2147483647",
        ),
        (
            rule(json!({"script": [{"at": "a", "exists": true}]})),
            "f.json: site: hit[0].script[0].at: the JSON pointer `a` must be empty or begin with `/`",
        ),
        (
            rule(json!({"script": [{"at": "/a", "exists": true}], "json": [{"at": "/a", "exists": true}]})),
            "f.json: site: hit[0].script: a body that is JSON has no scripts: use `json` or `script`, not both",
        ),
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
            "f.json: site: hit[0].json[0]: no condition beside `at` (an empty `any_of` is none); say `\"exists\": true`, or what the value must be",
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
    let kinds = "json, css, meta, jsonld, script, regex, header, cookie, final_url, title, template, const, count, body_hash; in `results` also value, key, group, attr";
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
        (
            meta(json!("body_hash:crc32")),
            "f.json: site: result.metadata.m: `crc32` is no algorithm; there are sha256, sha1, md5, mmh3",
        ),
        (
            meta(json!({"inner": {"from": ["json:/a"]}})),
            "f.json: site: result.metadata.m.inner: say in `each` where the elements are that it reads from",
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
            "f.json: site: result.metadata.m.inner.each: `script:` cannot stand here: elements are chosen from the element itself",
        ),
        (
            meta(json!({"from": ["json:/a"], "each": "css:b"})),
            "f.json: site: result.metadata.m.each: `css:` gives no elements; write /POINTER/*, jsonld:/POINTER or script:/POINTER/*",
        ),
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
            "f.json: site: result.metadata.m.where: it chooses among JSON elements: give one `json:` or `script:` in `from`, or `each`",
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
            "f.json: site: results[0].each: `title:` gives no elements; write json:/POINTER/*, jsonld:/POINTER, script:/POINTER/*, css:SELECTOR, regex:PATTERN, header:NAME, lines: or json_lines:",
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
