use proptest::prelude::*;
use url::Url;

use super::*;

fn query(kind: SearchType, text: &str) -> Query {
    Query::parse(kind, text).unwrap()
}

fn fill(template: &str, kind: Kind, query: &Query) -> Result<String, FillError> {
    let saved = Saved::from([("token".to_owned(), "a b".to_owned())]);
    let keys = OperatorKeys::new([("key".to_owned(), "k&1".to_owned())]);
    let values = Values { query, name: query.normal(), keys: Some(&keys), saved: &saved, value: Some("v") };
    Template::parse(template, kind).unwrap().fill(&values)
}

#[test]
fn values_are_escaped_for_where_they_stand() {
    let email = query(SearchType::Email, "a+b@sub.example.co.uk");
    for (template, kind, want) in [
        (
            "https://x.org/u/{query}?q={local}&d={domain}",
            Kind::Url,
            "https://x.org/u/a%2Bb%40sub.example.co.uk?q=a%2Bb&d=sub.example.co.uk",
        ),
        ("https://{domain}/", Kind::Url, "https://sub.example.co.uk/"),
        ("https://x.org/{query|urlencode}", Kind::Url, "https://x.org/a%2Bb%40sub.example.co.uk"),
        ("{{\"q\": \"{query|lower}\"}}", Kind::Json, "{\"q\": \"a+b@sub.example.co.uk\"}"),
        ("q={query}&t={saved.token}", Kind::Form, "q=a%2Bb%40sub.example.co.uk&t=a%20b"),
        ("^{local}{{2,3}}$|x{2,3}|\\p{L}\\{", Kind::Regex, "^a\\+b{2,3}$|x{2,3}|\\p{L}\\{"),
        (r"\b{start}\b{local}\b", Kind::Regex, r"\b{start}\ba\+b\b"),
        ("Bearer {config.key}", Kind::Header, "Bearer k&1"),
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
fn hashes_are_taken_of_the_lower_cased_value() {
    let email = query(SearchType::Email, "MyEmailAddress@example.com");
    assert_eq!(fill("{query|md5}", Kind::Plain, &email).unwrap(), "0bc83cb571cd1c50ba6f3e8a78ef1346");
    assert_eq!(
        fill("{query|sha256}", Kind::Plain, &email).unwrap(),
        "84059b07d4be67b806386c0aad8070a23f18836bbaae342275dc0a83414c32ee"
    );
    assert_eq!(fill("{query|sha1}", Kind::Plain, &email).unwrap().len(), 40);
}

#[test]
fn what_is_missing_or_does_not_fit_is_said() {
    let name = query(SearchType::Username, "a.b");
    let missing = |name: &str| FillError::NotSaved(name.into());
    for (template, kind, want) in [
        ("{local}", Kind::Plain, FillError::NoPart),
        ("{domain|registrable}", Kind::Plain, FillError::NoPart),
        ("{saved.other}", Kind::Plain, missing("other")),
        ("{config.other}", Kind::Plain, FillError::NoKey("other".into())),
        ("https://{query}.x.org/", Kind::Url, FillError::Unfit),
    ] {
        assert_eq!(fill(template, kind, &name), Err(want), "{template}");
    }
    for dots in [".", ".."] {
        let saved = Saved::from([("v".to_owned(), dots.to_owned())]);
        let values = Values { query: &name, name: "a.b", keys: None, saved: &saved, value: None };
        let fill = |text| Template::parse(text, Kind::Url).unwrap().fill(&values);
        assert_eq!(fill("https://x.org/{saved.v}/p"), Err(FillError::Unfit));
        assert!(fill("https://x.org/p?q={saved.v}").is_ok());
    }
}

#[test]
fn a_bad_template_says_what_is_allowed() {
    for (template, kind, want) in [
        (
            "{user}",
            Kind::Plain,
            "`{user}` is no variable; there are query, local, domain, saved.NAME, config.NAME; write a literal brace twice: `{{`",
        ),
        (
            "{query|upper}",
            Kind::Plain,
            "`|upper` is no filter; there are lower, md5, sha1, sha256, registrable, label, urlencode",
        ),
        ("{query", Kind::Plain, "a `{` without its `}`; write a literal brace twice: `{{`"),
        ("query}", Kind::Plain, "a `}` without its `{`; write a literal brace twice: `}}`"),
        ("ftp://x", Kind::Url, "a URL begins with `https://`, `http://` or `{saved.NAME}`"),
        ("{query}", Kind::Url, "a URL begins with `https://`, `http://` or `{saved.NAME}`"),
        ("https://u@x.org/", Kind::Url, "a URL here has no user name and no password"),
        ("https://x.org/#a", Kind::Url, "a URL here has no fragment (`#`): it would never be sent"),
        ("https://x.org/a b", Kind::Url, "a URL holds no ' '; percent-encode it"),
    ] {
        assert_eq!(Template::parse(template, kind).unwrap_err(), want);
    }
}

#[test]
fn the_host_is_the_fixed_suffix_or_the_queried_domain() {
    let saved = Saved::new();
    let domain = query(SearchType::Domain, "a.example.org");
    let values = Values { query: &domain, name: domain.normal(), keys: None, saved: &saved, value: None };
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
fn a_saved_address_is_a_web_address_and_nothing_else() {
    let name = query(SearchType::Username, "bob");
    let with = |base: &str, template: &str| {
        let saved = Saved::from([("base".to_owned(), base.to_owned())]);
        let values = Values { query: &name, name: "bob", keys: None, saved: &saved, value: None };
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
        let values = Values { query: &name, name: "bob", keys: None, saved: &saved, value: None };
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
        let values = Values { query: &name, name: "bob", keys: None, saved: &saved, value: None };
        let template = Template::parse("https://{saved.v}.x.org/p", Kind::Url).unwrap();
        if let Ok(filled) = template.fill(&values) {
            let url = Url::parse(&filled).unwrap();
            prop_assert!(url.host_str().unwrap().ends_with(".x.org"));
            prop_assert_eq!((url.path(), url.port(), url.username()), ("/p", None, ""));
        }
    }

    #[test]
    fn no_value_breaks_out_of_json_regex_header_or_xml(value in any::<String>()) {
        let name = query(SearchType::Username, "bob");
        let saved = Saved::from([("v".to_owned(), value.clone())]);
        let values = Values { query: &name, name: "bob", keys: None, saved: &saved, value: None };
        let fill = |text: &str, kind| Template::parse(text, kind).unwrap().fill(&values);
        let json: serde_json::Value =
            serde_json::from_str(&fill("{{\"a\":\"{saved.v}\"}}", Kind::Json).unwrap()).unwrap();
        prop_assert_eq!(json, serde_json::json!({"a": value}));
        let regex = regex::Regex::new(&fill("\\A{saved.v}\\z", Kind::Regex).unwrap()).unwrap();
        prop_assert!(regex.is_match(&value));
        if let Ok(header) = fill("x {saved.v}", Kind::Header) {
            prop_assert!(header.bytes().all(|b| (0x20..0x7f).contains(&b)));
        }
        let xml = fill("<a b=\"{saved.v}\">", Kind::Xml).unwrap();
        prop_assert_eq!(xml.matches(['<', '>', '"']).count(), 4);
    }

    #[test]
    fn parsing_never_panics(text in any::<String>()) {
        for kind in [Kind::Url, Kind::Regex, Kind::Plain, Kind::Json] {
            let _ = Template::parse(&text, kind);
        }
    }
}
