//! Passive sources: names, archives, networks, breaches, reputation, people.

use super::*;

#[test]
fn names_from_passive_dns() {
    play(
        "hackertarget",
        "example.com",
        vec![text("hostsearch/?q=example.com", "mail.example.com,192.0.2.1\ndev.example.com,2001:db8::1")],
    )
    .has("subdomain", &["mail.example.com", "dev.example.com"])
    .has("ip_address", &["192.0.2.1", "2001:db8::1"])
    .tells("mail.example.com", &json!({"ip_address": "192.0.2.1"}));
    play(
        "hackertarget",
        "example.com",
        vec![text("hostsearch", "API count exceeded - Increase Quota with Membership")],
    )
    .outcome(Outcome::Blocked);
    let otx = json!({"passive_dns": [
        {"address": "192.0.2.1", "first": "2020-01-02T03:04:05", "last": "2024-01-02T03:04:05", "hostname": "A.example.com", "record_type": "A", "flag_title": "Germany", "asn": "AS64500 Example"},
        {"address": "NXDOMAIN", "first": "2020-01-02T03:04:05", "last": "2024-01-02T03:04:05", "hostname": "b.example.com", "record_type": "A", "asn": null}
    ], "count": 2});
    play("otx_passive_dns", "example.com", vec![doc("passive_dns", &otx)])
        .has("subdomain", &["a.example.com", "b.example.com"])
        .has("ip_address", &["192.0.2.1"])
        .tells(
            "192.0.2.1",
            &json!({"asn": 64500, "country": "Germany", "last_seen_at": "2024-01-02T03:04:05Z"}),
        );
    let rapid = "<html><title>RapidDNS</title><table><thead><tr><th>#</th></tr></thead><tbody>\n<tr>\n<th scope=\"row \">1</th>\n<td>www.example.com</td>\n<td><a href=\"/sameip/192.0.2.1#result\" target=\"_blank\">192.0.2.1</a>\n</td>\n<td>A</td>\n<td>2024</td></tr>\n<tr>\n<th scope=\"row \">2</th>\n<td>cdn.example.com</td>\n<td>edge.example.net.</td>\n<td>CNAME</td></tr></tbody></table></html>";
    play("rapiddns", "example.com", vec![page("rapiddns.io", 200, "text/html", rapid)])
        .has("subdomain", &["www.example.com", "cdn.example.com"])
        .tells("www.example.com", &json!({"address": "192.0.2.1", "record_type": "A"}));
    let none = "<html><title>RapidDNS</title><table><thead><tr><th>#</th></tr></thead><tbody></tbody></table></html>";
    play("rapiddns", "example.com", vec![page("rapiddns.io", 200, "text/html", none)]).outcome(Outcome::Miss);
    let lines = "{\"rrname\":\"example.com\",\"rrdata\":\"192.0.2.1\",\"rrtype\":\"A\",\"time_first\":1441242410,\"time_last\":1460751956,\"count\":18}\n{\"rrname\":\"example.com\",\"rrdata\":\"ns1.example.net.\",\"rrtype\":\"NS\",\"time_first\":1441363932,\"time_last\":1460751956,\"count\":5}\n";
    play("robtex_pdns", "example.com", vec![text("freeapi.robtex.com", lines)])
        .has("dns_record", &["192.0.2.1", "ns1.example.net"])
        .has("ip_address", &["192.0.2.1"])
        .tells(
            "ns1.example.net",
            &json!({"first_seen_at": "2015-09-04T10:52:12Z", "record_type": "NS", "times_seen": 5}),
        );
    let mnemonic = json!({"responseCode": 200, "count": 1, "data": [{"rrtype": "aaaa", "query": "example.com", "answer": "2001:db8::1", "firstSeenTimestamp": 1_500_000_000_000_u64, "lastSeenTimestamp": 1_600_000_000_000_u64, "times": 9}]});
    play("mnemonic_pdns", "example.com", vec![doc("api.mnemonic.no", &mnemonic)])
        .has("dns_record", &["2001:db8::1"])
        .tells("2001:db8::1", &json!({"record_type": "AAAA", "first_seen_at": "2017-07-14T02:40:00Z"}));
}

#[test]
fn records_of_one_value_are_distinguished_by_owner() {
    let record = |name: &str, ip: &str| json!({"rrtype": "a", "query": name, "answer": ip, "times": 1, "firstSeenTimestamp": 1_600_000_000_000_u64, "lastSeenTimestamp": 1_600_000_000_000_u64});
    let names = ["www.example.com", "mail.example.com", "www.example.com", "dev.example.com"];
    let data: Vec<Value> = names.iter().map(|name| record(name, "192.0.2.1")).collect();
    let played = play("mnemonic_pdns", "example.com", vec![doc("mnemonic", &json!({"data": data}))]);
    played.has("dns_record", &["192.0.2.1"; 3]).has("ip_address", &["192.0.2.1"]);
    assert_eq!(
        played.members("dns_record", "name"),
        ["www.example.com", "mail.example.com", "dev.example.com"]
    );

    let record = |name: &str| json!({"subdomain": name, "type": "A", "value": "192.0.2.1", "last_seen": "2024-01-02T03:04:05.678901+00:00"});
    let body = json!({"domain": "example.com", "subdomains": ["www"], "data": [record(""), record("www"), record("a.Dev")]});
    let played = play("shodan_dns", "www.example.com", vec![doc("shodan", &body)]);
    assert_eq!(played.members("dns_record", "name"), ["example.com", "www.example.com", "a.dev.example.com"]);
}

#[test]
fn relative_names_are_completed_with_their_zone() {
    for (id, body) in [
        ("securitytrails", json!({"subdomains": ["www", "*.dev"], "subdomain_count": 2})),
        ("chaos", json!({"domain": "example.com", "subdomains": ["www", "*.dev"], "count": 2})),
        (
            "shodan_dns",
            json!({"domain": "example.com", "subdomains": ["www", "dev"], "data": [{"subdomain": "www", "type": "A", "value": "192.0.2.1", "last_seen": "2024-01-02T03:04:05.678901+00:00"}]}),
        ),
    ] {
        play(id, "example.com", vec![doc("https://", &body)])
            .has("subdomain", &["www.example.com", "dev.example.com"]);
    }
    let page = json!({"data": [{"id": "a.example.com", "type": "domain", "attributes": {"last_modification_date": 1_700_000_000}}]});
    play("virustotal_subdomains", "example.com", vec![doc("subdomains?limit=40", &page)])
        .has("subdomain", &["a.example.com"])
        .tells("a.example.com", &json!({"updated_at": "2023-11-14T22:13:20Z"}));
}

#[test]
fn archives() {
    play(
        "wayback_subdomains",
        "example.com",
        vec![doc(
            "cdx?url=*.example.com",
            &json!([
                ["original"],
                ["http://www.example.com:80/"],
                ["https://Blog.example.com/a?b"],
                ["http://user@old.example.com/x"]
            ]),
        )],
    )
    .has("subdomain", &["www.example.com", "blog.example.com", "old.example.com"]);
    play(
        "wayback_timeline",
        "example.com",
        vec![doc(
            "cdx?url=example.com",
            &json!([
                ["timestamp", "statuscode", "digest"],
                ["20020120142510", "200", "AA"],
                ["20050120142510", "200", "BB"],
                ["20240203040506", "301", "CC"]
            ]),
        )],
    )
    .has("archive", &["https://web.archive.org/web/20020120142510/example.com"])
    .tells(
        "https://web.archive.org/web/20020120142510/example.com",
        &json!({"first_captured_at": "2002-01-20T14:25:10Z", "last_captured_at": "2024-02-03T04:05:06Z"}),
    );
    play("wayback_timeline", "example.com", vec![doc("cdx", &json!([]))]).outcome(Outcome::Miss);
    let crawls = doc(
        "collinfo.json",
        &json!([{"id": "CC-MAIN-2024-10", "cdx-api": "https://index.commoncrawl.org/CC-MAIN-2024-10-index"}]),
    );
    play(
        "common_crawl",
        "example.com",
        vec![
            crawls,
            text(
                "CC-MAIN-2024-10-index?url=*.example.com",
                "{\"url\": \"https://shop.example.com/\"}\n{\"url\": \"https://example.com/robots.txt\"}\n",
            ),
        ],
    )
    .has("subdomain", &["shop.example.com"]);
    play("arquivo_pt", "example.com", vec![text("arquivo.pt", "{\"url\": \"http://www.example.com/\", \"timestamp\": \"19961013180344\", \"status\": \"200\"}\n")])
        .has("subdomain", &["www.example.com"])
        .tells("http://www.example.com/", &json!({"captured_at": "1996-10-13T18:03:44Z", "status": 200}));
}

#[test]
fn scans_of_other_pages_are_left_out() {
    let result = |host: &str, ip: &str| json!({"_id": "1f-a", "page": {"domain": host, "ip": ip, "asn": "AS64500", "asnname": "EXAMPLE", "country": "DE", "url": format!("https://{host}/"), "status": "200", "title": "T"}, "task": {"time": "2024-01-02T03:04:05.000Z"}, "screenshot": "https://urlscan.io/screenshots/1.png", "sort": [1, "1f-a"]});
    let played = play(
        "urlscan",
        "example.com",
        vec![doc(
            "urlscan.io",
            &json!({"total": 2, "has_more": false, "results": [result("a.example.com", "192.0.2.1"), result("example.net", "192.0.2.2")]}),
        )],
    );
    played
        .has("subdomain", &["a.example.com"])
        .has("ip_address", &["192.0.2.1"])
        .has("url", &["https://a.example.com/"])
        .tells(
            "https://a.example.com/",
            &json!({"scan_url": "https://urlscan.io/result/1f-a/", "scanned_at": "2024-01-02T03:04:05Z"}),
        );
}

#[test]
fn networks() {
    let address = || {
        records("name=example.com&type=A", 0, &[("example.com.", 5, "e.net."), ("e.net.", 1, "192.0.2.7")])
    };
    play("ripestat", "example.com", vec![address(), doc("resource=192.0.2.7&", &json!({"data": {"announced": true, "asns": [{"asn": 64500, "holder": "EXAMPLE - Example Inc."}], "resource": "192.0.2.0/24", "block": {"desc": "ARIN"}}}))])
        .tells("192.0.2.7", &json!({"asn": 64500, "as_name": "EXAMPLE - Example Inc.", "prefix": "192.0.2.0/24"}));
    play("ipinfo", "example.com", vec![address(), doc("ipinfo.io/192.0.2.7/json", &json!({"ip": "192.0.2.7", "hostname": "h.example.net", "city": "Berlin", "country": "DE", "loc": "52.5,13.4", "org": "AS64500 Example Inc."}))])
        .tells("192.0.2.7", &json!({"asn": 64500, "as_name": "Example Inc.", "coordinates": "52.5,13.4", "country": "DE"}));
    play("shodan_internetdb", "example.com", vec![address(), doc("internetdb.shodan.io/192.0.2.7", &json!({"ip": "192.0.2.7", "ports": [80, 443], "cpes": ["cpe:/a:f5:nginx"], "hostnames": ["a.example.com", "other.net"], "tags": ["cdn"], "vulns": ["CVE-1", "CVE-2"]}))])
        .tells("192.0.2.7", &json!({"ports": [80, 443], "vulnerability_hints": 2}))
        .has("subdomain", &["a.example.com"])
        .has("technology", &["cpe:/a:f5:nginx"]);
    play(
        "reverse_ip",
        "example.com",
        vec![address(), text("reverseiplookup/?q=192.0.2.7", "a.example.net\nB.example.org\n")],
    )
    .has("domain", &["a.example.net", "b.example.org"]);
    play("reverse_ip", "example.com", vec![address(), text("reverseiplookup", "No DNS A records found")])
        .outcome(Outcome::Miss);
}

#[test]
fn breach_results_have_names_dates_and_counts() {
    play("hibp_site_breaches", "adobe.com", vec![doc("breaches?Domain=adobe.com", &json!([{"Name": "Adobe", "Title": "Adobe", "Domain": "adobe.com", "BreachDate": "2013-10-04", "AddedDate": "2013-12-04T00:00:00Z", "PwnCount": 152_445_165, "DataClasses": ["Email addresses"], "IsVerified": true}]))])
        .has("breach", &["Adobe"])
        .tells("Adobe", &json!({"accounts": 152_445_165, "breached_on": "2013-10-04", "data_classes": ["Email addresses"]}));
    play("hudson_rock_domain", "example.com", vec![doc("search-by-domain", &json!({"total": 12, "employees": 2, "users": 10, "third_parties": 0, "last_employee_compromised": "2024-01-02T03:04:05.000Z", "data": {"employees_urls": [{"url": "https://secret.example.com", "occurrence": 3}]}}))])
        .has("breach", &["infostealer logs"])
        .tells("infostealer logs", &json!({"employees": 2, "last_employee_compromised_at": "2024-01-02T03:04:05Z", "total": 12}));
    play("hudson_rock_urls", "example.com", vec![doc("urls-by-domain", &json!({"data": {"employees_urls": [{"occurrence": 3, "type": "employee", "url": "https://vpn.example.com/login"}, {"occurrence": 1, "url": "https://••••.example.com/x"}], "clients_urls": []}}))])
        .has("subdomain", &["vpn.example.com"])
        .has("url", &["https://vpn.example.com/login"]);
    let summary = json!({"sendDomains": {"breaches_details": [{"breach_count": 4, "breach_emails": 9, "breach_last_seen": "02-Jan-2024", "breach_pastes": 0, "breach_total": 11, "domain": "example.com"}]}});
    play("xposedornot_domain", "example.com", vec![doc("domain-breach-summary", &summary)]).tells(
        "addresses of the domain in breaches",
        &json!({"addresses": 9, "breaches": 4, "last_seen_at": "2024-01-02"}),
    );
}

#[test]
fn blocklists_are_fetched_completely_and_compared_by_label() {
    let feed = |lines: &str| vec![text("public_feed", lines)];
    play("openphish", "example.com", feed("https://other.net/a\nhttps://Login.example.com/x?y\n"))
        .has("url", &["https://Login.example.com/x?y"]);
    for miss in ["https://notexample.com/\n", "https://other.net/example.com\n", "http://192.0.2.1/x\n"] {
        play("openphish", "example.com", feed(miss)).outcome(Outcome::Miss);
    }
    play("openphish", "example.com", feed("<html>moved</html>")).outcome(Outcome::Error);
}

#[test]
fn reputation_results_name_their_source() {
    play(
        "tranco",
        "www.google.com",
        vec![doc(
            "ranks/domain/google.com",
            &json!({"domain": "google.com", "ranks": [{"date": "2024-01-02", "rank": 1}]}),
        )],
    )
    .has("reputation", &["Tranco rank 1"])
    .tells("Tranco rank 1", &json!({"rank": 1, "ranked_on": "2024-01-02"}));
    play("google_safe_browsing", "example.com", vec![doc("threatMatches:find", &json!({}))])
        .outcome(Outcome::Miss);
    play("google_safe_browsing", "example.com", vec![doc("threatMatches:find", &json!({"matches": [{"threatType": "MALWARE", "platformType": "ANY_PLATFORM", "threat": {"url": "http://example.com/"}}]}))])
        .has("reputation", &["Google Safe Browsing: MALWARE"]);
    play("urlhaus", "example.com", vec![doc("v1/host", &json!({"query_status": "ok", "host": "example.com", "firstseen": "2019-01-15 07:09:01 UTC", "url_count": "2", "blacklists": {"spamhaus_dbl": "not listed", "surbl": "listed"}, "urls": [{"url": "http://example.com/a.exe", "url_status": "online", "threat": "malware_download", "tags": ["exe"], "date_added": "2019-01-15 07:09:01 UTC"}]}))])
        .tells("listed by URLhaus", &json!({"first_seen_at": "2019-01-15T07:09:01Z", "urls": 2}))
        .has("url", &["http://example.com/a.exe"]);
    play("otx_pulses", "example.com", vec![doc("general", &json!({"indicator": "example.com", "pulse_info": {"count": 3, "pulses": [{"name": "P"}]}, "validation": [{"name": "Listed on Akamai"}]}))])
        .tells("named in 3 OTX pulses", &json!({"allow_lists": ["Listed on Akamai"], "pulse_names": ["P"]}));
}

/// Below the list, every name has the same open bucket, even an unregistered one.
#[test]
fn an_open_bucket_is_not_a_rank() {
    let details = |rank: Value, bucket: &str| {
        let details = json!({"rank": rank, "bucket": bucket, "categories": [{"name": "Search Engines"}], "top_locations": []});
        vec![doc(
            "radar/ranking/domain/example.com",
            &json!({"success": true, "result": {"details_0": details}}),
        )]
    };
    play("cloudflare_radar", "example.com", details(json!(7), "200"))
        .has("reputation", &["Cloudflare Radar rank 7"]);
    play("cloudflare_radar", "example.com", details(Value::Null, "50000"))
        .tells("Cloudflare Radar rank 50000", &json!({"bucket": "50000", "categories": ["Search Engines"]}));
    play("cloudflare_radar", "example.com", details(Value::Null, ">200000")).outcome(Outcome::Miss);
}

#[test]
fn people_and_mentions() {
    let keys = "info:1:2\npub:AA:1:4096:1500000000::\nuid:Grace Example <Grace@example.com>:1500000000::\nuid:Other <x@other.net>:1::\n";
    play("hkp_domain", "example.com", vec![text("pks/lookup", keys)]).has("email", &["grace@example.com"]);
    play("hunter_domain", "example.com", vec![doc("domain-search", &json!({"data": {"domain": "example.com", "emails": [{"value": "a@example.com", "first_name": "A", "confidence": 90, "linkedin": null, "sources": [{"uri": "https://x"}]}]}}))])
        .has("email", &["a@example.com"]);
    let mentions = json!({"nbHits": 2, "hits": [{"url": "https://blog.example.com/a", "title": "A", "points": 5, "author": "bob", "created_at": "2024-01-02T03:04:05Z"}, {"url": "https://notexample.com/", "title": "B"}]});
    play("hacker_news_domain", "example.com", vec![doc("hn.algolia.com", &mentions)])
        .has("url", &["https://blog.example.com/a"]);
    let items = json!({"results": {"bindings": [{"item": {"type": "uri", "value": "http://www.wikidata.org/entity/Q1"}, "itemLabel": {"value": "Example"}, "itemDescription": {"value": "company"}}]}});
    play("wikidata_domain", "example.com", vec![doc("query.wikidata.org", &items)])
        .tells("http://www.wikidata.org/entity/Q1", &json!({"display_name": "Example"}));
    let ready = json!({"selectors": [{"selectortype": 1, "selectorvalue": "A@example.com"}, {"selectortype": 2, "selectorvalue": "dev.example.com"}], "status": 0});
    play(
        "intelx_domain",
        "example.com",
        vec![doc("result?id=5f", &ready), doc("phonebook/search", &json!({"id": "5f", "status": 0}))],
    )
    .has("email", &["a@example.com"])
    .has("subdomain", &["dev.example.com"]);
    let waiting = doc("result?id=5f", &json!({"selectors": [], "status": 3}));
    let played =
        play("intelx_domain", "example.com", vec![waiting, doc("phonebook/search", &json!({"id": "5f"}))]);
    assert_eq!(played.outcome(Outcome::Error).asked.len(), 3);
}
