//! DNS records in the form of Google's and Cloudflare's resolvers.

use super::*;

const GOOGLE: &str = "dns.google/resolve";
const CLOUDFLARE: &str = "/cloudflare-dns.com/dns-query";

#[test]
fn addresses_and_aliases() {
    play(
        "dns_a",
        "www.example.com",
        vec![records(
            GOOGLE,
            0,
            &[("www.example.com.", 5, "Edge.Example.net."), ("edge.example.net.", 1, "192.0.2.7")],
        )],
    )
    .has("ip_address", &["192.0.2.7"])
    .has("dns_record", &["edge.example.net"])
    .tells(
        "edge.example.net",
        &json!({"name": "www.example.com", "record_type": "CNAME", "ttl_seconds": 300}),
    );
}

#[test]
fn mail_exchangers_name_their_provider_in_any_case() {
    let records = || vec![records("type=MX", 0, &[("example.com.", 15, "10 ASPMX.L.GOOGLE.com.")])];
    play("dns_mx", "example.com", records())
        .has("dns_record", &["10 aspmx.l.google.com"])
        .tells("10 aspmx.l.google.com", &json!({"host": "aspmx.l.google.com", "priority": 10}))
        .has("technology", &["Google Workspace"]);
    play("google_workspace", "example.com", records())
        .has("technology", &["Google Workspace"])
        .tells("Google Workspace", &json!({"host": "aspmx.l.google.com"}));
    play(
        "google_workspace",
        "google.com",
        vec![super::records("type=MX", 0, &[("a.", 15, "5 mx.example.net.")])],
    )
    .outcome(Outcome::Miss);
}

#[test]
fn nxdomain_is_a_miss_and_a_dns_failure_is_not() {
    for id in [
        "dns_a",
        "dns_aaaa",
        "dns_txt",
        "dns_spf",
        "dns_dmarc",
        "dns_ds",
        "dns_srv_xmpp",
        "dns_verifications",
    ] {
        play(id, "example.com", vec![records("name=", 3, &[])]).outcome(Outcome::Miss);
        play(id, "example.com", vec![records("name=", 0, &[])]).outcome(Outcome::Miss);
        for status in [2, 5] {
            play(id, "example.com", vec![records("name=", status, &[])]).outcome(Outcome::Error);
        }
        play(id, "example.com", Vec::new()).outcome(Outcome::Error);
    }
}

#[test]
fn the_second_resolver_is_used_if_the_first_fails() {
    let played = play(
        "dns_a",
        "example.com",
        vec![records(GOOGLE, 2, &[]), records(CLOUDFLARE, 0, &[("example.com.", 1, "192.0.2.1")])],
    );
    assert_eq!(played.has("ip_address", &["192.0.2.1"]).asked.len(), 2);
}

#[test]
fn spf_records_are_parsed() {
    let spf = "\"v=spf1 ip4:192.0.2.1 ip4:198.51.100.0/24 ip6:2001:db8::1 include:_spf.google\" \".com include:Mail.Zendesk.com ~all\"";
    for (to, data) in [(GOOGLE, spf.replace("\" \"", "").replace('"', "")), (GOOGLE, spf.to_owned())] {
        let list = [("example.com.", 16, "\"other=1\""), ("example.com.", 16, data.as_str())];
        let played = play("dns_spf", "example.com", vec![records(to, 0, &list)]);
        let record = "v=spf1 ip4:192.0.2.1 ip4:198.51.100.0/24 ip6:2001:db8::1 include:_spf.google.com include:Mail.Zendesk.com ~all";
        played
            .has("dns_record", &[record])
            .tells(record, &json!({"policy": "softfail", "networks": ["198.51.100.0/24"], "purpose": "SPF", "record_type": "TXT"}))
            .has("ip_address", &["192.0.2.1", "2001:db8::1"])
            .has("domain", &["_spf.google.com", "mail.zendesk.com"])
            .has("technology", &["Google Workspace", "Zendesk"]);
    }
}

#[test]
fn report_addresses_and_policies_of_dmarc() {
    let data = "v=DMARC1; p=reject; sp=none; pct=50; rua=mailto:A@rua.dmarcian.com,mailto:b@example.com!10m";
    play(
        "dns_dmarc",
        "www.example.com",
        vec![
            records("name=_dmarc.www.example.com&", 3, &[]),
            records("name=_dmarc.example.com&", 0, &[("_dmarc.example.com.", 16, data)]),
        ],
    )
    .tells(
        data,
        &json!({"policy": "reject", "subdomain_policy": "none", "percent": 50, "report_vendor": "dmarcian"}),
    )
    .has("email", &["a@rua.dmarcian.com", "b@example.com"]);
}

#[test]
fn keys_and_delegations_are_equal_from_both_resolvers() {
    for (algorithm, digest) in [("13", "2"), ("ECDSAP256SHA256", "SHA-256")] {
        let data = format!("2371 {algorithm} {digest} ABCDEF");
        play("dns_ds", "example.com", vec![records("type=DS", 0, &[("example.com.", 43, &data)])]).tells(
            &data,
            &json!({"algorithm": "ECDSAP256SHA256", "digest_type": "SHA-256", "key_tag": 2371}),
        );
    }
    play(
        "dns_dnskey",
        "example.com",
        vec![records("type=DNSKEY", 0, &[("example.com.", 48, "257 3 8 AwEAA")])],
    )
    .tells("257 3 8 AwEAA", &json!({"algorithm": "RSASHA256", "key_role": "key-signing key"}));
}

#[test]
fn services_and_bindings() {
    play("dns_srv_sip_federation", "example.com", vec![records("name=_sipfederationtls._tcp.example.com", 0, &[("a.", 33, "100 1 5061 sipfed.online.lync.com.")])])
        .tells("100 1 5061 sipfed.online.lync.com", &json!({"host": "sipfed.online.lync.com", "port": 5061, "priority": 100, "service": "Microsoft Teams", "weight": 1}));
    let data = "1 . alpn=\"h3,h2\" ipv4hint=192.0.2.1,192.0.2.2 ech=\"AEX\" ipv6hint=2001:db8::1";
    play("dns_https", "example.com", vec![records("type=HTTPS", 0, &[("example.com.", 65, data)])])
        .tells(data, &json!({"alpn": "h3,h2", "encrypted_client_hello": "offered"}))
        .has("ip_address", &["192.0.2.1", "192.0.2.2", "2001:db8::1"]);
    play(
        "dns_caa",
        "example.com",
        vec![records(
            "type=CAA",
            0,
            &[
                ("a.", 257, "0 issue \"LetsEncrypt.org; x=1\""),
                ("a.", 257, "0 iodef \"mailto:Sec@example.com\""),
            ],
        )],
    )
    .tells("0 issue \"LetsEncrypt.org; x=1\"", &json!({"issuer": "letsencrypt.org"}))
    .has("email", &["sec@example.com"]);
    play("dns_soa", "example.com", vec![records("type=SOA", 0, &[("example.com.", 6, "ns1.example.net. dns.example.net. 2024010101 900 900 1800 60")])])
        .tells("ns1.example.net. dns.example.net. 2024010101 900 900 1800 60", &json!({"contact": "dns.example.net", "dnssec_validated": true, "primary": "ns1.example.net", "serial": 2_024_010_101}));
    play(
        "dns_ns",
        "example.com",
        vec![records(
            "type=NS",
            0,
            &[("example.com.", 2, "ada.ns.cloudflare.com."), ("example.com.", 2, "ns1.example.net.")],
        )],
    )
    .has("dns_record", &["ada.ns.cloudflare.com", "ns1.example.net"])
    .tells("ada.ns.cloudflare.com", &json!({"provider": "Cloudflare"}));
}

#[test]
fn tokens_name_services_and_identities() {
    let list =
        [("a.", 16, "\"google-site-verification=abc\""), ("a.", 16, "MS=ms123"), ("a.", 16, "v=spf1 -all")];
    play("dns_verifications", "example.com", vec![records("type=TXT", 0, &list)])
        .has("technology", &["Google", "Microsoft 365"]);
    play(
        "dns_atproto",
        "example.com",
        vec![records("name=_atproto.example.com", 0, &[("a.", 16, "\"did=did:plc:abc123\"")])],
    )
    .has("account", &["https://bsky.app/profile/did:plc:abc123"])
    .tells(
        "https://bsky.app/profile/did:plc:abc123",
        &json!({"did": "did:plc:abc123", "username": "example.com"}),
    );
    play(
        "dkim_microsoft",
        "example.com",
        vec![records(
            "name=selector1._domainkey",
            0,
            &[("a.", 5, "selector1-example-com._domainkey.Contoso.onmicrosoft.com.")],
        )],
    )
    .has("tenant", &["contoso.onmicrosoft.com"])
    .has("technology", &["Microsoft 365"]);
    play(
        "dns_bimi",
        "example.com",
        vec![records(
            "name=default._bimi",
            0,
            &[("a.", 16, "v=BIMI1; l=https://example.com/logo.svg;a=https://example.com/vmc.pem")],
        )],
    )
    .has("url", &["https://example.com/logo.svg", "https://example.com/vmc.pem"]);
}

#[test]
fn a_policy_is_fetched_only_if_its_host_exists() {
    let address =
        || records("name=mta-sts.example.com&type=A", 0, &[("mta-sts.example.com.", 1, "192.0.2.1")]);
    let policy = "version: STSv1\r\nmode: enforce\r\nmx: *.mail.example.com\r\nmax_age: 604800\r\n";
    play("mta_sts_policy", "example.com", vec![address(), text("https://mta-sts.example.com/", policy)])
        .tells(
            "https://mta-sts.example.com/.well-known/mta-sts.txt",
            &json!({"max_age_seconds": 604_800, "mode": "enforce"}),
        )
        .has("domain", &["mail.example.com"]);
    let played = play("mta_sts_policy", "example.com", vec![records("name=mta-sts", 3, &[])]);
    assert_eq!(played.outcome(Outcome::Miss).asked.len(), 1);
    play("mta_sts_policy", "example.com", vec![address()]).outcome(Outcome::Error);
}

#[test]
fn a_null_address_of_a_domain_itself_is_not_a_listing() {
    let null = |to| records(to, 0, &[("example.com.", 1, "0.0.0.0")]);
    let real = |to| records(to, 0, &[("example.com.", 1, "192.0.2.1")]);
    let filter = "security.cloudflare-dns.com";
    play("cloudflare_filter", "example.com", vec![real(GOOGLE), null(filter)]).outcome(Outcome::Hit);
    play("cloudflare_filter", "example.com", vec![real(GOOGLE), real(filter)]).outcome(Outcome::Miss);
    play("cloudflare_filter", "example.com", vec![null(GOOGLE), null(filter)]).outcome(Outcome::Error);
}

#[test]
fn addresses_are_looked_up_in_reverse() {
    let address = || records("name=example.com&type=A", 0, &[("example.com.", 1, "192.0.2.7")]);
    play(
        "dns_ptr",
        "example.com",
        vec![
            address(),
            records(
                "name=7.2.0.192.in-addr.arpa&type=PTR",
                0,
                &[("7.2.0.192.in-addr.arpa.", 12, "Host.example.net.")],
            ),
        ],
    )
    .has("dns_record", &["host.example.net"])
    .tells("host.example.net", &json!({"ip_address": "192.0.2.7"}));
    let origin = "\"64500 64501 | 192.0.2.0/24 | US | arin | 1992-12-01\"";
    let name = "\"64500 | US | arin | 2000-03-30 | EXAMPLE, US\"";
    play("team_cymru", "example.com", vec![address(), records("name=7.2.0.192.origin.asn", 0, &[("a.", 16, origin)]), records("name=AS64500.asn", 0, &[("a.", 16, name)])])
        .tells("192.0.2.7", &json!({"allocated_on": "1992-12-01", "as_name": "EXAMPLE, US", "asn": 64500, "country": "US", "prefix": "192.0.2.0/24", "registry": "arin"}));
    for id in ["dns_ptr", "team_cymru", "ripestat", "ipinfo", "reverse_ip", "shodan_internetdb"] {
        let played = play(id, "example.com", vec![records("name=example.com&type=A", 0, &[])]);
        assert_eq!(played.outcome(Outcome::Miss).asked.len(), 1, "{id}");
    }
}
