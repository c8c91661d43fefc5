//! Properties that the entries for domains declare are true for all of them.

use sightline::modules::definition::{Contact, Entry, Method};

use super::*;

const RESOLVERS: [&str; 3] = ["dns.google", "cloudflare-dns.com", "security.cloudflare-dns.com"];
/// Third parties that contact the site when they are queried.
const SCANNERS: [&str; 2] = ["observatory-api.mdn.mozilla.net", "federationtester.matrix.org"];

fn entries() -> Vec<Entry> {
    let catalog = builtin();
    let modules = catalog.modules().iter().filter(|module| module.search_type() == SearchType::Domain);
    modules.map(|module| module.entry().clone()).collect()
}

/// The host of a URL template.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// Passive runs leave out modules by this field.
#[test]
fn the_contact_of_each_module_matches_its_hosts() {
    for entry in entries() {
        let hosts: Vec<&str> = entry.probes.iter().map(|probe| host(&probe.url)).collect();
        let wanted = if hosts.iter().any(|host| *host == "{domain}" || host.ends_with(".{domain}")) {
            Contact::TargetWeb
        } else if hosts.iter().any(|host| SCANNERS.contains(host)) {
            Contact::ThirdPartyScan
        } else if hosts.iter().all(|host| RESOLVERS.contains(host)) {
            Contact::Resolver
        } else {
            Contact::ThirdParty
        };
        assert_eq!(entry.contact, wanted, "{}: {hosts:?}", entry.id);
    }
}

#[test]
fn every_source_has_hit_and_miss_rules_and_a_known_domain() {
    for entry in entries() {
        assert!(!entry.miss.is_empty() && !entry.known.is_empty(), "{}", entry.id);
        assert!(entry.result.is_some() || !entry.results.is_empty(), "{} finds nothing", entry.id);
    }
}

/// Modules have a second resolver, except those whose chain continues from an address.
#[test]
fn record_modules_have_a_second_resolver() {
    for entry in entries().iter().filter(|entry| matches!(&*entry.category, "dns" | "mail")) {
        if entry.contact == Contact::Resolver {
            let hosts: BTreeSet<&str> = entry.probes.iter().map(|probe| host(&probe.url)).collect();
            assert_eq!(hosts, BTreeSet::from(["cloudflare-dns.com", "dns.google"]), "{}", entry.id);
            assert!(entry.probes.iter().any(|probe| probe.fallback), "{}", entry.id);
        }
    }
}

/// No module writes anything: requests with a body are queries to interfaces that require one.
#[test]
fn only_known_interfaces_get_a_request_body() {
    let asked: BTreeSet<String> = entries()
        .iter()
        .filter(|entry| entry.probes.iter().any(|probe| probe.method != Method::Get))
        .map(|entry| entry.id.clone())
        .collect();
    let known = [
        "google_safe_browsing",
        "intelx_domain",
        "mdn_observatory",
        "slack_workspace",
        "threatfox",
        "urlhaus",
        "windvane",
    ];
    assert_eq!(asked, known.map(str::to_owned).into());
}
