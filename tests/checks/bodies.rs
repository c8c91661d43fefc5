//! The parts of requests, and the parts that are left out if a key is missing.

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
fn the_headers_of_an_entry_replace_the_usual_ones() {
    let of = |headers: Value| {
        let probe = json!({"url": "https://site.example/{query}", "headers": headers});
        let mut headers = sent(&probe, &[]).headers;
        headers.retain(|(name, _)| name != "User-Agent");
        headers
    };
    let usual = of(json!({}));
    assert!(usual.len() == 1 && usual[0].0 == "Accept" && usual[0].1.starts_with("text/html,"), "{usual:?}");
    let named = json!({"accept": "application/json", "Accept-Language": "pt", "Referer": "https://site.example/{query}"});
    let want =
        [("Accept-Language", "pt"), ("Referer", "https://site.example/bob"), ("accept", "application/json")];
    assert_eq!(of(named), want.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_part_of_a_request_with_a_missing_optional_key_is_left_out() {
    let header =
        json!({"url": "https://site.example/{query}", "headers": {"Authorization": "Bearer {config.k?}"}});
    assert!(!sent(&header, &[]).headers.iter().any(|(name, _)| name == "Authorization"));
    let headers = sent(&header, &[("k", "a b")]).headers;
    assert!(headers.contains(&("Authorization".into(), "Bearer a b".into())));

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
        (report.outcome, report.reason.map(Reason::as_str))
    };
    assert_eq!(check("bob@example.org"), (Outcome::Skipped, Some("other_domain")));
    assert_eq!(check("bob@mail.example.org"), (Outcome::Miss, None));
    assert_eq!(bench.asked().len(), 1);
}
