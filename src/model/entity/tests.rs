use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::merge::{MAX_METADATA_BYTES, MAX_SOURCES, SOURCES, merge, name_source, sources};
use super::*;

/// Returns a result for tests, which the module `site` has found on its own platform.
pub(crate) fn record(id: u32, kind: &str, value: &str, metadata: &Value) -> ResultRecord {
    ResultRecord {
        id,
        result_type: kind.into(),
        entity_type: kind.into(),
        platform: Some(format!("Site {id}")),
        value: Some(value.into()),
        confidence: 0.9,
        source: "site".into(),
        metadata: metadata.as_object().unwrap().clone(),
        created_at: "2026-05-06T07:08:09Z".parse().unwrap(),
        annotation: None,
    }
}

fn finding(kind: &str, value: Option<&str>, module: &str, metadata: Value) -> ResultRecord {
    let Value::Object(metadata) = metadata else { panic!("no object") };
    let (value, platform) = (value.map(Into::into), Some(format!("Platform of {module}")));
    let (source, confidence) = (module.into(), 0.72);
    let found = record(1, kind, "", &json!({}));
    let mut record = ResultRecord { value, platform, source, confidence, metadata, ..found };
    name_source(&mut record, None);
    record
}

fn are_equal(kind: &str, one: &str, other: &str) -> bool {
    let key = |value, module| EntityKey::of(&finding(kind, Some(value), module, json!({})));
    key(one, "a") == key(other, "b")
}

#[test]
fn different_spellings_are_the_same_entity() {
    for (kind, one, other) in [
        ("email", "Bob@Example.COM", "bob@example.com."),
        ("email", "bob@bücher.example", "bob@xn--bcher-kva.example"),
        ("domain", "Example.com.", "example.com"),
        ("subdomain", "_dmarc.Bücher.example", "_dmarc.xn--bcher-kva.example"),
        ("registration", "EXAMPLE.org", "example.org"),
        ("ip_address", "::ffff:192.0.2.1", "192.0.2.1"),
        ("ip_address", "[2001:DB8:0:0::1]", "2001:db8::1"),
        ("url", "HTTP://Example.com:80", "http://example.com/"),
        ("url", "https://example.com/a#", "https://example.com/a"),
        (
            "archive",
            "https://web.archive.org/web/1/http://a.example",
            "https://Web.Archive.Org/web/1/http://a.example",
        ),
        ("phone", "+44 (20) 7946-0958", "+442079460958"),
        ("technology", "nginx", " Nginx "),
        ("person_name", "Jose\u{301}  Garcia", "JOSÉ garcia"),
        ("username", "Octocat", "octocat"),
        ("breach", "MyFitnessPal", "My Fitness-Pal"),
        ("certificate", "AB:CD:EF:01:23:45:67:89:AB", "0xabcdef0123456789ab"),
        ("certificate", "00:AB:CD:EF:01:23:45:67:89", "abcdef0123456789"),
        ("certificate", "HTTPS://ct.example/1", "https://ct.example/1#"),
        ("public_key", "ABCD 1234 ABCD 1234", "0xabcd1234abcd1234"),
        ("public_key", "ssh-ed25519 AAAAC3 bob@host", "ssh-ed25519 AAAAC3"),
        ("tenant", "6BABCAAD-604B-40AC-A9D7-9FD97C0B779F", "6babcaad-604b-40ac-a9d7-9fd97c0b779f"),
        ("dns_record", "v=spf1  -all", "v=spf1 -all"),
    ] {
        assert!(are_equal(kind, one, other), "{kind}: {one} and {other}");
    }
}

#[test]
fn similar_values_are_different_entities() {
    for (kind, one, other) in [
        ("email", "bob@example.com", "bob@example.org"),
        ("email", "b.ob@example.com", "bob@example.com"),
        ("domain", "example.com", "www.example.com"),
        ("url", "http://example.com/a", "https://example.com/a"),
        ("url", "https://example.com/a", "https://example.com/A"),
        ("url", "https://example.com/a#/bob", "https://example.com/a"),
        ("phone", "+442079460958", "442079460958"),
        ("phone", "555-0100 ext 1", "555-0100 ext 2"),
        ("breach", "leak 2019-11-1", "leak 2019-1-11"),
        ("public_key", "ssh-ed25519 AAAAC3", "ssh-ed25519 AAAAC4"),
        ("dns_record", "v=spf1 -ALL", "v=spf1 -all"),
        // The scope of each type is the platform or the module.
        ("account", "bob", "bob"),
        ("profile", "bob", "bob"),
        ("tenant", "acme", "acme"),
        ("certificate", "0a1b2c", "0a1b2c"),
        ("certificate", "00000000000000000a1b2c", "a1b2c"),
        ("certificate", "E=1, CN=x", "E=1, CN=x"),
        ("public_key", "bob@example.com", "bob@example.com"),
        ("public_key", "ABCD1234", "abcd1234"),
        ("reputation", "A+", "A+"),
        ("of_another_version", "x", "x"),
    ] {
        assert!(!are_equal(kind, one, other), "{kind}: {one} and {other}");
    }
    let types =
        ["domain", "subdomain"].map(|kind| EntityKey::of(&finding(kind, Some("a.example"), "m", json!({}))));
    assert_ne!(types[0], types[1]);
}

#[test]
fn accounts_are_equal_on_one_platform_only() {
    let on = |platform: &str, module: &str, value: &str| {
        let found = finding("account", Some(value), module, json!({}));
        EntityKey::of(&ResultRecord { platform: Some(platform.into()), ..found })
    };
    assert_eq!(on("GitHub", "github", "bob"), on("github", "github_api", "bob"));
    assert_ne!(on("GitHub", "github", "bob"), on("GitHub", "github", "Bob"), "to the letter");
}

#[test]
fn the_name_and_type_of_a_dns_record_and_the_serial_of_a_certificate_count() {
    let dns =
        |value: &str, metadata: Value| EntityKey::of(&finding("dns_record", Some(value), "m", metadata));
    let txt = dns("x", json!({"record_type": "TXT", "name": "a.example"}));
    assert_eq!(txt, dns("x", json!({"record_type": "txt", "name": "A.example.", "ttl": 5})));
    assert_ne!(txt, dns("x", json!({"record_type": "TXT", "name": "b.example"})));
    assert_ne!(txt, dns("x", json!({"record_type": "SPF", "name": "a.example"})));
    let mx = json!({"record_type": "MX", "name": "a.example"});
    assert_eq!(dns("10 MX.Example.", mx.clone()), dns("10 mx.example", mx.clone()));
    assert_ne!(dns("10 mx.example", mx.clone()), dns("20 mx.example", mx));

    let certificate = |value: &str, serial: &str| {
        EntityKey::of(&finding("certificate", Some(value), "m", json!({ "serial": serial })))
    };
    let long = certificate("https://ct.example/1", "04:AB:12:34:56:78:9A:BC:DE");
    assert_eq!(long, certificate("ab12cd34", "4ab123456789abcde"));
    assert_eq!(long, certificate("4ab123456789abcde", "00:00:04:AB:12:34:56:78:9A:BC:DE"));
    assert_ne!(certificate("https://ct.example/1", "0123"), certificate("https://ct.example/2", "0123"));
}

#[test]
fn a_short_serial_number_is_unique_only_with_its_issuer() {
    let of = |value: &str, module: &str, issuer: Option<&str>| {
        let metadata = json!({"serial": value, "issuer": issuer});
        EntityKey::of(&finding("certificate", Some(value), module, metadata))
    };
    let one = of("0a1b2c", "a", Some("CA one"));
    assert_eq!(one, of("A1B2C", "b", Some("ca  ONE")));
    assert_ne!(one, of("0a1b2c", "a", Some("CA two")));
    assert_ne!(one, of("0a1b2c", "a", None));
    assert_eq!(of("0a1b2c", "a", None), of("a1b2c", "a", Some(" ")));
    assert_ne!(of("0a1b2c", "a", None), of("0a1b2c", "b", None));
    assert_ne!(of("0a1b2c", "a", None), of("0a1b2c", "b", Some("a")), "an issuer of a module's name");
    let long = "f3a1b2c3d4e5f60718293a4b5c6d7e8f";
    assert_eq!(of(long, "a", Some("CA one")), of(&format!("00{long}"), "b", Some("O=CA one, C=US")));
}

#[test]
fn the_kind_of_a_technology_and_of_a_key_counts() {
    let of = |kind: &str, value: &str, module: &str, metadata: Value| {
        EntityKey::of(&finding(kind, Some(value), module, metadata))
    };
    let app = |kind: &str, team: &str| {
        of("technology", "com.example.app", "m", json!({"kind": kind, "team_id": team}))
    };
    assert_eq!(app("iOS app", "A1"), app("ios app", "A1"));
    assert_ne!(app("iOS app", "A1"), app("Android app", "A1"));
    assert_ne!(app("iOS app", "A1"), app("iOS app", "B2"));
    for member in ["network", "service"] {
        let id = |name: &str| of("technology", "1234", "m", json!({"kind": "id", member: name}));
        assert_ne!(id("a.example"), id("b.example"));
    }
    let nginx = |module: &str, metadata: Value| of("technology", "nginx", module, metadata);
    assert_eq!(nginx("a", json!({})), nginx("b", json!({"evidence": "server header", "version": "1"})));
    assert_eq!(nginx("a", json!({"kind": "server"})), nginx("b", json!({"kind": "Server"})));

    let key = |module: &str, sha256: &str| {
        of("public_key", "bob@example.com", module, json!({"key_sha256": sha256}))
    };
    let digest = |digit: &str| digit.repeat(64);
    assert_eq!(key("a", &digest("A")), key("b", &digest("a")));
    assert_ne!(key("a", &digest("a")), key("a", &digest("b")));
    assert_ne!(key("a", "ab"), key("b", "ab"), "no digest");
    let page = |archive: &str| of("archive", "https://a.example/", "m", json!({"archive": archive}));
    assert_ne!(page("one"), page("other"));
}

#[test]
fn a_result_lists_its_first_source_and_drops_a_modules_own_sources() {
    let record = finding("email", Some("a@b.example"), "m", json!({"sources": "mine", "bio": "x"}));
    let named = json!([{"module": "m", "platform": "Platform of m", "confidence": 0.72}]);
    assert_eq!(Value::Object(record.metadata.clone()), json!({"bio": "x", "sources": named}));
    assert_eq!(sources(&record).len(), 1);
}

#[test]
fn a_later_source_adds_missing_members_and_overwrites_none() {
    let mut record = finding("email", Some("a@b.example"), "first", json!({"bio": "one"}));
    let later = finding("email", Some("A@B.example"), "later", json!({"bio": "two", "age": 3}));
    let before = record.clone();
    // A result of an earlier version has no list of sources.
    record.metadata.shift_remove(SOURCES);
    assert!(!merge(&mut record.clone(), &before));
    assert!(merge(&mut record, &later));
    assert_eq!(record.value, before.value);
    assert_eq!((&record.source, &record.platform, record.id), (&before.source, &before.platform, 1));
    assert_eq!((&record.metadata["bio"], &record.metadata["age"]), (&json!("one"), &json!(3)));
    let named: Vec<String> = sources(&record).into_iter().map(|source| source.module).collect();
    assert_eq!(named, ["first", "later"]);
    let after = record.clone();
    for again in [&later, &before] {
        assert!(!merge(&mut record, again), "a module that says it again changes nothing");
    }
    assert_eq!(record, after);
    let more = finding("email", Some("a@b.example"), "first", json!({"bio": "three", "city": "Rome"}));
    assert!(merge(&mut record, &more), "the same module with something new");
    assert_eq!((&record.metadata["bio"], &record.metadata["city"]), (&json!("one"), &json!("Rome")));
    assert_eq!(sources(&record), sources(&after));
    assert_eq!(record.confidence.to_bits(), after.confidence.to_bits());
}

#[test]
fn agreement_raises_confidence_and_a_platform_counts_once() {
    let agreed = |confidences: &[f64], platform: Option<&str>| {
        let source = |(at, confidence): (usize, &f64)| {
            let found = finding("email", Some("a@b.example"), &format!("m{at}"), json!({}));
            let (platform, confidence) = (platform.map(Into::into), *confidence);
            let mut found = ResultRecord { platform, confidence, ..found };
            name_source(&mut found, None);
            found
        };
        let mut sources = confidences.iter().enumerate().map(source);
        let mut record = sources.next().unwrap();
        assert!(sources.all(|source| merge(&mut record, &source)));
        record.confidence
    };
    let near = |one: f64, other: f64| assert!((one - other).abs() < 1e-9, "{one} {other}");
    near(agreed(&[0.72, 0.72], None), 0.77);
    near(agreed(&[0.72, 0.72], Some("crt.sh")), 0.72);
    near(agreed(&[0.5, 0.9], Some("crt.sh")), 0.9);
    // Only four sources count besides the one with the highest confidence.
    near(agreed(&[0.72; 5], None), 0.87);
    near(agreed(&[0.72; 40], None), 0.87);
    near(agreed(&[0.98, 0.98, 0.98], None), 0.99);
    near(agreed(&[1.0, 0.2], None), 1.0);
    near(agreed(&[0.0, 0.0], None), 0.0);
}

#[test]
fn sources_and_bytes_are_bounded() {
    let mut record = finding("email", Some("a@b.example"), "m0", json!({}));
    for number in 1..500 {
        let text = "x".repeat(1000);
        let metadata = json!({ format!("member{number}"): text });
        merge(&mut record, &finding("email", Some("a@b.example"), &format!("m{number}"), metadata));
    }
    assert_eq!(sources(&record).len(), MAX_SOURCES);
    let bytes = serde_json::to_vec(&record.metadata).unwrap().len();
    // The check of a member's size does not consider later sources.
    assert!((MAX_METADATA_BYTES - 2000..MAX_METADATA_BYTES + 100 * MAX_SOURCES).contains(&bytes), "{bytes}");
}

/// Generates findings with few different values, so that they are often equal.
fn findings() -> impl Strategy<Value = Vec<ResultRecord>> {
    let kind =
        prop::sample::select(vec!["email", "subdomain", "account", "reputation", "dns_record", "tenant"]);
    let value = prop::sample::select(vec!["a.example", "A.Example", "b.example", "x@a.example"]);
    let one =
        (kind, value, 0..6usize, 0..3usize, 1u32..100).prop_map(|(kind, value, module, record, sure)| {
            let record = ["TXT", "A", "MX"][record];
            let metadata = json!({"record_type": record, format!("m{module}"): module});
            let mut found = finding(kind, Some(value), &format!("m{module}"), metadata);
            // Two modules share a platform.
            found.platform = Some(format!("p{}", module / 2));
            found.confidence = f64::from(sure) / 100.0;
            name_source(&mut found, None);
            found
        });
    // A module may find an entity again: all of its findings have the same confidence.
    prop::collection::vec(one, 0..40).prop_map(|mut all| {
        let mut sure = BTreeMap::new();
        for found in &mut all {
            let source = (found.source.clone(), EntityKey::of(found));
            found.confidence = *sure.entry(source).or_insert(found.confidence);
            name_source(found, None);
        }
        all
    })
}

/// The entities with the modules of their sources, their confidence and the names of their members.
type World = BTreeMap<EntityKey, (BTreeSet<String>, u64, BTreeSet<String>)>;

fn world(findings: &[ResultRecord]) -> (World, Vec<ResultRecord>) {
    let mut records: Vec<ResultRecord> = Vec::new();
    for found in findings {
        match records.iter_mut().find(|known| EntityKey::of(known) == EntityKey::of(found)) {
            Some(known) => {
                let is_new = sources(known).iter().all(|source| source.module != found.source);
                assert!(merge(known, found) || !is_new);
            }
            None => records.push(found.clone()),
        }
    }
    let shown = records.iter().map(|record| {
        let modules = sources(record).into_iter().map(|source| source.module).collect();
        let members = record.metadata.keys().cloned().collect();
        (EntityKey::of(record), (modules, record.confidence.to_bits(), members))
    });
    (shown.collect(), records)
}

proptest! {
    #[test]
    fn any_order_gives_the_same_entities_sources_and_confidence(
        (findings, shuffled) in findings().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
    ) {
        let (one, records) = world(&findings);
        prop_assert_eq!(&one, &world(&shuffled).0);
        for record in &records {
            let surest = sources(record).iter().map(|source| source.confidence).fold(0.0, f64::max);
            prop_assert!((surest..=1.0).contains(&record.confidence));
        }
        // Merging changes no key, so each record still has its own key.
        prop_assert_eq!(one.len(), records.len());
        // All findings are added again, as after a crash, and nothing changes.
        for (mut record, found) in records.iter().flat_map(|record| findings.iter().map(move |f| (record.clone(), f))) {
            if EntityKey::of(&record) == EntityKey::of(found) {
                prop_assert!(!merge(&mut record, found));
            }
        }
    }

    #[test]
    fn any_text_has_a_key_and_forms_are_idempotent(text in "\\PC{0,40}", kind in 0..5usize) {
        for name in ["email", "phone", "url", "certificate", "public_key", "breach", "ip_address", "domain"] {
            EntityKey::of(&finding(name, Some(&text), "m", json!({"serial": text})));
        }
        let certificate = |text: &str| canonical::certificate(text, None).0;
        let form = [canonical::folded, canonical::phone, canonical::url, canonical::breach, certificate][kind];
        prop_assert_eq!(form(&form(&text)), form(&text));
        let key = |text: &str| canonical::public_key(text, None).0;
        prop_assert_eq!(key(&key(&text)), key(&text));
    }
}
