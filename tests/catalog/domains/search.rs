//! Searches in code, directories and routing data.

use super::*;

/// Returns a resolver's answer with one address for example.com.
fn address() -> Answer {
    records("name=example.com&type=A", 0, &[("example.com.", 1, "192.0.2.7")])
}

#[test]
fn names_in_public_code() {
    let event = |name: &str, data: &Value| format!("event: {name}\ndata: {data}\n\n");
    let matches = |content: &str| {
        event(
            "matches",
            &json!([{"type": "content", "repository": "github.com/a/b", "chunkMatches": [{"content": content}]}]),
        )
    };
    let done = || event("done", &json!({}));
    let stream =
        |body: String| vec![page("sourcegraph.com/.api/search/stream", 200, "text/event-stream", body)];
    let code = "api.example.com\nApp.Example.com:8443 https://a.b.example.com/x notexample.com dev.example.com.evil.net %2Fcut.example.com *.example.com";
    play("sourcegraph", "www.example.com", stream(matches(code) + &done()))
        .has("subdomain", &["api.example.com", "app.example.com", "a.b.example.com"]);
    play("sourcegraph", "example.com", stream(done())).outcome(Outcome::Miss);
    play("sourcegraph", "example.com", stream(matches("me@example.com") + &done())).outcome(Outcome::Miss);
    // The search stopped early.
    play("sourcegraph", "example.com", stream(event("error", &json!({"message": "timeout"})) + &done()))
        .outcome(Outcome::Error);
    play("sourcegraph", "example.com", stream(event("progress", &json!({"done": false}))))
        .outcome(Outcome::Error);

    let project = |name: &str, description: &str| json!({"id": 1, "name": name, "description": description, "path_with_namespace": format!("bob/{name}"), "web_url": format!("https://gitlab.com/bob/{name}"), "star_count": 3, "created_at": "2020-01-02T03:04:05.000Z"});
    let projects = json!([
        project("site", "Source of https://www.example.com."),
        project("example.com", ""),
        project("other", "notexample.com and example.com.evil.net")
    ]);
    play("gitlab_projects", "example.com", vec![doc("search=example.com", &projects)])
        .has("url", &["https://gitlab.com/bob/site", "https://gitlab.com/bob/example.com"])
        .tells("https://gitlab.com/bob/site", &json!({"stars": 3, "created_at": "2020-01-02T03:04:05Z"}));
    for none in [json!([]), json!([project("other", "something")])] {
        play("gitlab_projects", "example.com", vec![doc("gitlab.com", &none)]).outcome(Outcome::Miss);
    }
}

#[test]
fn directories_of_companies_and_interfaces() {
    let record = |name: &str| {
        json!({"id": "L1", "attributes": {"lei": format!("529900{}", name.len()), "entity": {"legalName": {"name": name}, "jurisdiction": "DE", "legalAddress": {"city": "Berlin", "country": "DE"}, "status": "ACTIVE"},
        "registration": {"initialRegistrationDate": "2014-01-02T03:04:05Z"}}})
    };
    let list = |names: &[&str]| json!({"data": names.iter().map(|name| record(name)).collect::<Vec<_>>()});
    let answer = |names: &[&str]| vec![doc("legalName%5D=example&", &list(names))];
    play("gleif", "www.example.co.uk", answer(&["Example Holding GmbH", "Counterexamples Ltd"]))
        .has("registration", &["52990020"])
        .tells("52990020", &json!({"legal_name": "Example Holding GmbH", "match": "name only", "registered_at": "2014-01-02T03:04:05Z"}));
    play("gleif", "example.com", answer(&[])).outcome(Outcome::Miss);
    play("gleif", "example.com", answer(&["Counterexamples Ltd"])).outcome(Outcome::Error);

    let api = |provider: &str| json!({"apis": {"example.com:mail": {"added": "2020-01-02T03:04:05.000Z", "info": {"title": "Mail", "version": "1.2", "x-providerName": provider}, "swaggerUrl": "https://api.apis.guru/v2/specs/example.com/mail/1.2/openapi.json"}}});
    let url = "https://api.apis.guru/v2/specs/example.com/mail/1.2/openapi.json";
    play("apis_guru", "www.example.com", vec![doc("/v2/example.com.json", &api("example.com"))])
        .has("url", &[url])
        .tells(url, &json!({"api": "Mail", "api_version": "1.2", "added_at": "2020-01-02T03:04:05Z"}));
    play("apis_guru", "example.com", vec![doc("/v2/", &api("example.net"))]).outcome(Outcome::Error);
    play("apis_guru", "example.com", vec![not_found("/v2/")]).outcome(Outcome::Miss);
}

#[test]
fn names_from_tested_hosts_and_applications() {
    let host = |name: &str, ip: &str| json!({"domain": name, "ip": ip, "level_str": "A+", "title": "T"});
    let list = |hosts: &[Value]| json!({"code": 0, "data": hosts});
    play(
        "myssl",
        "example.com",
        vec![doc(
            "myssl.com",
            &list(&[host("a.example.com", "192.0.2.1"), host("b.example.net", "192.0.2.2")]),
        )],
    )
    .has("subdomain", &["a.example.com"])
    .has("ip_address", &["192.0.2.1"])
    .tells("a.example.com", &json!({"grade": "A+"}));
    for none in [list(&[]), list(&[host("example.com", "192.0.2.1")])] {
        play("myssl", "example.com", vec![doc("myssl.com", &none)]).outcome(Outcome::Miss);
    }
    play("myssl", "example.com", vec![doc("myssl.com", &json!({"code": 1, "error": "busy"}))])
        .outcome(Outcome::Error);

    let names = |names: &[&str]| json!({"code": 0, "data": {"list": names.iter().map(|name| json!({"domain": name})).collect::<Vec<_>>()}});
    play(
        "windvane",
        "example.com",
        vec![doc("ListSubDomain", &names(&["API.example.com.", "www.example.net"]))],
    )
    .has("subdomain", &["api.example.com"]);
    play("windvane", "example.com", vec![doc("ListSubDomain", &names(&[]))]).outcome(Outcome::Miss);
    play("windvane", "example.com", vec![doc("ListSubDomain", &json!({"code": 1}))]).outcome(Outcome::Error);
    let found = json!({"domain": "example.com", "subdomains": ["app.example.com", "cdn.example.net"]});
    play("bevigil", "example.com", vec![doc("/example.com/subdomains/", &found)])
        .has("subdomain", &["app.example.com"]);
    let found = json!({"a": [{"host": "ns.example.com", "ips": [{"ip": "192.0.2.3", "asn": "64500", "asn_name": "EXAMPLE"}]}]});
    play("dnsdumpster", "example.com", vec![doc("/domain/example.com", &found)])
        .has("subdomain", &["ns.example.com"])
        .has("ip_address", &["192.0.2.3"])
        .tells("192.0.2.3", &json!({"asn": 64500, "as_name": "EXAMPLE"}));
}

#[test]
fn the_network_of_an_address() {
    let place = json!({"ip": "192.0.2.7", "success": true, "country_code": "DE", "city": "Berlin", "connection": {"asn": 64500, "org": "Example", "isp": "Example Net", "domain": "example.net"}});
    play("ipwhois", "example.com", vec![address(), doc("ipwho.is/192.0.2.7", &place)])
        .has("ip_address", &["192.0.2.7"])
        .tells("192.0.2.7", &json!({"asn": 64500, "country": "DE", "provider": "Example Net"}));
    let limit = json!({"ip": "192.0.2.7", "success": false, "message": "You've hit the monthly limit"});
    play("ipwhois", "example.com", vec![address(), doc("ipwho.is", &limit)]).outcome(Outcome::Error);
    let other = json!({"ip": "192.0.2.9", "success": true, "country_code": "DE"});
    play("ipwhois", "example.com", vec![address(), doc("ipwho.is", &other)]).outcome(Outcome::Error);

    let place =
        json!({"ip": "192.0.2.7", "country_code": "DE", "asn": 64500, "organization_name": "EXAMPLE"});
    play("geojs", "example.com", vec![address(), doc("/geo/192.0.2.7.json", &place)])
        .tells("192.0.2.7", &json!({"asn": 64500, "as_name": "EXAMPLE"}));

    let routing = |origins: Value| json!({"status": "ok", "data": {"resource": "192.0.2.0/24", "origins": origins, "first_seen": {"time": "2005-01-02T03:04:05"}, "visibility": {"v4": {"ris_peers_seeing": 320, "total_ris_peers": 330}}}});
    let origins = json!([{"origin": 64500, "route_objects": ["RIPE"]}]);
    play("bgp_routing", "example.com", vec![address(), doc("routing-status", &routing(origins))])
        .has("ip_address", &["192.0.2.7"])
        .tells("192.0.2.7", &json!({"asn": 64500, "prefix": "192.0.2.0/24", "peers_seeing": 320, "first_seen_at": "2005-01-02T03:04:05Z", "route_objects": ["RIPE"]}));
    play("bgp_routing", "example.com", vec![address(), doc("routing-status", &routing(json!([])))])
        .outcome(Outcome::Miss);

    let contacts = |list: Value| json!({"status": "ok", "data": {"abuse_contacts": list}});
    play(
        "abuse_contact",
        "example.com",
        vec![address(), doc("abuse-contact-finder", &contacts(json!(["abuse@example.net"])))],
    )
    .has("email", &["abuse@example.net"])
    .tells("abuse@example.net", &json!({"network": "192.0.2.7"}));
    let none = vec![address(), doc("abuse-contact-finder", &contacts(json!([])))];
    play("abuse_contact", "example.com", none).outcome(Outcome::Miss);
    for id in ["ipwhois", "geojs", "bgp_routing", "abuse_contact"] {
        play(id, "example.com", vec![records("name=example.com", 3, &[])]).outcome(Outcome::Miss);
    }
}
