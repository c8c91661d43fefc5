use proptest::prelude::*;
use url::Url;

use super::*;
use crate::modules::keys::OperatorKeys;
use crate::modules::pattern::Searches;
use crate::modules::query::{Query, SearchType};

fn query(kind: SearchType, text: &str) -> Query {
    Query::parse(kind, text).unwrap()
}

fn fill(template: &str, kind: Kind, query: &Query) -> Result<String, FillError> {
    let saved = Saved::from([("token".to_owned(), "a b".to_owned())]);
    let keys = OperatorKeys::new([("key".to_owned(), "k&1".to_owned())]);
    let values = Values {
        query,
        name: query.normal(),
        keys: Some(&keys),
        saved: &saved,
        value: Some("v"),
        searches: &Searches::default(),
    };
    Template::parse(template, kind).unwrap().fill(&values)
}

#[test]
fn values_are_escaped_for_their_place() {
    let email = query(SearchType::Email, "a+b@sub.example.co.uk");
    for (template, kind, want) in [
        (
            "https://x.org/u/{query}?q={local}&d={domain}",
            Kind::Url,
            "https://x.org/u/a%2Bb%40sub.example.co.uk?q=a%2Bb&d=sub.example.co.uk",
        ),
        ("https://{domain}/", Kind::Url, "https://sub.example.co.uk/"),
        ("https://x.org/{query|urlencode}", Kind::Url, "https://x.org/a%2Bb%40sub.example.co.uk"),
        ("^{local}{{2,3}}$|x{2,3}|\\p{L}\\{", Kind::Regex, "^a\\+b{2,3}$|x{2,3}|\\p{L}\\{"),
        (r"\b{start}\b{local}\b", Kind::Regex, r"\b{start}\ba\+b\b"),
        ("Bearer {config.key}", Kind::Plain, "Bearer k&1"),
        ("{query|urlencode} {value}", Kind::Plain, "a%2Bb%40sub.example.co.uk v"),
    ] {
        assert_eq!(fill(template, kind, &email).unwrap(), want, "{template}");
    }
    let domain = query(SearchType::Domain, "www.example.co.uk");
    assert_eq!(
        fill("{domain|registrable} {domain|label}", Kind::Plain, &domain).unwrap(),
        "example.co.uk example"
    );
}

#[test]
fn hashes_are_computed_from_the_lower_case_value() {
    let email = query(SearchType::Email, "MyEmailAddress@example.com");
    assert_eq!(fill("{query|md5}", Kind::Plain, &email).unwrap(), "0bc83cb571cd1c50ba6f3e8a78ef1346");
    assert_eq!(
        fill("{query|sha256}", Kind::Plain, &email).unwrap(),
        "84059b07d4be67b806386c0aad8070a23f18836bbaae342275dc0a83414c32ee"
    );
}

#[test]
fn wkd_and_dane_hashes_are_computed() {
    // These are the examples of draft-koch-openpgp-webkey-service and of RFC 7929.
    let email = query(SearchType::Email, "Joe.Doe@example.org");
    assert_eq!(fill("{local|wkd}", Kind::Plain, &email).unwrap(), "iy9q119eutrkn8s1mk4r39qejnbu3n5q");
    let email = query(SearchType::Email, "hugh@example.com");
    assert_eq!(
        fill("https://{local|sha256|first_56}._openpgpkey.{domain}/", Kind::Url, &email).unwrap(),
        "https://c93f1e400f26708f98cb19d936620da35eec8f72e57f9eec01c1afd6._openpgpkey.example.com/"
    );
}

#[test]
fn domains_and_addresses_have_parts() {
    let domain = query(SearchType::Domain, "www.example.co.uk");
    for (template, want) in [("{domain|tld}", "uk"), ("{domain|label}", "example")] {
        assert_eq!(fill(template, Kind::Plain, &domain).unwrap(), want);
    }
    let name = query(SearchType::Username, "bob");
    let reversed = |address: &str| {
        let saved = Saved::from([("ip".to_owned(), address.to_owned())]);
        let searches = Searches::default();
        let values = Values::new(&name, "bob", &saved, &searches);
        Template::parse("{saved.ip|reverse_ip}", Kind::Plain).unwrap().fill(&values)
    };
    assert_eq!(reversed("192.0.2.17").unwrap(), "17.2.0.192");
    assert_eq!(
        reversed("2001:db8::567:89ab").unwrap(),
        "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2"
    );
    for bad in ["192.0.2", "example.org", "fe80::1%eth0", ""] {
        assert_eq!(reversed(bad), Err(FillError::NoPart), "{bad}");
    }
    assert_eq!(fill("{query|tld}", Kind::Plain, &name), Err(FillError::NoPart));
}

#[test]
fn a_part_with_a_missing_optional_key_is_left_out() {
    let name = query(SearchType::Username, "a-b");
    assert_eq!(fill("Bearer {config.key?}", Kind::Plain, &name).unwrap(), "Bearer k&1");
    assert_eq!(fill("Bearer {config.none?}", Kind::Plain, &name), Err(FillError::LeftOut));
}

#[test]
fn a_missing_or_unfit_value_is_an_error() {
    let name = query(SearchType::Username, "a.b");
    for (template, kind, want) in [
        ("{local}", Kind::Plain, FillError::NoPart),
        ("{domain|registrable}", Kind::Plain, FillError::NoPart),
        ("{saved.other}", Kind::Plain, FillError::NotSaved),
        ("{config.other}", Kind::Plain, FillError::NoKey),
        ("https://{query}.x.org/", Kind::Url, FillError::Unfit),
    ] {
        assert_eq!(fill(template, kind, &name), Err(want), "{template}");
    }
    for dots in [".", ".."] {
        let saved = Saved::from([("v".to_owned(), dots.to_owned())]);
        let searches = Searches::default();
        let values = Values::new(&name, "a.b", &saved, &searches);
        let fill = |text| Template::parse(text, Kind::Url).unwrap().fill(&values);
        assert_eq!(fill("https://x.org/{saved.v}/p"), Err(FillError::Unfit));
        assert!(fill("https://x.org/p?q={saved.v}").is_ok());
    }
}

#[test]
fn the_host_is_the_fixed_suffix_or_the_queried_domain() {
    let saved = Saved::new();
    let domain = query(SearchType::Domain, "a.example.org");
    let searches = Searches::default();
    let values = Values::new(&domain, domain.normal(), &saved, &searches);
    for (template, want) in [
        ("https://API.x.org:8443/{query}", Some("api.x.org")),
        ("https://x.org?q={query}", Some("x.org")),
        ("https://{query}.wordpress.com/", Some("wordpress.com")),
        ("https://pre-{query}-post.x.org/", Some("x.org")),
        ("https://{domain}/x", Some("a.example.org")),
        ("https://mta-sts.{domain|registrable}/x", Some("example.org")),
        ("https://{domain|label}.co.uk/", Some("example.co.uk")),
        ("{saved.base}/x", None),
        ("https://{saved.host}/x", None),
    ] {
        let host = Template::parse(template, Kind::Url).unwrap().host();
        assert_eq!(host.name(&values).as_deref(), want, "{template}");
    }
}

#[test]
fn a_public_suffix_is_no_fixed_host() {
    for (template, want) in [
        ("https://{query}.com/", Some("the query")),
        ("https://{query}.co.uk./", Some("the query")),
        ("https://{query}.wordpress.com/", None),
    ] {
        assert_eq!(Template::parse(template, Kind::Url).unwrap().host_is_of(), want, "{template}");
    }
}

#[test]
fn only_a_web_address_is_saved_as_an_address() {
    let name = query(SearchType::Username, "bob");
    let with = |base: &str, template: &str| {
        let saved = Saved::from([("base".to_owned(), base.to_owned())]);
        let searches = Searches::default();
        let values = Values::new(&name, "bob", &saved, &searches);
        Template::parse(template, Kind::Url).unwrap().fill(&values)
    };
    assert_eq!(
        with("https://r.org/v1/", "{saved.base}domain/{query}").unwrap(),
        "https://r.org/v1/domain/bob"
    );
    assert_eq!(with("https://r.org", "{saved.base}/{query}").unwrap(), "https://r.org/bob");
    assert_eq!(with("https://r.org/a?b", "{saved.base}").unwrap(), "https://r.org/a?b");
    for bad in ["file:///etc/passwd", "https://u:p@r.org/", "/relative", "https://r.org/?a="] {
        assert_eq!(with(bad, "{saved.base}/x"), Err(FillError::Unfit), "{bad}");
    }
}

proptest! {
    #[test]
    fn no_value_breaks_out_of_a_url(value in "\\PC{1,40}|[./\\\\?#&%@:\\x00-\\x20]{1,8}") {
        let name = query(SearchType::Username, "bob");
        let saved = Saved::from([("v".to_owned(), value.clone())]);
        let searches = Searches::default();
        let values = Values::new(&name, "bob", &saved, &searches);
        let template = Template::parse("https://x.org/a/{saved.v}/b?q={saved.v}&r=1", Kind::Url).unwrap();
        if let Ok(filled) = template.fill(&values) {
            let url = Url::parse(&filled).unwrap();
            prop_assert_eq!(url.host_str(), Some("x.org"));
            let segments: Vec<&str> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 3);
            prop_assert_eq!((segments[0], segments[2]), ("a", "b"));
            let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
            prop_assert_eq!(pairs, vec![("q".into(), value), ("r".into(), "1".into())]);
        }
    }

    #[test]
    fn no_value_breaks_out_of_a_host(value in "[a-zA-Z0-9./\\\\?#@:_ -]{1,20}|\\PC{1,10}") {
        let name = query(SearchType::Username, "bob");
        let saved = Saved::from([("v".to_owned(), value)]);
        let searches = Searches::default();
        let values = Values::new(&name, "bob", &saved, &searches);
        let template = Template::parse("https://{saved.v}.x.org/p", Kind::Url).unwrap();
        if let Ok(filled) = template.fill(&values) {
            let url = Url::parse(&filled).unwrap();
            prop_assert!(url.host_str().unwrap().ends_with(".x.org"));
            prop_assert_eq!((url.path(), url.port(), url.username()), ("/p", None, ""));
        }
    }

    #[test]
    fn no_value_breaks_out_of_a_regex(value in any::<String>()) {
        let name = query(SearchType::Username, "bob");
        let saved = Saved::from([("v".to_owned(), value.clone())]);
        let searches = Searches::default();
        let values = Values::new(&name, "bob", &saved, &searches);
        let filled = Template::parse("\\A{saved.v}\\z", Kind::Regex).unwrap().fill(&values).unwrap();
        prop_assert!(regex::Regex::new(&filled).unwrap().is_match(&value));
    }

    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        for kind in [Kind::Url, Kind::Regex, Kind::Plain] {
            let _ = Template::parse(&text, kind);
        }
    }
}
