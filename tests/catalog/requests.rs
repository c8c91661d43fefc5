//! Mistakes in optional keys, feeds and pages. Valid entries load.

use super::*;

fn probe(more: &Value) -> Value {
    json!({"probes": [with(json!({"url": URL}), more)]})
}

#[test]
fn a_whois_query_is_one_line_to_port_43() {
    const ADDRESS: &str =
        "f.json: site: probes[0].url: the address of a WHOIS query is http://SERVER:43/QUERY";
    const PLAIN: &str =
        "f.json: site: probes[0]: a WHOIS query has no method, headers, body or redirects: leave them out";
    let whois = |url: &str| json!([{"url": url, "via": "whois"}]);
    assert_faults(&[
        (json!({"probes": whois("https://whois.example:43/{query}")}), ADDRESS),
        (json!({"probes": whois("http://whois.example/{query}")}), ADDRESS),
        (json!({"probes": whois("http://whois.example:25/{query}")}), ADDRESS),
        (json!({"probes": whois("http://whois.example:43/?q={query}")}), ADDRESS),
        (
            json!({"probes": [{"url": "http://whois.example:43/{query}", "via": "whois", "headers": {"X-A": "b"}}]}),
            PLAIN,
        ),
        (
            json!({"probes": [{"url": "http://whois.example:43/{query}", "via": "whois", "follow": true}]}),
            PLAIN,
        ),
    ]);
    assert_eq!(faults(&json!({"probes": whois("http://whois.example:43/{query}")})), [""; 0]);
}

#[test]
fn mistakes_of_optional_keys() {
    assert_faults(&[
        (
            probe(&json!({"method": "POST", "form": {"a": "{page}"}})),
            "f.json: site: probes[0].form.a: `{page}` is allowed only in the `url` of `pages`",
        ),
        (
            probe(&json!({"url": "https://site.example/{config.k?}/{query}"})),
            "f.json: site: probes[0].url: `{config.k?}` may be missing: in a URL it is allowed only in a query parameter",
        ),
        (
            probe(
                &json!({"method": "POST", "text": "{config.k?}", "headers": {"Content-Type": "text/plain"}}),
            ),
            "f.json: site: probes[0].text: a key that may be missing (`{config.NAME?}`) is not allowed here: nothing can be left out of a text",
        ),
        (
            json!({
                "needs": ["config.k"],
                "probes": [{"url": URL, "headers": {"A": "{config.k}", "B": "{config.k?}"}}],
            }),
            "f.json: site: probes[0].headers.B: `{config.k?}` may be missing, but \"config.k\" is in `needs`; remove the `?` or the entry of `needs`",
        ),
        (
            json!({"hit": [{"words": ["{config.k?}"]}]}),
            "f.json: site: hit[0].words[0]: `{config.k}` is not allowed here: keys are only for requests",
        ),
        (
            json!({"needs": ["config.k"], "probes": [
                {"url": URL, "headers": {"A": "{config.k}"}, "save": {"a": "template:{config.k}"}},
            ]}),
            "f.json: site: probes[0].save.a: `{config.k}` is not allowed here: keys are only for requests",
        ),
    ]);
}

#[test]
fn mistakes_of_feeds() {
    let feed = |more: Value| {
        let feed = json!({"url": "https://site.example/list", "feed": {"keep_s": 3600}});
        probe(&with(feed, &more))
    };
    let query = "a feed is fetched once for all queries: its request must not contain `{query}`, `{local}`, `{domain}` or `{saved.NAME}`";
    assert_faults(&[
        (feed(json!({"url": URL})), &format!("f.json: site: probes[0].url: {query}")),
        (
            feed(json!({"url": "https://site.example/{query|md5}"})),
            &format!("f.json: site: probes[0].url: {query}"),
        ),
        (feed(json!({"headers": {"A": "{query}"}})), &format!("f.json: site: probes[0].headers.A: {query}")),
        (
            json!({"probes": [
                {"url": URL, "save": {"a": "title:"}},
                {"url": "https://site.example/{saved.a}", "feed": {"keep_s": 60}},
            ]}),
            &format!("f.json: site: probes[1].url: {query}"),
        ),
        (
            feed(json!({"method": "HEAD"})),
            "f.json: site: probes[0].feed: a feed is fetched with GET over HTTP, without a body",
        ),
        (
            feed(json!({"method": "POST", "form": {"a": "b"}})),
            "f.json: site: probes[0].feed: a feed is fetched with GET over HTTP, without a body",
        ),
        (
            drawn(feed(json!({"via": "browser"}))),
            "f.json: site: probes[0].feed: a feed is fetched with GET over HTTP, without a body",
        ),
        (
            feed(json!({"feed": {"keep_s": 59}})),
            "f.json: site: probes[0].feed.keep_s: 59 is not allowed here; allowed are 60 to 604800 (a week)",
        ),
        (
            feed(json!({"feed": {"keep_s": 604_801}})),
            "f.json: site: probes[0].feed.keep_s: 604801 is not allowed here; allowed are 60 to 604800 (a week)",
        ),
        (feed(json!({"feed": {}})), "f.json: site: probes[0].feed: the field `keep_s` is missing"),
        (
            feed(json!({"feed": true})),
            "f.json: site: probes[0].feed: true is not allowed here; write an object",
        ),
    ]);
}

#[test]
fn mistakes_of_pages() {
    let paged = |pages: Value, more: Value| {
        let mut changes = probe(&with(json!({"pages": pages}), &more));
        changes["results"] = json!([{"type": "url", "each": "json:/links/*"}]);
        changes
    };
    let next = |more: Value| paged(with(json!({"next": "json:/next"}), &more), json!({}));
    assert_faults(&[
        (paged(json!({"most": 3}), json!({})), "f.json: site: probes[0].pages: the field `next` is missing"),
        (
            next(json!({"most": 1})),
            "f.json: site: probes[0].pages.most: 1 is not allowed here; allowed are 2 to 20, the first page included",
        ),
        (
            next(json!({"most": 21})),
            "f.json: site: probes[0].pages.most: 21 is not allowed here; allowed are 2 to 20, the first page included",
        ),
        (
            next(json!({"next": {"from": ["json:/next"], "probe": 0}})),
            "f.json: site: probes[0].pages.next: it reads the page itself: leave `probe` out",
        ),
        (
            next(json!({"url": "https://site.example/{query}?page=2"})),
            "f.json: site: probes[0].pages.url: it must contain `{page}`: otherwise it leads to the same page again",
        ),
        (
            next(json!({"url": "https://other.example/{query}?page={page}"})),
            "f.json: site: probes[0].pages.url: it leads to another host than the probe's `url`",
        ),
        (
            next(json!({"url": "https://{page}.example/{query}"})),
            "f.json: site: probes[0].pages.url: `{page}` is not allowed in the host: an answer must not choose which host is contacted",
        ),
        (
            next(json!({"url": "{page}"})),
            "f.json: site: probes[0].pages.url: a URL must begin with `https://`, `http://` or `{saved.NAME}`",
        ),
        (
            paged(json!({"next": "json:/next"}), json!({"method": "POST", "form": {"a": "b"}})),
            "f.json: site: probes[0].pages: pages are requested with GET over HTTP and without a body, and so must the first one",
        ),
        (
            paged(
                json!({"next": "json:/next"}),
                json!({"url": "https://site.example/", "feed": {"keep_s": 60}}),
            ),
            "f.json: site: probes[0].pages: `feed` and `pages` exclude each other: a feed is one document",
        ),
        (
            probe(&json!({"url": "https://site.example/{query}/{page}"})),
            "f.json: site: probes[0].url: `{page}` is allowed only in the `url` of `pages`",
        ),
        (
            probe(&json!({"pages": {"next": "json:/next"}})),
            "f.json: site: probes[0].pages: no `results` read this probe's answer: its further pages are of no use",
        ),
        (
            json!({"hit": [{"words": ["{page}"]}]}),
            "f.json: site: hit[0].words[0]: `{page}` is allowed only in the `url` of `pages`",
        ),
    ]);
}

#[test]
fn mistakes_of_excluded_domains() {
    let email = |more: Value| with(json!({"type": "email"}), &more);
    assert_faults(&[
        (json!({"domain_not_in": ["a.example"]}), "f.json: site: domain_not_in: it is for email modules"),
        (
            email(json!({"domain_not_in": ["a.example", "example"]})),
            "f.json: site: domain_not_in[1]: `example` is not allowed here; write a domain in lower case",
        ),
        (
            email(json!({"domain_in": ["a.example"], "domain_not_in": ["b.example"]})),
            "f.json: site: domain_not_in: `domain_in` says which domains are asked; leave one of the two out",
        ),
        (
            email(json!({"domain_not_in": ["example.org"], "known": ["bob@example.org"]})),
            "f.json: site: known[0]: the module itself would skip it: other_domain",
        ),
    ]);
}

#[test]
fn valid_requests_load() {
    for changes in [
        probe(&json!({"method": "POST", "form": {"name": "{query}", "{config.k?}": "x"}})),
        probe(
            &json!({"url": "https://site.example/{query}?a=1&k={config.k?}", "headers": {"A": "{config.k?}"}}),
        ),
        probe(&json!({"method": "POST", "json": {"q": "{query}", "k": "{config.k?}"}})),
        json!({
            "type": "domain",
            "probes": [{"url": "https://site.example/list?k={config.k?}", "feed": {"keep_s": 604_800},
                        "save": {"row": {"from": ["json:/rows/*"], "where": [{"at": "", "equals_query": true}]}}}],
        }),
        json!({
            "results": [{"type": "url", "each": "json:/links/*"}],
            "probes": [{"url": URL, "pages": {"next": "json:/next", "url": "https://site.example/{query}?p={page}", "most": 20}}],
        }),
        json!({
            "results": [{"type": "url", "probe": 0, "each": "css:a@href"}],
            "probes": [{"url": URL, "pages": {"next": "css:a.next@href"}}, {"url": URL, "fallback": true}],
        }),
        json!({"type": "email", "domain_not_in": ["a.example"]}),
    ] {
        assert_eq!(faults(&changes), Vec::<String>::new(), "{changes}");
    }
}

#[test]
fn keys_are_sent_only_to_their_host_and_appear_in_no_result() {
    let keyed = |more: &Value| with(json!({"needs": ["config.k"]}), more);
    let chain = |url: &str| {
        keyed(&json!({"probes": [
            {"url": URL, "save": {"next": "json:/next"}},
            {"url": url, "headers": {"Authorization": "Bearer {config.k}"}},
        ]}))
    };
    let foreign = "f.json: site: probes[1].url: an earlier answer decides which host is contacted and would receive `{config.k}`; write the host literally or remove the key";
    let told = "`final_url:` and `absolute_url` tell the address that was asked, in which a key stands; send the key in a header, or make the address with `format`";
    let first = format!("f.json: site: probes[0].url: {told}");
    let saved = format!("f.json: site: probes[0].save: `a`: {told}");
    let in_url = |more: &Value| {
        let mut all = keyed(more);
        let mut probe = json!({"url": "https://site.example/{query}?k={config.k}"});
        if let Some(save) = all.as_object_mut().unwrap().remove("save") {
            probe["save"] = save;
        }
        all["probes"] = json!([probe]);
        all
    };
    assert_faults(&[
        (chain("{saved.next}"), foreign),
        (chain("https://{saved.next}/a"), foreign),
        (chain("https://a.{saved.next}/{query}"), foreign),
        (
            keyed(&json!({"type": "domain", "probes": [{"url": "https://{domain}/?k={config.k}"}]})),
            "f.json: site: probes[0].url: the query decides which host is contacted and would receive `{config.k}`; write the host literally or remove the key",
        ),
        (in_url(&json!({"result": {"type": "account", "metadata": {"a": "final_url:"}}})), &first),
        (
            in_url(&json!({"results": [{"type": "technology", "each": "json:/l/*",
                "metadata": {"a": {"from": ["value:"], "transform": ["absolute_url"]}}}]})),
            &first,
        ),
        (in_url(&json!({"save": {"a": "final_url:"}})), &saved),
    ]);
    for fine in [
        chain("https://api.site.example/{saved.next}"),
        chain("https://{saved.next}.site.example/"),
        in_url(&json!({"result": {"type": "account", "metadata": {"a": "json:/a"}}})),
    ] {
        assert_eq!(faults(&fine), [""; 0], "{fine}");
    }
}
