//! Whether two modules ask the same site for the same.
//!
//! A module of a foreign list is left out where an earlier one does its work: each site is asked once a
//! search, as politeness wants it, and by the module that knows more.

use std::collections::HashMap;
use std::sync::Arc;

use url::Url;

use crate::modules::definition::Method;
use crate::modules::import::slug;
use crate::modules::module::Module;

/// What stands for the name in a key.
const NAME: &str = "-name-";

/// What the enabled modules so far ask.
#[derive(Debug, Default)]
pub(super) struct Asked(HashMap<String, Arc<str>>);

impl Asked {
    /// The id of an earlier module that asks the same.
    pub(super) fn by(&self, module: &Module) -> Option<&Arc<str>> {
        keys(module).iter().find_map(|key| self.0.get(key))
    }

    /// Adds a module; one that is switched off asks nothing.
    pub(super) fn add(&mut self, module: &Module) {
        if !module.entry().enabled {
            return;
        }
        for key in keys(module) {
            self.0.entry(key).or_insert_with(|| module.id().clone());
        }
    }
}

/// The page it finds, the address that it asks, and its platform's name at its site's domain.
fn keys(module: &Module) -> Vec<String> {
    let entry = module.entry();
    let kind = entry.search_type;
    let page = entry.profile.as_deref().and_then(address);
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

/// An address that holds the name, without what makes no difference (scheme, `www.`, case of the host, slashes at the end);
/// and its host's registrable domain.
fn address(template: &str) -> Option<(String, String)> {
    let url = Url::parse(&template.replace("{query}", NAME).replace("{query|lower}", NAME)).ok()?;
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let rest = &url[url::Position::BeforePath..];
    if !host.contains(NAME) && !rest.contains(NAME) {
        return None;
    }
    let site = psl::domain_str(host).unwrap_or(host);
    // Of `name.example.com`, the site is `example.com`.
    let site = site.strip_prefix(NAME).unwrap_or(site).trim_start_matches('.');
    Some((format!("{host}{}", rest.trim_end_matches('/')), site.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn module(platform: &str, url: &str, profile: Option<&str>) -> Module {
        let mut entry = json!({
            "id": "x", "platform": platform, "type": "username", "category": "test",
            "probes": [{"url": url}], "hit": [{"status": [200]}],
        });
        if let Some(profile) = profile {
            entry["profile"] = json!(profile);
        }
        Module::compile(serde_json::from_value(entry).unwrap()).unwrap()
    }

    #[test]
    fn the_same_site_asked_for_the_same_is_seen() {
        let mut asked = Asked::default();
        asked.add(&module(
            "Site",
            "https://api.site.example/users/{query}",
            Some("https://site.example/{query}"),
        ));
        for (platform, url, is_same) in [
            // The same page.
            ("Other", "http://www.SITE.example/{query}/", true),
            // The same address asked.
            ("Other", "https://api.site.example/users/{query}", true),
            // The same name at the same domain.
            ("SITE!", "https://m.site.example/u/{query}", true),
            ("Other", "https://m.site.example/u/{query}", false),
            ("Site", "https://site.test.example.org/{query}", false),
            ("Other", "https://{query}.site.example/", false),
        ] {
            assert_eq!(asked.by(&module(platform, url, None)).is_some(), is_same, "{platform} {url}");
        }
    }

    #[test]
    fn front_pages_and_form_posts_make_no_two_modules_the_same() {
        let mut asked = Asked::default();
        let post = |platform: &str| {
            let entry = json!({
                "id": "x", "platform": platform, "type": "username", "category": "test",
                "probes": [{"url": "https://api.example.com/graphql", "method": "POST", "json": {"n": "{query}"}}],
                "hit": [{"status": [200]}],
            });
            Module::compile(serde_json::from_value(entry).unwrap()).unwrap()
        };
        asked.add(&post("A"));
        assert!(asked.by(&post("B")).is_none());
    }
}
