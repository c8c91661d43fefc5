//! The values that extractors read.

use super::*;

#[test]
fn every_kind_of_extractor_works() {
    let body = json!({
        "name": " Bob\u{0}\u{202e} B. ", "bio": "<p>a &amp; b</p>", "made": 1_700_000_000, "tags": ["a", null, "", "b"],
        "events": [{"k": "reg", "at": "2020-01-02 03:04:05"}, {"k": "exp", "at": "x"}],
        "mx": ["10 MX.example.", "20 b.example."], "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}},
        "long": "x".repeat(5000), "empty": "", "nothing": null, "spf": "v=spf1 include:a.example include:b.example -all",
    });
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "value": "json:/name", "metadata": {
            "bio": {"from": ["json:/bio"], "transform": ["html_text"]},
            "made": {"from": ["json:/none", "json:/made"], "transform": ["unix_time"]},
            "tags": "json:/tags/*", "first_tag": "json:/tags/0",
            "registered": {"from": ["json:/at"], "each": "/events/*", "where": [{"at": "/k", "equals": "reg"}], "transform": ["date_time"]},
            "expires": {"from": ["json:/at"], "each": "/events/*", "where": [{"at": "/k", "equals": "exp"}]},
            "mx": {"from": ["json:/mx/*"], "transform": ["last_word", "strip_dot", "lower"], "limit": 1},
            "kinds": {"from": ["json:/mx/*"], "labels": [["^10 ", "first"]]},
            "includes": {"from": ["json:/spf"], "regex": "include:(\\S+)", "all": true, "format": "{value}?{query}"},
            "count": "count:/tags/*", "served": "header:Server", "sid": "cookie:sid", "url": "final_url:",
            "link": "template:https://x.example/{query|lower}", "kind": "const:test",
            "deep": "json:/deep", "long": "json:/long", "empty": "json:/empty", "nothing": "json:/nothing",
        }},
        "results": [
            {"type": "domain", "each": "json:/mx/*", "value": {"from": ["value:"], "transform": ["last_word", "strip_dot"]},
             "keep": "^[a-z.]+$", "metadata": {"index": "key:", "kind": "const:mx"}},
            {"type": "technology", "each": "json:/events/*", "where": [{"at": "/k", "any_of": ["reg", "exp"]}], "value": "json:/k", "limit": 1},
            {"type": "domain", "each": "regex:(include):(\\S+)", "value": "group:2", "metadata": {"how": "group:1"}},
        ],
    }));
    let headers = [("server", "nginx"), ("set-cookie", "sid=7; Secure")];
    let answer = respond(200, &headers, body.to_string());
    let bench = Bench::new(move |_| Ok(answer.clone()));
    let report = bench.check(&site, &username("Bob"));
    assert_eq!(report.outcome, Outcome::Hit);
    let main = &report.findings[0];
    assert_eq!(main.value.as_deref(), Some("Bob B."));
    let mut metadata = Value::Object(main.metadata.clone());
    assert_eq!(metadata["long"].as_str().unwrap().len(), 2000);
    metadata["long"] = Value::Null;
    assert_eq!(
        metadata,
        json!({
            "bio": "a & b", "made": "2023-11-14T22:13:20Z", "tags": ["a", "b"], "first_tag": "a",
            "registered": "2020-01-02T03:04:05Z", "expires": "x", "mx": ["mx.example"],
            "kinds": ["first", "20 b.example."], "includes": ["a.example?Bob", "b.example?Bob"], "count": 3,
            "served": "nginx", "sid": "7", "url": "https://site.example/u/x", "link": "https://x.example/bob",
            "kind": "test", "long": null,
        })
    );
    let rest: Vec<(&str, &str, Value)> = report.findings[1..]
        .iter()
        .map(|it| (it.result_type.as_str(), it.value.as_deref().unwrap(), Value::Object(it.metadata.clone())))
        .collect();
    assert_eq!(
        rest,
        [
            ("domain", "b.example", json!({"index": 1, "kind": "mx", "how": "include"})),
            ("technology", "reg", json!({})),
            ("domain", "a.example", json!({"how": "include"})),
        ]
    );
}

#[test]
fn title_meta_json_ld_and_elements_are_read() {
    let html = r#"<html><head><title> Bob &mdash; Site </title><meta property="og:title" content="Bob"><meta name=description content="">
        <script type="application/ld+json">[{"a": "A"}, {"b": "B"}]</script><script type="application/ld+json">{</script>
        <script type="application/ld+json">{"@graph": [{"@type": "Person", "name": "Bob B."}], "d": "D"}</script></head>
        <ul id=l><li><a href="/a" title="A">one</a><li><a href="/b">two</a></ul><h1>B<b>o</b>b</h1>"#;
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "metadata": {
            "title": "title:", "og": "meta:og:title", "nothing": "meta:description", "person": "jsonld:/name",
            "b": "jsonld:/b", "d": "jsonld:/d",
            "heading": "css:h1", "first": "css:li a", "hrefs": {"from": ["css:li a@href"], "all": true}, "re": "regex:<h1>(.)",
        }},
        "results": [
            {"type": "technology", "each": "css:#l a@href", "metadata": {"position": "key:"}},
            {"type": "username", "each": "css:#l a", "metadata": {"position": "key:"}},
        ],
    }));
    let bench = Bench::new(move |_| Ok(respond(200, &[("content-type", "text/html")], html)));
    let report = bench.check(&site, &username("bob"));
    assert_eq!(
        Value::Object(report.findings[0].metadata.clone()),
        json!({"title": "Bob — Site", "og": "Bob", "person": "Bob B.", "b": "B", "d": "D", "heading": "Bob", "first": "one",
            "hrefs": ["/a", "/b"], "re": "B"})
    );
    let rest: Vec<(&str, &Value)> = report.findings[1..]
        .iter()
        .map(|it| (it.value.as_deref().unwrap(), it.metadata.values().next().unwrap()))
        .collect();
    assert_eq!(rest, [("/a", &json!(0)), ("/b", &json!(1)), ("one", &json!(0)), ("two", &json!(1))]);
}

/// Returns the metadata that a module with these extractors reads.
fn metadata(fields: &Value, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Value {
    let site = module(&json!({"control": false, "result": {"type": "profile", "metadata": fields}}));
    let answer = respond(200, headers, body);
    let report = Bench::new(move |_| Ok(answer.clone())).check(&site, &username("bob"));
    Value::Object(report.findings[0].metadata.clone())
}

#[test]
fn json_that_is_not_quite_valid_is_read() {
    for (body, want) in [
        ("\u{feff}\u{feff} {\"n\": \"Bob\"}\u{feff}\n", "Bob"),
        (")]}',\n\u{feff}{\"n\": \"Bob\"}", "Bob"),
        (r#"{"n": "B\ud83d"}"#, "B\u{fffd}"),
        (r#"{"n": "B\udc00\ud83d\ude00\ud83d\u0041"}"#, "B\u{fffd}😀\u{fffd}A"),
        (r#"{"n": "\x42\'\o\/b\\\""}"#, "B'o/b\\\""),
        ("{\"n\": \"B\to\nb\"}", "B o b"),
        ("{\"n\": \"B\\\nob\"}", "Bob"),
    ] {
        let fields = json!({"n": {"from": ["json:/n"], "transform": ["trim"]}});
        assert_eq!(metadata(&fields, &[], body), json!({"n": want}), "{body}");
    }
    // What JavaScript does not read either is no JSON.
    for body in [r#"{"n": "\u12"}"#, r#"{"n": "\1"}"#, r#"{"n": "\x4"}"#, "{\"n\": \"B", "{n: 1}"] {
        assert_eq!(
            metadata(&json!({"n": "json:/n", "k": "const:k"}), &[], body),
            json!({"k": "k"}),
            "{body}"
        );
    }
    let page = r#"<script>a = {"n": "\ud83d\x42"}; b = JSON.parse('{"m": "\u{42}\q"}'); c = JSON.parse('{"m": "\vo\d"}')</script>"#;
    let read = metadata(&json!({"n": "script:/n", "m": "script:/m"}), &[], page);
    assert_eq!(read, json!({"n": "\u{fffd}B", "m": "od"}));
}

#[test]
fn metas_and_json_ld_of_any_form_are_read() {
    let html = r#"<meta name="description" property="og:description" content="Hi"><meta itemprop=a name=B property=a content=C>
        <script type="application/ld+json"><!-- [{"@context": "x", "@graph": [{"@graph": {"n": "deep\ud800"}}]}] --></script>"#;
    let fields = json!({"d": "meta:description", "o": "meta:og:description", "a": "meta:a", "b": "meta:b", "n": "jsonld:/n"});
    let want = json!({"d": "Hi", "o": "Hi", "a": "C", "b": "C", "n": "deep\u{fffd}"});
    assert_eq!(metadata(&fields, &[], html), want);
    for graph in [
        json!([{"@type": "ProfilePage", "mainEntity": {"@id": "#me"}}, {"@type": "Person", "@id": "#me", "name": "Bob B."}]),
        json!([{"@type": "ProfilePage", "mainEntity": [{"@type": "Person", "name": "Bob B."}]}]),
        json!([{"@type": ["https://schema.org/Person"], "name": "Bob B."}]),
    ] {
        let linked = json!([{"@graph": graph}]);
        let html = format!(r#"<script type="application/ld+json">{linked}</script>"#);
        let read = metadata(&json!({"k": "const:k"}), &[("content-type", "text/html")], html);
        assert_eq!(read["display_name"], "Bob B.", "{linked}");
    }
}

#[test]
fn an_entry_reads_the_last_cookie_of_a_name() {
    let cookie = |value| ("set-cookie", value);
    let headers = [cookie("a=1"), cookie("b=2"), cookie("a=3; Path=/"), cookie("b=; Max-Age=0")];
    let read = metadata(&json!({"a": "cookie:a", "b": "cookie:b", "k": "const:k"}), &headers, "page");
    assert_eq!(read, json!({"a": "3", "k": "k"}));
}

#[test]
fn a_number_is_read_right_or_left_out() {
    for (text, followers, rating) in [
        ("1,5K", json!(1500), json!(1500)),
        ("2,3M", json!(2_300_000), json!(2_300_000)),
        ("4,5", Value::Null, json!(4.5)),
        ("1.234", json!(1234), Value::Null),
        ("1 234", json!(1234), json!(1234)),
        ("١٬٢٣٤", json!(1234), json!(1234)),
        ("1,2 B", Value::Null, Value::Null),
    ] {
        for number in [json!("css:b"), json!({"from": ["css:b"], "transform": ["number"]})] {
            let fields = json!({"followers": number, "rating": number, "kind": "const:k"});
            let read = metadata(&fields, &[], format!("<b>{text}</b>"));
            assert_eq!((&read["followers"], &read["rating"]), (&followers, &rating), "{text} {number}");
        }
    }
}

#[test]
fn selectors_work_inside_selected_elements() {
    let body = json!({"entities": [
        {"roles": ["abuse"], "vcardArray": ["vcard", [["fn", {}, "text", "Not this one"]]]},
        {"roles": ["registrar"], "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["fn", {}, "text", "Registrar Inc"]]],
         "entities": [{"roles": ["abuse"], "vcardArray": ["vcard", [["email", {}, "text", "abuse@r.example"], ["email", {}, "text", "b@r.example"]]]}]},
    ]});
    let card = |name: &str| json!({"from": ["json:/3"], "each": "/vcardArray/1/*", "where": [{"at": "/0", "equals": name}]});
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "metadata": {
            "registrar": {"each": "/entities/*", "where": [{"at": "/roles", "contains": "registrar"}], "inner": card("fn")},
            "abuse": {
                "each": "json:/entities/*", "where": [{"at": "/roles", "contains": "registrar"}], "transform": ["lower"],
                "inner": {"each": "/entities/*", "inner": card("email")}, "all": true,
            },
            "none": {"each": "/entities/*", "where": [{"at": "/roles", "contains": "tech"}], "inner": card("fn")},
        }},
        "results": [{"type": "person_name", "each": "json:/entities/*", "value": card("fn")}],
    }));
    let answer = respond(200, &[], body.to_string());
    let report = Bench::new(move |_| Ok(answer.clone())).check(&site, &username("bob"));
    let metadata = Value::Object(report.findings[0].metadata.clone());
    assert_eq!(metadata, json!({"registrar": "Registrar Inc", "abuse": ["abuse@r.example", "b@r.example"]}));
    let names: Vec<_> = report.findings[1..].iter().map(|it| it.value.as_deref().unwrap()).collect();
    assert_eq!(names, ["Not this one", "Registrar Inc"]);
}

#[test]
fn scripts_feeds_and_digests_are_read() {
    let page = r#"<script id="__NEXT_DATA__" type="application/json">{"props": {"user": {"bio": "Hi", "friends": [{"n": "a", "k": 1}, {"n": "b", "k": 2}]}}}</script><img src="../i.png">"#;
    let site = module(&json!({
        "control": false,
        "result": {"type": "profile", "metadata": {
            "bio": "script:/props/user/bio", "names": "script:/props/user/friends/*/n",
            "second": {"from": ["json:/n"], "each": "script:/props/user/friends/*", "where": [{"at": "/k", "above": 1}]},
            "first": {"from": ["json:/n"], "each": "script:/props/user/friends/*", "where": [{"at": "/k", "below": 2}]},
            "icon": {"from": ["css:img@src"], "transform": ["absolute_url"]}, "md5": "body_hash:md5", "mmh3": "body_hash:mmh3",
        }},
        "results": [{"type": "username", "each": "script:/props/user/friends/*", "value": "json:/n", "where": [{"at": "/k", "equals": 2}]}],
    }));
    let report = Bench::new(move |_| Ok(respond(200, &[], page))).check(&site, &username("bob"));
    assert_eq!(
        Value::Object(report.findings[0].metadata.clone()),
        json!({"bio": "Hi", "names": ["a", "b"], "second": "b", "first": "a", "icon": "https://site.example/i.png",
            "md5": "4340ae27ca655aeb7386cabe9df436a6", "mmh3": 1_519_968_843})
    );
    assert_eq!(report.findings[1].value.as_deref(), Some("b"));
}

#[test]
fn invalid_entity_values_are_dropped() {
    let body = json!({
        "hosts": ["WWW.example.org.", "example.org", "*.example.org", "a.example.net", "b.example.org", 7, "www.example.org"],
        "ips": ["192.0.2.1", "not an address", "2001:DB8::1", "2001:db8::1"], "links": ["/a", "https://a.example/", "mailto:x"],
        "mails": ["Bob@Example.ORG", "bob(at)example.org"],
    });
    let list = |kind: &str, from: &str| json!({"type": kind, "each": format!("json:/{from}/*")});
    let site = module(&json!({
        "type": "domain", "probes": [{"url": "https://site.example/?q={query}"}],
        "result": {"type": "url", "value": "json:/links/0"},
        "results": [list("subdomain", "hosts"), list("ip_address", "ips"), list("url", "links"), list("email", "mails")],
    }));
    let answer = respond(200, &[], body.to_string());
    let query = Query::parse(SearchType::Domain, "example.org").unwrap();
    let report = Bench::new(move |_| Ok(answer.clone())).check(&site, &query);
    let found: Vec<_> =
        report.findings.iter().map(|it| (it.result_type.as_str(), it.value.as_deref().unwrap())).collect();
    assert_eq!(
        found,
        [
            ("subdomain", "www.example.org"),
            ("subdomain", "b.example.org"),
            ("ip_address", "192.0.2.1"),
            ("ip_address", "2001:db8::1"),
            ("url", "https://a.example/"),
            ("email", "Bob@example.org"),
        ]
    );
    // A hit without findings is still a hit.
    let site = module(&json!({"control": false, "result": {"type": "email", "value": "json:/mail"}}));
    for (body, want) in [
        (json!({"mail": ["no", "a@example.org"]}), ("account", "bob")),
        (json!({"mail": "a@example.org"}), ("email", "a@example.org")),
        (json!({"mail": "none"}), ("account", "bob")),
    ] {
        let answer = respond(200, &[], body.to_string());
        let report = Bench::new(move |_| Ok(answer.clone())).check(&site, &username("bob"));
        let [main] = report.findings.as_slice() else { panic!("{report:?}") };
        assert_eq!((main.result_type.as_str(), main.value.as_deref().unwrap()), want, "{body}");
    }
}

/// A page with these head elements.
fn page(status: u16, head: &str) -> Response {
    respond(
        status,
        &[("content-type", "text/html")],
        format!("<html><head>{head}</head><body>page</body></html>"),
    )
}

#[test]
fn generic_profile_data_is_read() {
    let head = |name: &str, bio: &str| {
        format!(
            r#"<title>{name} on Site</title><meta property="og:title" content="Ana Rivera (@{name})">
            <meta property="og:description" content="{bio}"><meta property="og:image" content="/a/{name}.png">"#
        )
    };
    let ask = |fields: Value, control: Response| {
        let bench = Bench::new(move |request| {
            let name = request.trace.query.to_string();
            match request.trace.control {
                true if control.status == 0 => Ok(page(404, &head(&name, "Join Site"))),
                true => Ok(control.clone()),
                false => Ok(page(200, &head(&name, "Likes maps"))),
            }
        });
        let site = module(&fields);
        let first = bench.check(&site, &username("bob")).findings.remove(0).metadata;
        // The verdict and its evidence are known at this point.
        let second = bench.check(&site, &username("bob")).findings.remove(0).metadata;
        assert_eq!(first, second);
        Value::Object(first)
    };
    let all = json!({"title": "bob on Site", "display_name": "Ana Rivera", "bio": "Likes maps",
        "avatar_url": "https://site.example/a/bob.png"});
    assert_eq!(ask(json!({}), page(404, "<title>Not found</title>")), all);
    // The page of the made-up name has the same data, so only differing values belong to the account.
    assert_eq!(ask(json!({}), page(0, "")), json!({"bio": "Likes maps"}));
    let own = json!({"result": {"type": "profile", "metadata": {"bio": "const:own", "title": "css:h7", "avatar": "css:h8"}}});
    let want =
        json!({"bio": "own", "display_name": "Ana Rivera", "avatar_url": "https://site.example/a/bob.png"});
    assert_eq!(ask(own, page(404, "")), want, "what the entry sets is the entry's, found or not");
    let other = json!({"result": {"type": "url", "value": "final_url:"}});
    assert_eq!(ask(other, page(404, "")), json!({}), "an address has no portrait");
    let bench = Bench::new(|_| {
        Ok(respond(200, &[("content-type", "application/json")], "{\"a\": \"<title>x</title>\"}"))
    });
    let report = bench.check(&module(&json!({"control": false})), &username("bob"));
    assert_eq!(report.findings[0].metadata.len(), 0, "JSON is no page");
}
