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
    with("a b", template, kind, query)
}

/// Fills a template. `saved` is the value of `{saved.v}`.
fn with(saved: &str, template: &str, kind: Kind, query: &Query) -> Result<String, FillError> {
    let saved = Saved::from([("v".to_owned(), saved.to_owned())]);
    let keys = OperatorKeys::new([("key".to_owned(), "k&1".to_owned())]);
    let values = Values {
        query,
        name: query.normal(),
        host: "site.example/w",
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
        ("https://{host}/{local}", Kind::Url, "https://site.example/w/a%2Bb"),
        ("^{host}$", Kind::Regex, "^site\\.example/w$"),
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
fn filters_change_the_value() {
    let (name, domain) = (query(SearchType::Username, "a-b"), query(SearchType::Domain, "www.example.co.uk"));
    let email = |address: &str| query(SearchType::Email, address);
    for (template, kind, query, want) in [
        (
            "{query|md5}",
            Kind::Plain,
            &email("MyEmailAddress@example.com"),
            "0bc83cb571cd1c50ba6f3e8a78ef1346",
        ),
        (
            "{query|sha256}",
            Kind::Plain,
            &email("MyEmailAddress@example.com"),
            "84059b07d4be67b806386c0aad8070a23f18836bbaae342275dc0a83414c32ee",
        ),
        // These are the examples of draft-koch-openpgp-webkey-service and of RFC 7929.
        ("{local|wkd}", Kind::Plain, &email("Joe.Doe@example.org"), "iy9q119eutrkn8s1mk4r39qejnbu3n5q"),
        (
            "https://{local|sha256|first_56}._openpgpkey.{domain}/",
            Kind::Url,
            &email("hugh@example.com"),
            "https://c93f1e400f26708f98cb19d936620da35eec8f72e57f9eec01c1afd6._openpgpkey.example.com/",
        ),
        ("{domain|tld} {domain|label}", Kind::Plain, &domain, "uk example"),
        ("Bearer {config.key?}", Kind::Plain, &name, "Bearer k&1"),
    ] {
        assert_eq!(fill(template, kind, query).unwrap(), want, "{template}");
    }
    let reversed = |address: &str| with(address, "{saved.v|reverse_ip}", Kind::Plain, &name);
    assert_eq!(reversed("192.0.2.17").unwrap(), "17.2.0.192");
    let long = "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2";
    assert_eq!(reversed("2001:db8::567:89ab").unwrap(), long);
    for bad in ["192.0.2", "example.org", "fe80::1%eth0", ""] {
        assert_eq!(reversed(bad), Err(FillError::NoPart), "{bad}");
    }
}

#[test]
fn a_missing_or_unfit_value_is_an_error() {
    let name = query(SearchType::Username, "a.b");
    for (template, kind, want) in [
        ("{local}", Kind::Plain, FillError::NoPart),
        ("{domain|registrable}", Kind::Plain, FillError::NoPart),
        ("{saved.other}", Kind::Plain, FillError::NotSaved),
        ("{config.other}", Kind::Plain, FillError::NoKey),
        ("Bearer {config.none?}", Kind::Plain, FillError::LeftOut),
        ("https://{query}.x.org/", Kind::Url, FillError::Unfit),
    ] {
        assert_eq!(fill(template, kind, &name), Err(want), "{template}");
    }
    for dots in [".", ".."] {
        assert_eq!(with(dots, "https://x.org/{saved.v}/p", Kind::Url, &name), Err(FillError::Unfit));
        assert!(with(dots, "https://x.org/p?q={saved.v}", Kind::Url, &name).is_ok());
    }
}

#[test]
fn the_host_is_the_fixed_suffix_or_the_queried_domain() {
    let saved = Saved::new();
    let domain = query(SearchType::Domain, "a.example.org");
    let searches = Searches::default();
    let values = Values::new("", &domain, domain.normal(), &saved, &searches);
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
    for (base, template, want) in [
        ("https://r.org/v1/", "{saved.v}domain/{query}", "https://r.org/v1/domain/bob"),
        ("https://r.org", "{saved.v}/{query}", "https://r.org/bob"),
        ("https://r.org/a?b", "{saved.v}", "https://r.org/a?b"),
    ] {
        assert_eq!(with(base, template, Kind::Url, &name).unwrap(), want);
    }
    for bad in ["file:///etc/passwd", "https://u:p@r.org/", "/relative", "https://r.org/?a="] {
        assert_eq!(with(bad, "{saved.v}/x", Kind::Url, &name), Err(FillError::Unfit), "{bad}");
    }
}

proptest! {
    #[test]
    fn no_value_breaks_out_of_a_url(value in "\\PC{1,40}|[./\\\\?#&%@:\\x00-\\x20]{1,8}") {
        let name = query(SearchType::Username, "bob");
        if let Ok(filled) = with(&value, "https://x.org/a/{saved.v}/b?q={saved.v}&r=1", Kind::Url, &name) {
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
        if let Ok(filled) = with(&value, "https://{saved.v}.x.org/p", Kind::Url, &name) {
            let url = Url::parse(&filled).unwrap();
            prop_assert!(url.host_str().unwrap().ends_with(".x.org"));
            prop_assert_eq!((url.path(), url.port(), url.username()), ("/p", None, ""));
        }
    }

    #[test]
    fn no_value_breaks_out_of_a_regex(value in any::<String>()) {
        let filled = with(&value, "\\A{saved.v}\\z", Kind::Regex, &query(SearchType::Username, "bob")).unwrap();
        prop_assert!(regex::Regex::new(&filled).unwrap().is_match(&value));
    }

    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        for kind in [Kind::Url, Kind::Regex, Kind::Plain] {
            let _ = Template::parse(&text, kind);
        }
    }
}
