//! Answers about something else than the domain that was looked up are no hits.

use super::*;

#[test]
fn names_outside_the_zone_are_left_out() {
    let foreign = "www.example.net,192.0.2.9\nexample.com.evil.net,192.0.2.8\nnotexample.com,192.0.2.7";
    let mixed = format!("mail.example.com,192.0.2.1\n{foreign}\nexample.com,192.0.2.2");
    play("hackertarget", "www.example.com", vec![text("hostsearch", &mixed)])
        .has("subdomain", &["mail.example.com"])
        .has("ip_address", &["192.0.2.1", "192.0.2.2"]);
    play("hackertarget", "www.example.com", vec![text("hostsearch", foreign)]).outcome(Outcome::Error);

    let lines = "{\"rrname\":\"Example.com.\",\"rrdata\":\"192.0.2.1\",\"rrtype\":\"A\"}\n{\"rrname\":\"example.net\",\"rrdata\":\"192.0.2.9\",\"rrtype\":\"A\"}\n";
    play("robtex_pdns", "example.com", vec![text("freeapi.robtex.com", lines)])
        .has("dns_record", &["192.0.2.1"])
        .has("ip_address", &["192.0.2.1"]);
    let foreign = "{\"rrname\":\"www.example.com\",\"rrdata\":\"192.0.2.9\",\"rrtype\":\"A\"}\n";
    play("robtex_pdns", "example.com", vec![text("freeapi.robtex.com", foreign)]).outcome(Outcome::Error);
}

#[test]
fn certificates_of_other_domains_are_no_hit() {
    let list = |names: &str| json!([{"issuer_ca_id": 1, "issuer_name": "X", "name_value": names, "id": 1, "serial_number": "05"}]);
    for (names, outcome) in [
        ("a.example.net\nexample.com.evil.net", Outcome::Error),
        ("notexample.com", Outcome::Error),
        ("a.example.net\nExample.com", Outcome::Hit),
        ("me@example.com", Outcome::Hit),
    ] {
        let played = play("crt_sh", "example.com", vec![doc("crt.sh", &list(names))]);
        played.outcome(outcome);
        assert_eq!(played.report.findings.is_empty(), outcome != Outcome::Hit, "{names}");
    }
    // A list that was cut off is read as text, in which only names are found.
    let cut = |name: &str| {
        text("crt.sh", &format!("[{{\"issuer_ca_id\":1,\"name_value\":\"{name}\",\"id\":1}},{{\"iss"))
    };
    play("crt_sh", "example.com", vec![cut("dev.example.com")]).has("subdomain", &["dev.example.com"]);
    play("crt_sh", "example.com", vec![cut("dev.example.net")]).outcome(Outcome::Error);
}

#[test]
fn captures_of_the_domain_alone_are_no_subdomains() {
    let list = |urls: &[&str]| {
        let rows = ["original"].iter().chain(urls).map(|url| json!([url])).collect();
        vec![doc("cdx?url=*.example.com", &Value::Array(rows))]
    };
    play("wayback_subdomains", "example.com", list(&["http://example.com:80/", "https://EXAMPLE.com/a"]))
        .outcome(Outcome::Miss);
    play("wayback_subdomains", "example.com", list(&["http://example.com/", "https://WWW.Example.com/a"]))
        .has("subdomain", &["www.example.com"]);
    // The name may be in the path of another page.
    play("wayback_subdomains", "example.com", list(&["http://example.net/www.example.com"]))
        .outcome(Outcome::Error);
}

#[test]
fn scans_of_other_pages_only_are_a_miss() {
    let result = |host: &str| json!({"page": {"domain": host, "url": format!("https://{host}/")}});
    let answer = |total: u64, more: bool| {
        let results = [result("example.net"), result("cdn.example.org")];
        vec![doc("urlscan.io", &json!({"total": total, "has_more": more, "results": results}))]
    };
    play("urlscan", "example.com", answer(2, false)).outcome(Outcome::Miss);
    // What is on the pages that were not read is unknown.
    play("urlscan", "example.com", answer(200, true)).outcome(Outcome::Error);
}

#[test]
fn a_status_page_has_the_name_of_the_tenant() {
    let page = |name: &str, url: &str| {
        vec![doc(".statuspage.io/api", &json!({"page": {"id": "p1", "name": name, "url": url}}))]
    };
    play("statuspage", "example.com", page("Service status", "https://www.examplestatus.com"))
        .outcome(Outcome::Hit);
    play("statuspage", "example.com", page("EXAMPLE", "https://status.other.net")).outcome(Outcome::Hit);
    play("statuspage", "example.com", page("Other", "https://status.other.net/example"))
        .outcome(Outcome::Error);
}
