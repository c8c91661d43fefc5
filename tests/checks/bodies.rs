//! What requests carry: multipart bodies, and what is left out with a key that is missing.

use super::*;

fn sent(probe: &Value, keys: &[(&str, &str)]) -> Request {
    let bench = Bench::with_keys(keys, |_| Ok(respond(404, &[], "")));
    let site = module(&json!({"probes": [probe]}));
    assert_eq!(bench.check(&site, &username("bob")).outcome, Outcome::Miss);
    bench.prober.asked.lock().remove(0)
}

fn body(request: &Request) -> (&str, &str) {
    let (content_type, body) = request.body.as_ref().unwrap();
    (content_type, std::str::from_utf8(body).unwrap())
}

#[test]
fn a_multipart_form_has_a_part_for_each_field() {
    let probe = json!({
        "url": "https://site.example/", "method": "POST", "multipart": {"user": "{query}", "k": "{config.k?}", "n": "1"},
    });
    let request = sent(&probe, &[]);
    let (content_type, text) = body(&request);
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
    let part = |name: &str, value: &str| {
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    assert_eq!(text, format!("{}{}--{boundary}--\r\n", part("n", "1"), part("user", "bob")));
    let request = sent(&probe, &[("k", "key")]);
    assert!(body(&request).1.contains("name=\"k\"\r\n\r\nkey\r\n"));
}

#[test]
fn a_missing_optional_key_takes_its_header_parameter_field_or_member_with_it() {
    let with_url = json!({
        "url": "https://site.example/?k={config.k?}&q={query}", "headers": {"Authorization": "Bearer {config.k?}"},
    });
    let request = sent(&with_url, &[]);
    assert_eq!(request.url.as_str(), "https://site.example/?q=bob");
    assert!(!request.headers.iter().any(|(name, _)| name == "Authorization"));
    let request = sent(&with_url, &[("k", "a b")]);
    assert_eq!(request.url.as_str(), "https://site.example/?k=a%20b&q=bob");
    assert!(request.headers.contains(&("Authorization".into(), "Bearer a b".into())));

    let form = json!({"url": "https://site.example/", "method": "POST", "form": {"k": "{config.k?}", "q": "{query}"}});
    assert_eq!(body(&sent(&form, &[])).1, "q=bob");
    assert_eq!(body(&sent(&form, &[("k", "v")])).1, "k=v&q=bob");

    let document = json!({
        "url": "https://site.example/", "method": "POST",
        "json": {"auth": {"k": "{config.k?}"}, "list": ["{config.k?}", "{query}"], "q": "{query}"},
    });
    let parsed = |keys| serde_json::from_str::<Value>(body(&sent(&document, keys)).1).unwrap();
    assert_eq!(parsed(&[]), json!({"auth": {}, "list": ["bob"], "q": "bob"}));
    assert_eq!(parsed(&[("k", "v")]), json!({"auth": {"k": "v"}, "list": ["v", "bob"], "q": "bob"}));
}

#[test]
fn excluded_domains_are_skipped() {
    let site = module(&json!({
        "type": "email", "domain_not_in": ["example.org"], "probes": [{"url": "https://site.example/{query}"}],
    }));
    let bench = Bench::new(|_| Ok(respond(404, &[], "")));
    let check = |address| {
        let report = bench.check(&site, &Query::parse(SearchType::Email, address).unwrap());
        (report.outcome, report.reason)
    };
    assert_eq!(check("bob@example.org"), (Outcome::Skipped, Some("other_domain".into())));
    assert_eq!(check("bob@mail.example.org"), (Outcome::Miss, None));
    assert_eq!(bench.asked().len(), 1);
}
