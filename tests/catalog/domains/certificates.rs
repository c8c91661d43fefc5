//! Certificate logs.

use super::*;

#[test]
fn crt_sh() {
    let list = json!([
        {"issuer_ca_id": 16418, "issuer_name": "C=US, O=Let's Encrypt, CN=R3", "common_name": "example.com",
            "name_value": "*.example.com\nMail.example.com\nexample.com\nexample.com.evil.net", "id": 77, "entry_timestamp": "2024-01-02T03:04:05.678",
            "not_before": "2024-01-02T02:04:05", "not_after": "2024-04-01T02:04:04", "serial_number": "04AB"},
        {"issuer_ca_id": 16418, "issuer_name": "X", "common_name": "a", "name_value": "dev.example.com\nme@example.com", "id": 78, "serial_number": "05"}
    ]);
    play("crt_sh", "www.example.com", vec![doc("crt.sh/?q=%25.example.com", &list)])
        .has("subdomain", &["mail.example.com", "dev.example.com"])
        .has("certificate", &["04ab", "05"])
        .tells("04ab", &json!({"serial": "04ab", "not_after": "2024-04-01T02:04:04Z", "not_before": "2024-01-02T02:04:05Z", "url": "https://crt.sh/?id=77",
            "names": ["*.example.com", "mail.example.com", "example.com", "example.com.evil.net"]}))
        .has("email", &["me@example.com"]);
    play("crt_sh", "example.com", vec![text("crt.sh", "[]")]).outcome(Outcome::Miss);
    play("crt_sh", "example.com", vec![page("crt.sh", 502, "text/html", "<html>")]).outcome(Outcome::Error);
}

#[test]
fn names_are_whole_names_or_nothing() {
    let names = [
        "www.example.com",
        "Mail Server intra.example.com",
        "bücher.example.com",
        "https://url.example.com/",
        "foo.example.com",
        "https://x.example/",
        "bar.example.com",
        "*.wild.example.com",
        "*.*.two.example.com",
        "a*.example.com",
        "notexample.com",
        "example.com.evil.net",
        "me@mail.example.com",
        "_dmarc.example.com",
        "dot.example.com.",
        "dots.example.com..",
        "a\u{0}nul.example.com",
        "a\rreturn.example.com",
        "a\ttab.example.com",
        "-x.example.com",
        "quote\"d.example.com",
        "back\\nslash.example.com",
        "EXAMPLE.com",
    ];
    let wanted = ["www", "xn--bcher-kva", "foo", "bar", "wild", "_dmarc", "dot"]
        .map(|name| format!("{name}.example.com"));
    let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
    let list = json!([{"issuer_ca_id": 1, "issuer_name": "C=US", "common_name": "example.com", "name_value": names.join("\n"), "id": 1, "serial_number": "05"}]);
    let plain = list.to_string();
    let escaped = plain.replace('ü', "\\u00fc");
    assert_ne!(plain, escaped);
    for body in [plain, escaped] {
        play("crt_sh", "example.com", vec![page("crt.sh", 200, "application/json", body)])
            .has("subdomain", &wanted);
    }
    play("shodan_ct", "example.com", vec![doc("ctl.shodan.io", &json!(names))]).has("subdomain", &wanted);
    let addresses = names.map(|name| json!([format!("http://{name}/page")]));
    let captures =
        json!([["original"]]).as_array().unwrap().iter().cloned().chain(addresses).collect::<Vec<_>>();
    let found = play("wayback_subdomains", "example.com", vec![doc("web.archive.org", &json!(captures))]);
    let found = found.values("subdomain");
    // A user may stand before the host of an address.
    let of_user = |name: &&&str| **name != "mail.example.com";
    assert_eq!(
        found.iter().filter(of_user).copied().collect::<Vec<_>>(),
        wanted.iter().copied().filter(|it| *it != "wild.example.com").collect::<Vec<_>>()
    );
}

#[test]
fn serial_numbers_have_one_form() {
    let serial = "f3a1b2c3d4e5f60718293a4b5c6d7e8f";
    let attributes = json!({"last_analysis_stats": {"malicious": 0}, "last_https_certificate": {"serial_number": serial, "issuer": {"O": "Let's Encrypt"}}});
    let body = json!({"data": {"id": "example.com", "attributes": attributes}});
    play("virustotal", "example.com", vec![doc("virustotal", &body)])
        .has("certificate", &[serial])
        .tells(serial, &json!({"serial": serial, "issuer": "Let's Encrypt"}));
    let logged = format!("00{}", serial.to_uppercase());
    let list = json!([{"issuer_ca_id": 1, "issuer_name": "C=US", "name_value": "example.com", "id": 1, "serial_number": logged}]);
    let logged = logged.to_lowercase();
    play("crt_sh", "example.com", vec![doc("crt.sh", &list)]).tells(&logged, &json!({"serial": logged}));
}

#[test]
fn certificates_name_hosts() {
    let issuance = |id: &str, name: &str| {
        json!({"id": id, "tbs_sha256": format!("aa{id}"), "cert_sha256": format!("BB{id}"), "dns_names": [name, "example.com"], "revoked": false,
            "issuer": {"friendly_name": "Let's Encrypt", "name": "C=US"}, "not_before": "2024-01-01T00:00:00Z", "not_after": "2024-04-01T00:00:00-00:00"})
    };
    play(
        "certspotter",
        "example.com",
        vec![doc(
            "/v1/issuances",
            &json!([issuance("11", "a.example.com"), issuance("12", "*.b.example.com")]),
        )],
    )
    .has("subdomain", &["a.example.com", "b.example.com"])
    .tells("aa11", &json!({"issuer": "Let's Encrypt", "revoked": false, "fingerprint_sha256": "bb11"}));
    play("certspotter", "example.com", vec![doc("/v1/issuances", &json!([]))]).outcome(Outcome::Miss);
}

#[test]
fn plain_lists_of_names() {
    play(
        "shodan_ct",
        "example.com",
        vec![doc("ctl.shodan.io", &json!(["*.example.com", "A.example.com", "b.other.net"]))],
    )
    .has("subdomain", &["a.example.com"]);
    play(
        "crt_name",
        "example.com",
        vec![text("crt.name", "example.com\n*.dev.example.com\r\nmail.example.com\n")],
    )
    .has("subdomain", &["dev.example.com", "mail.example.com"]);
    play("crt_name", "example.com", vec![text("crt.name", "")]).outcome(Outcome::Miss);
    play("crt_name", "example.com", vec![page("crt.name", 200, "text/html", "")]).outcome(Outcome::Error);
}
