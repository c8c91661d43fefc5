//! The built-in email modules: their number, and the actions that none of them may take.

use std::collections::BTreeMap;
use std::sync::Arc;

use sightline::modules::definition::{Entry, Method};
use sightline::modules::module::Module;

use super::*;

fn modules() -> Vec<Arc<Module>> {
    let catalog = builtin();
    catalog.modules().iter().filter(|it| it.search_type() == SearchType::Email).cloned().collect()
}

/// The built-in email files, by a word of their name.
fn files() -> BTreeMap<String, Vec<Entry>> {
    let files = super::loading::sites().into_iter().filter_map(|path| {
        let kind = path.file_stem()?.to_str()?.strip_prefix("email-")?.to_owned();
        Some((kind, serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()))
    });
    files.collect()
}

#[test]
fn discovery_modules_are_disabled_by_default() {
    for (kind, entries) in files() {
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
    for module in modules() {
        let entry = module.entry();
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
    for entry in files().remove("breach").unwrap() {
        assert!(entry.result.is_none(), "{}: names and dates stand in `results`", entry.id);
        for list in &entry.results {
            for name in list.metadata.keys().map(String::as_str) {
                assert!(KNOWN.split(' ').any(|known| known == name), "{}: {name}", entry.id);
            }
        }
    }
}
