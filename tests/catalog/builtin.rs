//! The built-in catalogue has enough modules, and keeps its promises.

use std::collections::BTreeMap;

use sightline::modules::definition::{Contact, Entry, METADATA, Method, ResultType};

use super::loading::sites;
use super::*;

/// Adds the names of the members with a constant text.
fn constants(value: &Value, names: &mut BTreeSet<String>) {
    let Value::Object(members) = value else {
        return value.as_array().into_iter().flatten().for_each(|it| constants(it, names));
    };
    for (name, member) in members {
        constants(member, names);
        if member.as_str().is_some_and(|text| text.starts_with("const:")) {
            names.insert(name.clone());
        }
    }
}

/// A member with the id of a module for usernames names an account there, such as `listed`, which is a site.
#[test]
fn no_constant_names_an_account() {
    let mut names = BTreeSet::new();
    builtin().modules().iter().for_each(|module| constants(&json!(module.entry()), &mut names));
    let sites: BTreeSet<String> = entries(SearchType::Username).map(|entry| entry.id.to_string()).collect();
    assert!(names.len() > 10 && names.is_disjoint(&sites), "{:?}", names.intersection(&sites));
}

/// The entries of the modules of a type.
fn entries(search_type: SearchType) -> impl Iterator<Item = &'static Entry> {
    let modules = builtin().modules().iter().filter(move |module| module.search_type() == search_type);
    modules.map(|module| module.entry())
}

fn chosen(search_type: SearchType) -> BTreeSet<String> {
    let selection = Selection { search_type, premium: false, discovery: false };
    let catalog = builtin();
    catalog.select(&selection, &Choice::default()).iter().map(|module| module.id().to_string()).collect()
}

#[test]
fn a_default_search_uses_enough_modules() {
    for (search_type, least) in
        [(SearchType::Username, 650), (SearchType::Email, 105), (SearchType::Domain, 130)]
    {
        let count = chosen(search_type).len();
        assert!(count >= least, "{count} {search_type} modules take part; {least} are promised");
    }
}

#[test]
fn the_manual_promises_no_more_modules_than_there_are() {
    let catalog = builtin();
    let of = |kind| entries(kind).count();
    let page = sightline::manual::topic("catalogue").unwrap().markdown;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for (what, count) in [
        ("modules are built in", catalog.modules().len()),
        ("for usernames", of(SearchType::Username)),
        ("for domains", of(SearchType::Domain)),
        ("for email addresses", of(SearchType::Email)),
    ] {
        let before = page.split(&format!(" {what}")).next().unwrap();
        let (_, promised) = before.rsplit_once("more than ").unwrap();
        let promised: usize = promised.parse().unwrap();
        assert!((promised..promised * 3 / 2).contains(&count), "{count} {what}, not {promised}");
    }
}

#[test]
fn every_disabled_module_has_a_reason() {
    let catalog = builtin();
    let disabled: Vec<_> =
        catalog.modules().iter().map(|it| it.entry()).filter(|entry| !entry.enabled).collect();
    assert!(!disabled.is_empty());
    for entry in disabled {
        assert!(entry.off.is_some() && entry.verified.is_none(), "{}: its evidence", entry.id);
    }
}

#[test]
fn no_built_in_module_pretends_to_be_a_browser() {
    let catalog = builtin();
    let probes = catalog.modules().iter().flat_map(|module| {
        let entry = module.entry();
        entry.probes.iter().map(move |probe| (&entry.id, &probe.headers))
    });
    for (id, headers) in probes {
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let is_of_browsers = name.starts_with("sec-") || name == "upgrade-insecure-requests";
            assert!(!is_of_browsers && name != "cookie", "{id}: {name}");
            assert!(name != "user-agent" || !value.contains("Mozilla"), "{id}: {value:?}");
        }
    }
}

#[test]
fn username_modules_name_the_metadata_of_accounts_as_the_manual_does() {
    let fields = METADATA.fields.iter().map(|field| field.name);
    let known: BTreeSet<&str> =
        fields.chain(METADATA.services.iter().copied()).chain(["profile_url"]).collect();
    let mut unknown = Vec::new();
    for entry in entries(SearchType::Username) {
        let main = entry.result.iter().map(|result| (result.result_type, &result.metadata));
        let lists = entry.results.iter().map(|list| (list.result_type, &list.metadata));
        let of_accounts =
            main.chain(lists).filter(|(kind, _)| matches!(kind, ResultType::Account | ResultType::Profile));
        let names = of_accounts.flat_map(|(_, metadata)| metadata.keys());
        let others = names.filter(|name| !known.contains(name.as_str()));
        unknown.extend(others.map(|name| format!("{}: {name}", entry.id)));
    }
    assert!(unknown.is_empty(), "not in METADATA: {unknown:#?}");
}

const RESOLVERS: [&str; 6] = [
    "dns.google",
    "cloudflare-dns.com",
    "security.cloudflare-dns.com",
    "family.cloudflare-dns.com",
    "dns.adguard-dns.com",
    "family.adguard-dns.com",
];
/// Third parties that contact the site when they are queried.
const SCANNERS: [&str; 2] = ["observatory-api.mdn.mozilla.net", "federationtester.matrix.org"];

/// The host of a URL template.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or_default()
}

/// Passive runs leave out modules by this field.
#[test]
fn the_contact_of_each_module_matches_its_hosts() {
    for entry in entries(SearchType::Domain) {
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
    for entry in entries(SearchType::Domain) {
        assert!(!entry.miss.is_empty() && !entry.known.is_empty(), "{}", entry.id);
        assert!(entry.result.is_some() || !entry.results.is_empty(), "{} finds nothing", entry.id);
    }
}

/// Modules have a second resolver, except those whose chain continues from an address.
#[test]
fn record_modules_have_a_second_resolver() {
    let entries = entries(SearchType::Domain);
    for entry in entries.filter(|entry| matches!(&*entry.category, "dns" | "mail")) {
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
    let asked = entries(SearchType::Domain)
        .filter(|entry| entry.probes.iter().any(|probe| probe.method != Method::Get))
        .map(|entry| entry.id.as_str());
    let known =
        "google_safe_browsing intelx_domain mdn_observatory slack_workspace threatfox urlhaus windvane";
    assert_eq!(asked.collect::<BTreeSet<_>>(), known.split(' ').collect());
}

/// The built-in email files, by a word of their name.
fn email_files() -> BTreeMap<String, Vec<Entry>> {
    let files = sites().into_iter().filter_map(|path| {
        let kind = path.file_stem()?.to_str()?.strip_prefix("email-")?.to_owned();
        Some((kind, serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()))
    });
    files.collect()
}

#[test]
fn discovery_modules_are_disabled_by_default() {
    for (kind, entries) in email_files() {
        for entry in entries {
            assert_eq!(entry.discovery, kind == "discovery", "{}", entry.id);
            assert_eq!(!entry.domain_in.is_empty(), kind == "mailbox", "{}", entry.id);
            // A page that hides its users answers every name in the same way.
            assert!(kind != "discovery" || entry.control != Some(false), "{}", entry.id);
        }
    }
}

#[test]
fn no_module_recovers_registers_signs_in_or_sends_anything() {
    const STEPS: &str = "forgot recover reset passwd password sendcode send_code sendverification otp magic \
        oobcode invite";
    for entry in entries(SearchType::Email) {
        for probe in &entry.probes {
            let sent = serde_json::to_string(&(&probe.url, &probe.form, &probe.json)).unwrap();
            let sent = sent.to_lowercase();
            // The name of a feature of the form, not a field of it.
            let sent = sent.replace("no-password-reuse", "");
            let step = STEPS.split(' ').find(|step| sent.contains(step));
            assert_eq!(step, None, "{}", entry.id);
            assert!(probe.method != Method::Put || entry.id == "wondershare_email", "{}", entry.id);
        }
    }
}

#[test]
fn no_leak_module_reads_a_leaked_value() {
    const KNOWN: &str = "accounts added_at addresses bucket company corporate_services data_classes breached_on \
        published_at domain entries industry malware_family media password_risk risk_score \
        score sensitive site source spam_list stealer_log title user_services verified";
    for entry in email_files().remove("breach").unwrap() {
        assert!(entry.result.is_none(), "{}: names and dates stand in `results`", entry.id);
        for list in entry.results.iter() {
            for name in list.metadata.keys().map(String::as_str) {
                assert!(KNOWN.split(' ').any(|known| known == name), "{}: {name}", entry.id);
            }
        }
    }
}
