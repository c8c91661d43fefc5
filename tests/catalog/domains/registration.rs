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
