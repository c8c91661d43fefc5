use proptest::prelude::*;

use super::SearchType::{Domain, Email, Username};
use super::*;

fn normal(search_type: SearchType, raw: &str) -> String {
    Query::parse(search_type, raw)
        .map(|query| query.normal().to_owned())
        .unwrap_or_else(|e| panic!("{raw:?}: {e}"))
}

/// Asserts that each text is refused for the given reason, and that the error does not reveal the query.
fn refused(search_type: SearchType, table: &[(&str, &str)]) {
    for (raw, why) in table {
        let error = Query::parse(search_type, raw).expect_err(raw);
        assert!(error.message.contains(why), "{raw:?}: {error}");
        assert_eq!(error.allowed, search_type.allowed());
        assert!(raw.trim().len() < 4 || !error.message.contains(raw.trim()), "{raw:?}: {error}");
    }
}

#[test]
fn usernames_have_a_normal_form() {
    let long = "a".repeat(64);
    for (raw, expected) in [
        ("torvalds", "torvalds"),
        ("  @Torvalds\n", "Torvalds"),
        ("a.b_c-d+e~f9", "a.b_c-d+e~f9"),
        ("-", "-"),
        ("_._", "_._"),
        ("Jose\u{301}", "José"),
        ("हिन्दी", "हिन्दी"),
        ("名前", "名前"),
        ("мир٣", "мир٣"),
        (long.as_str(), long.as_str()),
    ] {
        assert_eq!(normal(Username, raw), expected, "{raw:?}");
    }
    let query = Query::parse(Username, " @José ").unwrap();
    assert_eq!((query.raw(), query.normal(), query.normal().is_ascii()), (" @José ", "José", false));
    assert_eq!((query.local(), query.domain(), query.registrable()), (None, None, None));
}

#[test]
fn invalid_usernames_are_refused() {
    let (long, wide, huge) = ("a".repeat(65), "名".repeat(65), "a".repeat(1025));
    refused(
        Username,
        &[
            ("", "empty"),
            (" \t\r\n ", "empty"),
            ("@", "empty"),
            ("@@name", "(character 1)"),
            ("na me", "(character 3)"),
            ("name/../x", "(character 5)"),
            ("name%2f", "(character 5)"),
            ("name@example.com", "(character 5)"),
            ("name½", "(character 5)"),
            ("name😀", "(character 5)"),
            ("\u{301}name", "combining mark"),
            ("n\u{300}\u{301}\u{302}\u{303}\u{304}\u{305}\u{306}", "combining mark"),
            (".", "dots"),
            ("..", "dots"),
            (&long, "65 characters"),
            (&wide, "65 characters"),
            (&huge, "1024 bytes"),
        ],
    );
    for invisible in "\0\u{7f}\u{85}\u{ad}\u{200b}\u{200d}\u{202e}\u{2066}\u{3164}\u{e0041}".chars() {
        for kind in SearchType::ALL {
            refused(
                kind,
                &[(&format!("na{invisible}me@example.com"), "control or invisible character (character 3)")],
            );
        }
    }
}

#[test]
fn domains_have_a_normal_form() {
    let label = "a".repeat(63);
    let labelled = format!("{label}.com");
    for (raw, expected) in [
        ("example.com", "example.com"),
        ("<https://example.com/a>", "example.com"),
        (" EXAMPLE.Com. ", "example.com"),
        ("www.example.co.uk", "www.example.co.uk"),
        ("bücher.example.de", "xn--bcher-kva.example.de"),
        ("faß.de", "xn--fa-hia.de"),
        ("XN--BCHER-KVA.de", "xn--bcher-kva.de"),
        ("例え。jp", "xn--r8jz45g.jp"),
        ("r3---sn.example.com", "r3---sn.example.com"),
        ("http://example.com", "example.com"),
        ("HTTPS://user:p%40ss@Example.COM:8443/a/b?c=d@e#f", "example.com"),
        ("https://example.com:/", "example.com"),
        ("//example.com/path", "example.com"),
        ("example.com/path@x", "example.com"),
        ("example.com:443", "example.com"),
        ("example.com?q=http://other.com", "example.com"),
        ("https://example.com\\@other.com/", "example.com"),
        ("github.io", "github.io"),
        ("me.github.io", "me.github.io"),
        ("s3.amazonaws.com", "s3.amazonaws.com"),
        ("1.2.3.4.com", "1.2.3.4.com"),
        ("0x7f.com", "0x7f.com"),
        (labelled.as_str(), labelled.as_str()),
    ] {
        assert_eq!(normal(Domain, raw), expected, "{raw:?}");
    }
}

#[test]
fn invalid_domains_are_refused() {
    let label = format!("{}.com", "a".repeat(64));
    let long = format!("{}com", "abcdefg.".repeat(32));
    let encoded = format!("{}.com", "ü".repeat(60));
    refused(
        Domain,
        &[
            ("https://", "empty"),
            ("https:///path", "empty"),
            (".", "empty"),
            ("example..com", "label 2"),
            (".example.com", "label 1"),
            ("ftp://example.com", "neither http nor https"),
            ("javascript:alert(1)", "port"),
            ("example.com:99999", "port"),
            ("example.com:+80", "port"),
            ("me@example.com", "'@'"),
            ("exa mple.com", "not allowed"),
            ("ex%61mple.com", "not allowed"),
            ("foo_bar.com", "not allowed"),
            ("*.example.com", "not allowed"),
            ("-example.com", "not allowed"),
            ("example-.com", "not allowed"),
            ("xn--\u{fffd}.com", "not allowed"),
            ("xn--a.com", "not allowed"),
            (&label, "longer than 63"),
            (&encoded, "longer than 63"),
            (&long, "more than 253"),
            ("com", "single label"),
            ("intranet", "single label"),
            ("co.uk", "itself a public suffix"),
            ("foo.ck", "itself a public suffix"),
            ("https://gov.uk.", "itself a public suffix"),
            ("example.notatld", "known public suffix"),
            ("printer.lan", "known public suffix"),
        ],
    );
    let special = "localhost a.localhost x.local x.internal x.test x.example x.invalid x.onion x.alt home.arpa \
                   x.home.arpa 1.0.0.127.in-addr.arpa LOCALHOST.";
    special.split(' ').for_each(|name| refused(Domain, &[(name, "is a special-use name")]));
}

#[test]
fn an_ip_address_in_any_spelling_is_not_a_domain() {
    let addresses = "127.0.0.1 127.0.0.1. 127.1 2130706433 0x7f000001 0x7F.1 017700000001 0x １２７.0.0.1 1.2.3.256 \
                     example.0x1f http://10.0.0.1:80/ [::1] http://[::ffff:127.0.0.1]/ ::1 2001:db8::1 fe80::1%eth0";
    addresses.split(' ').for_each(|address| refused(Domain, &[(address, "IP address")]));
    refused(
        Email,
        &[
            ("me@127.0.0.1", "IP address"),
            ("me@[127.0.0.1]", "not allowed"),
            ("me@[IPv6:::1]", "not allowed"),
        ],
    );
}

#[test]
fn emails_have_a_normal_form() {
    let local = format!("{}@example.com", "a".repeat(64));
    for (raw, expected) in [
        ("me@example.com", "me@example.com"),
        (" First.Last+tag@EXAMPLE.com. ", "First.Last+tag@example.com"),
        ("!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"),
        ("info@bücher.de", "info@xn--bcher-kva.de"),
        (local.as_str(), local.as_str()),
        ("@alice@example.com", "alice@example.com"),
        ("acct:alice@example.com", "alice@example.com"),
        ("acct:@alice@example.com", "alice@example.com"),
        ("MAILTO:me@example.com?subject=a@b", "me@example.com"),
        ("mailto:%6De%2bx@example.com", "me+x@example.com"),
        ("100%25@example.com", "100%25@example.com"),
        ("<me@example.com>", "me@example.com"),
        ("< mailto:me@example.com >", "me@example.com"),
        ("Example Person <me@example.com>", "me@example.com"),
    ] {
        assert_eq!(SearchType::recognized(raw), Email, "{raw:?}");
        assert_eq!(normal(Email, raw), expected, "{raw:?}");
    }
    let query = Query::parse(Email, "Me+x@Mail.Example.CO.UK").unwrap();
    assert_eq!((query.local(), query.domain()), (Some("Me+x"), Some("mail.example.co.uk")));
    assert_eq!(query.registrable(), Some("example.co.uk"));
}

#[test]
fn invalid_emails_are_refused() {
    let local = format!("{}@example.com", "a".repeat(65));
    let long = format!("{}@{}com", "a".repeat(60), "abcdefg.".repeat(24));
    refused(
        Email,
        &[
            ("me", "no '@'"),
            ("@example.com", "nothing before"),
            ("me@", "empty"),
            ("me@you@example.com", "(character 3)"),
            ("\"me\"@example.com", "(character 1)"),
            ("m e@example.com", "(character 2)"),
            ("josé@example.com", "(character 4)"),
            ("<me@example.com", "(character 1)"),
            ("Me <>", "no '@'"),
            (".me@example.com", "dot"),
            ("me.@example.com", "dot"),
            ("m..e@example.com", "dot"),
            (&local, "65 bytes"),
            (&long, "more than 254"),
            ("me@example.com:25", "not allowed"),
            ("me@example.com/path", "not allowed"),
            ("me@localhost", "special-use"),
            ("me@intranet", "single label"),
            ("me@co.uk", "public suffix"),
            ("me@example", "special-use"),
        ],
    );
}

#[test]
fn a_private_suffix_counts_as_a_registrable_domain() {
    for (name, expected) in [
        ("www.example.com", Some("example.com")),
        ("a.me.github.io", Some("me.github.io")),
        ("github.io", Some("github.io")),
        ("s3.amazonaws.com", Some("amazonaws.com")),
        ("co.uk", None),
        ("com", None),
        ("", None),
    ] {
        assert_eq!(domain::registrable(name), expected, "{name}");
    }
}

/// Returns a strategy for texts that resemble queries, so that many of them are valid.
fn near() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "@?[a-zA-Zéü名ि\u{301}0-9._+~-]{1,70}",
        "(https?://)?([a-z]+@)?([a-zA-Z0-9ßüİ。．-]{1,12}\\.){1,4}(com|co\\.uk|de|jp|ck|github\\.io|local|1)\\.?(:[0-9]{0,6})?(/[a-z?#@]*)?",
        "[a-zA-Z0-9.+_'-]{1,20}@([a-zA-Z0-9ü-]{1,12}\\.){1,3}(com|DE|co\\.uk)\\.?",
    ]
}

proptest! {
    #[test]
    fn parsing_never_panics_and_is_idempotent(raw in near()) {
        for kind in SearchType::ALL {
            if let Ok(query) = Query::parse(kind, &raw) {
                let normal = query.normal();
                let again = Query::parse(kind, normal);
                prop_assert_eq!(again.as_ref().map(Query::normal), Ok(normal));
                prop_assert!(kind == Username || query.normal().is_ascii());
                prop_assert_eq!(query.registrable().is_some(), kind != Username);
                prop_assert!(!normal.chars().any(|c| c.is_whitespace() || is_invisible(c)));
            }
        }
    }

    #[test]
    fn the_parts_of_an_email_join_to_the_whole(raw in near()) {
        if let Ok(query) = Query::parse(Email, &raw) {
            let joined = format!("{}@{}", query.local().unwrap(), query.domain().unwrap());
            prop_assert_eq!(joined, query.normal());
        }
    }
}

#[test]
fn the_type_of_a_query_is_recognized() {
    for (text, want) in [
        ("octocat", SearchType::Username),
        ("@octocat", SearchType::Username),
        ("first.last", SearchType::Username),
        ("", SearchType::Username),
        ("somebody@example.com", SearchType::Email),
        ("  somebody@example.com ", SearchType::Email),
        ("somebody@nowhere", SearchType::Email),
        ("example.com", SearchType::Domain),
        ("Www.Example.co.uk.", SearchType::Domain),
        ("https://example.com/@octocat", SearchType::Domain),
        ("127.0.0.1", SearchType::Username),
    ] {
        assert_eq!(SearchType::recognized(text), want, "{text}");
    }
}
