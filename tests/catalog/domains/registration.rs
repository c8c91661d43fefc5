//! Registration data (RDAP).

use super::*;

fn registration() -> Value {
    json!({
        "objectClassName": "domain", "handle": "2336799_DOMAIN_COM-VRSN", "ldhName": "EXAMPLE.COM",
        "status": ["client delete prohibited"], "secureDNS": {"delegationSigned": true},
        "nameservers": [{"objectClassName": "nameserver", "ldhName": "A.IANA-SERVERS.NET."}],
        "events": [
            {"eventAction": "registration", "eventDate": "1995-08-14T04:00:00Z"},
            {"eventAction": "expiration", "eventDate": "2026-08-13T04:00:00+00:00"},
            {"eventAction": "last update of RDAP database", "eventDate": "2025-01-01T00:00:00Z"},
            {"eventAction": "last changed", "eventDate": "2025-08-14T07:01:39Z"}
        ],
        "entities": [
            {
                "objectClassName": "entity", "handle": "376", "roles": ["registrar"],
                "publicIds": [{"type": "IANA Registrar ID", "identifier": "376"}],
                "vcardArray": ["vcard", [["version", {}, "text", "4.0"], ["org", {}, "text", "X"], ["fn", {}, "text", "Example Registrar, Inc."]]],
                "entities": [{"objectClassName": "entity", "roles": ["abuse"], "vcardArray": ["vcard", [
                    ["version", {}, "text", "4.0"], ["fn", {}, "text", ""], ["email", {}, "text", "Abuse@registrar.example.net"]]]}]
            },
            {"objectClassName": "entity", "roles": ["registrant"], "vcardArray": ["vcard", [
                ["fn", {}, "text", "REDACTED FOR PRIVACY"], ["org", {}, "text", "Example Works"]]]},
            {"objectClassName": "entity", "roles": ["registrant", "technical"], "vcardArray": ["vcard", [["fn", {}, "text", "Grace Example"]]]}
        ]
    })
}

#[test]
fn a_registration_has_dates_and_a_registrar() {
    play("rdap", "www.example.com", vec![doc("https://rdap.org/domain/example.com", &registration())])
        .has("registration", &["example.com"])
        .tells(
            "example.com",
            &json!({
                "changed_at": "2025-08-14T07:01:39Z", "dnssec_signed": true, "expires_at": "2026-08-13T04:00:00Z",
                "name_servers": ["a.iana-servers.net"], "registered_at": "1995-08-14T04:00:00Z",
                "registrar": "Example Registrar, Inc.", "registrar_iana_id": "376", "status": ["client delete prohibited"]
            }),
        )
        .has("email", &["abuse@registrar.example.net"])
        .has("person_name", &["Grace Example"]);
}

#[test]
fn the_registry_is_found_in_the_shared_list() {
    let list = json!({"version": "1.0", "services": [
        [["net"], ["https://rdap.net.example/"]],
        [["org", "com"], ["https://rdap.example.net/com/v1/"]]
    ]});
    let answers = |status: u16| {
        let mut registry = doc("https://rdap.example.net/com/v1/domain/example.com", &registration());
        registry.status = status;
        vec![doc("https://data.iana.org/rdap/dns.json", &list), registry]
    };
    play("rdap_iana", "example.com", answers(200))
        .has("registration", &["example.com"])
        .tells("example.com", &json!({"registrar": "Example Registrar, Inc."}));
    play("rdap_iana", "example.com", answers(404)).outcome(Outcome::Miss);
    // No service for that top-level domain says nothing about the domain.
    play("rdap_iana", "example.de", answers(200)).outcome(Outcome::Error);
}

#[test]
fn an_unknown_registry_is_not_a_miss() {
    play("rdap", "example.com", vec![not_found("https://rdap.org/")]).outcome(Outcome::Error);
    play("rdap", "example.com", vec![page("https://rdap.org/", 429, "text/plain", "")])
        .outcome(Outcome::RateLimited);
}

/// Plays a WHOIS lookup: the root says which server is responsible, which gives this text.
fn whois(domain: &str, answer: &str) -> Played {
    let root = text(
        "http://whois.iana.org:43/",
        "% IANA WHOIS server\n\ndomain:       TEST\nwhois:        whois.registry.example\n\nstatus:       ACTIVE\n",
    );
    play("whois", domain, vec![root, text("http://whois.registry.example:43/", answer)])
}

#[test]
fn a_registration_is_read_from_the_texts_of_registries() {
    let gtld = "   Domain Name: EXAMPLE.COM\r\n   Registrar WHOIS Server: whois.registrar.example\r\n   Registrar URL: https://registrar.example\r\n   Registrar: Example Registrar, Inc.\r\n   Updated Date: 2025-08-14T07:01:39Z\r\n   Creation Date: 1995-08-14T04:00:00Z\r\n   Registry Expiry Date: 2026-08-13T04:00:00Z\r\n   Domain Status: clientDeleteProhibited https://icann.org/epp#clientDeleteProhibited\r\n   Name Server: A.IANA-SERVERS.NET\r\n   Name Server: B.IANA-SERVERS.NET\r\n";
    whois("www.example.com", gtld).has("registration", &["example.com"]).tells(
        "example.com",
        &json!({
            "registrar": "Example Registrar, Inc.", "registered_at": "1995-08-14T04:00:00Z", "expires_at": "2026-08-13T04:00:00Z",
            "changed_at": "2025-08-14T07:01:39Z", "name_servers": ["a.iana-servers.net", "b.iana-servers.net"],
            "status": ["clientDeleteProhibited"], "whois_server": "whois.registry.example"
        }),
    );
    whois("example.de", "% Terms\n\nDomain: example.de\nNserver: ns1.example.net\nStatus: connect\nChanged: 2020-01-02T03:04:05+01:00\n")
        .has("registration", &["example.de"])
        .tells("example.de", &json!({"changed_at": "2020-01-02T02:04:05Z", "name_servers": ["ns1.example.net"]}));
    whois("example.co.uk", "\n    Domain name:\n        example.co.uk\n\n    Registrar:\n        Example Ltd t/a Example [Tag = EX]\n\n    Relevant dates:\n        Registered on: 01-Jan-2001\n")
        .has("registration", &["example.co.uk"])
        .tells("example.co.uk", &json!({"registrar": "Example Ltd t/a Example"}));
}

#[test]
fn registrars_and_name_servers_are_read_from_the_layouts_of_registries() {
    for (layout, registrar) in [
        (
            "Registrar Registration Expiration Date: 2030-01-01T00:00:00Z\nRegistrar: Example Ltd\n",
            "Example Ltd",
        ),
        ("Registrar WHOIS Server:\nRegistrar URL:\nRegistrar: Example Ltd\n", "Example Ltd"),
        ("Registrar ID:      example\nRegistrar Name:    Example Ltd\n", "Example Ltd"),
        ("Registrar\n\nregistrar..........: Example Ltd\nwww................: example.net\n", "Example Ltd"),
        ("[Registrar]                     Example Ltd\n", "Example Ltd"),
        (
            "Registrar Technical Contacts:\n\tLanguage: en\n\nRegistrar:\n\tName:\t Example Ltd\n",
            "Example Ltd",
        ),
        ("[Registrar]\nType: Legal person\nName: Example Ltd\n", "Example Ltd"),
        ("Registrar\n  Organization:     Example Ltd\n", "Example Ltd"),
        ("Registrar:\n     Example Ltd (http://www.example.net)\n", "Example Ltd (http://www.example.net)"),
        ("Registrar Handle...........: REG466-NORID\n", "REG466-NORID"),
    ] {
        let text = format!("Domain: example.com\nnserver: ns1.example.net\n\n{layout}");
        whois("example.com", &text).tells("example.com", &json!({"registrar": registrar}));
    }
    let served = json!({"name_servers": ["ns1.example.net", "ns2.example.net"]});
    for layout in [
        "Nameservers:\n\tns1.example.net\n\tns2.example.net\n\nKeys:\n",
        "nameservers:           ns1.example.net. [192.0.2.1][2001:db8::1]\n                       ns2.example.net. [192.0.2.2]\ncreated:               2020.01.02 03:04:05\n",
        "    Name servers:\r\n        ns1.example.net           192.0.2.1\r\n        ns2.example.net\r\n\r\n",
        "   Name Server: NS1.EXAMPLE.NET\r\n   Name Server: NS2.EXAMPLE.NET\r\n",
    ] {
        let text = format!("Domain: example.com\nStatus: active\n{layout}");
        whois("example.com", &text).tells("example.com", &served);
    }
    whois("example.ee", "Domain:\nname:       example.ee\nstatus:     ok (paid and in zone)\n\nRegistrar:\nname:       Example Ltd\n")
        .has("registration", &["example.ee"])
        .tells("example.ee", &json!({"registrar": "Example Ltd", "status": ["ok"]}));
}

#[test]
fn a_whois_text_about_another_domain_is_no_hit() {
    for free in [
        "No match for \"EXAMPLE.COM\".\n",
        "Domain: example.com\nStatus: free\n",
        "% No entries found for query \"example.com\".\n",
        "NOT FOUND\n",
        "The queried object does not exist: example.com\n",
    ] {
        whois("example.com", free).outcome(Outcome::Miss);
    }
    for unclear in [
        "Domain Name: NOTEXAMPLE.COM\nRegistrar: Example\n",
        "% Query rate exceeded\n",
        "Please use the web page of the registry.\n",
    ] {
        assert_ne!(whois("example.com", unclear).report.outcome, Outcome::Hit, "{unclear}");
        assert_ne!(whois("example.com", unclear).report.outcome, Outcome::Miss, "{unclear}");
    }
    // Some endings have no server.
    let root = text("whois.iana.org", "domain:       TEST\nwhois:\n\nstatus:       ACTIVE\n");
    play("whois", "example.com", vec![root]).outcome(Outcome::Error);
}
