//! Detects modules that send the same request to the same site.
//!
//! A module of another tool's list is left out if an earlier module already sends the same request. So a
//! search visits each site only once, with the module that knows more about it.

use std::collections::HashMap;
use std::sync::Arc;

use url::Url;

use crate::modules::definition::Method;
use crate::modules::import::slug;
use crate::modules::module::Module;
use crate::modules::public_suffix::suffix_with_label;

/// The text that replaces the name in a key.
const NAME: &str = "-name-";

/// The requests of the enabled modules that were added so far.
#[derive(Debug, Default)]
pub(super) struct Asked(HashMap<String, Arc<str>>);

impl Asked {
    /// Returns the id of an earlier module that sends the same request.
    pub(super) fn by(&self, module: &Module) -> Option<&Arc<str>> {
        keys(module).iter().find_map(|key| self.0.get(key))
    }

    /// Adds a module. A disabled module is ignored, since it sends no requests.
    pub(super) fn add(&mut self, module: &Module) {
        if !module.entry().enabled {
            return;
        }
        for key in keys(module) {
            self.0.entry(key).or_insert_with(|| module.id().clone());
        }
    }
}

/// Returns the keys of a module: its profile page, the address of its first probe, and its platform's name
/// with its site's domain.
fn keys(module: &Module) -> Vec<String> {
    let entry = module.entry();
    let kind = entry.search_type;
    let page = entry.profile.as_ref().and_then(|profile| address(profile));
    let probe = entry.probes.first().filter(|probe| matches!(probe.method, Method::Get | Method::Head));
    let probe = probe.and_then(|probe| address(&probe.url));
    let mut keys: Vec<String> =
        [&page, &probe].into_iter().flatten().map(|(address, _)| format!("{kind} {address}")).collect();
    let name = slug(&entry.platform);
    for (_, site) in [&page, &probe].into_iter().flatten().filter(|_| !name.is_empty()) {
        keys.push(format!("{kind} {name} @ {site}"));
    }
    keys
}

/// Returns an address that contains the name, and the registrable domain of its host. Parts that make no
/// difference are removed: the scheme, `www.`, the case of the host, and trailing slashes.
fn address(template: &str) -> Option<(String, String)> {
    let url = Url::parse(&template.replace("{query}", NAME).replace("{query|lower}", NAME)).ok()?;
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let rest = &url[url::Position::BeforePath..];
    if !host.contains(NAME) && !rest.contains(NAME) {
        return None;
    }
    let site = suffix_with_label(host).unwrap_or(host);
    // The site of `name.example.com` is `example.com`.
    let site = site.strip_prefix(NAME).unwrap_or(site).trim_start_matches('.');
    Some((format!("{host}{}", rest.trim_end_matches('/')), site.to_owned()))
}
