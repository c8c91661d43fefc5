//! Removes from a recording what must not be published: keys, tokens, cookies, and data about others.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Exchange, KEY, Recording};
use crate::modules::definition::Contact;
use crate::modules::keys::OperatorKeys;
use crate::modules::module::Module;
use crate::modules::query::SearchType;

/// A kind of data that is replaced.
struct Kind {
    name: &'static str,
    /// The data is the group `data`.
    pattern: LazyLock<Regex>,
    /// Returns what stands in place of the data with that number, counted from 1.
    replacement: fn(usize) -> String,
}

#[expect(clippy::unwrap_used, reason = "a test compiles every pattern")]
fn pattern(text: &str) -> Regex {
    Regex::new(text).unwrap()
}

static TOKENS: Kind = Kind {
    name: "tokens and session ids",
    pattern: LazyLock::new(|| {
        pattern(
            r#"(?ix)
            \b(?P<jwt>eyJ[a-z0-9_-]{8,}\.eyJ[a-z0-9_-]{8,}\.[a-z0-9_-]{8,})
            | [a-z0-9_-]*(?:csrf|xsrf|token|session_?-?id|nonce|api_?-?key|secret)[a-z0-9_-]*
              \\?["']?\s*(?:[:=]|\s(?:content|value)=)\s*\\?["'](?P<data>[a-z0-9+/=_.:-]{16,})\\?["']"#,
        )
    }),
    replacement: |number| format!("scrubbed-token-{number}"),
};

static EMAILS: Kind = Kind {
    name: "email addresses",
    pattern: LazyLock::new(|| {
        pattern(r"(?i)\b(?P<data>[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,})\b")
    }),
    replacement: |number| format!("person{number}@example.org"),
};

static IP_ADDRESSES: Kind = Kind {
    name: "IP addresses",
    pattern: LazyLock::new(|| {
        let byte = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)";
        let group = "[0-9a-f]{1,4}";
        pattern(&format!(
            r"(?ix)(?:^|[^\w.:])(?P<data>(?:{byte}\.){{3}}{byte} | (?:{group}:){{7}}{group} | (?:{group}:){{2,6}}(?::{group}){{1,5}})(?:$|[^\w.:])"
        ))
    }),
    // TEST-NET-1 of RFC 5737.
    replacement: |number| format!("192.0.2.{}", number.min(254)),
};

impl Recording {
    /// Replaces keys, tokens and email addresses other than the queried one, and notes the kinds that were found. IP
    /// addresses are replaced too, except where they are facts about the queried domain.
    pub fn scrub(&mut self, module: &Module, keys: &OperatorKeys) {
        let mut kinds = vec![&TOKENS];
        let names_hosts =
            module.search_type() == SearchType::Domain || module.entry().contact != Contact::ThirdParty;
        // A query for a domain asks for the addresses of its people and hosts.
        if !names_hosts {
            kinds.extend([&EMAILS, &IP_ADDRESSES]);
        }
        for kind in kinds {
            let query = self.query.to_lowercase();
            let mut found = BTreeMap::new();
            for exchange in &self.exchanges {
                exchange.texts(|text| collect(kind, text, &query, &mut found));
            }
            self.replace(kind.name, found);
        }
        let used = module.keys();
        let found =
            used.iter().filter_map(|used| keys.get(used.name)).map(|key| (key.to_owned(), KEY.to_owned()));
        self.replace("keys", found.collect());
        self.scrubbed.push("cookies".to_owned());
        self.scrubbed.sort();
    }

    /// Replaces each text of `found` wherever it stands, so that a later request still matches an earlier answer.
    fn replace(&mut self, name: &str, found: BTreeMap<String, String>) {
        let mut is_changed = false;
        // The longest first: one text may be a part of another.
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        for exchange in &mut self.exchanges {
            exchange.change(|text| {
                for (old, new) in found.iter().filter(|(old, _)| !old.is_empty()) {
                    if text.contains(old.as_str()) {
                        *text = text.replace(old, new);
                        is_changed = true;
                    }
                }
            });
        }
        if is_changed {
            self.scrubbed.push(name.to_owned());
        }
    }
}

impl Exchange {
    /// Calls `read` with every text in which data may be.
    fn texts(&self, mut read: impl FnMut(&str)) {
        let texts = [Some(&self.url), self.request_body.as_ref(), self.final_url.as_ref()];
        texts.into_iter().flatten().chain(self.headers.values()).for_each(|text| read(text));
        if !self.is_base64 {
            read(&self.body);
        }
    }

    fn change(&mut self, mut change: impl FnMut(&mut String)) {
        let texts = [Some(&mut self.url), self.request_body.as_mut(), self.final_url.as_mut()];
        texts.into_iter().flatten().chain(self.headers.values_mut()).for_each(&mut change);
        if !self.is_base64 {
            change(&mut self.body);
        }
    }
}

fn collect(kind: &Kind, text: &str, query: &str, found: &mut BTreeMap<String, String>) {
    let mut at = 0;
    // The next match may begin with the character that ended this one.
    while let Some(captures) = kind.pattern.captures_at(text, at) {
        let Some(data) = captures.name("data").or_else(|| captures.name("jwt")) else { return };
        at = data.end();
        let data = data.as_str();
        if data.to_lowercase() != query && !is_harmless(data) && !found.contains_key(data) {
            let new = (kind.replacement)(found.len() + 1);
            found.insert(data.to_owned(), new);
        }
    }
}

/// Returns whether the text belongs to nobody: an address for documentation, or the name of a file such as
/// `logo@2x.png`.
fn is_harmless(text: &str) -> bool {
    let is_file = || {
        let ending = text.rsplit('.').next().unwrap_or_default();
        ["png", "jpg", "jpeg", "gif", "svg", "webp", "js", "css"].contains(&ending)
    };
    text.ends_with("@example.org") || text.starts_with("192.0.2.") || (text.contains('@') && is_file())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::keeps_header;
    use super::*;
    use crate::modules::catalog::Catalog;

    /// Returns the recording of one answer to a module of this type, scrubbed.
    fn scrubbed(search_type: &str, query: &str, body: &str) -> Recording {
        let entry = json!({
            "id": "site", "platform": "Site", "type": search_type, "category": "test", "needs": ["config.site_key"],
            "probes": [{"url": "https://site.example/{query}?key={config.site_key}"}],
            "hit": [{"status": [200], "header": {"x-account": "."}}], "miss": [{"status": [404]}],
            "results": [{"type": "url", "each": "regex:x"}],
        });
        let catalog =
            Catalog::from_text("test", &json!([entry]).to_string()).unwrap_or_else(|e| panic!("{e}"));
        let module = &catalog.modules()[0];
        assert!(keeps_header("x-account", module) && !keeps_header("x-cache", module));
        assert!(!keeps_header("set-cookie", module) && keeps_header("content-type", module));
        let mut recording: Recording = serde_json::from_value(json!({
            "module": "site", "query": query, "date": "2026-08-22", "source": "a test",
            "exchanges": [
                {"url": "https://site.example/x?key=hunter2", "status": 200, "body": body},
                {"url": "https://site.example/next?t=c2Vzc2lvbi1vZi1zb21lb25l", "status": 200, "body": ""},
            ],
            "expected": {"outcome": "hit"},
        }))
        .unwrap();
        recording.scrub(module, &OperatorKeys::new([("site_key".to_owned(), "hunter2".to_owned())]));
        recording
    }

    #[test]
    fn keys_tokens_and_data_of_others_are_replaced_everywhere() {
        let body = r#"{"csrf_token": "c2Vzc2lvbi1vZi1zb21lb25l", "mail": "bob@site.example", "me": "Ann@site.example",
            "from": "203.0.113.7,203.0.113.8", "logo": "logo@2x.png", "v6": "2001:db8:1::7", "version": "1.2.3.4.5", "at": "12:30:45",
            "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl", "tokens": "few", "key": "hunter2"}"#;
        let recording = scrubbed("email", "ann@site.example", body);
        let text = &recording.exchanges[0].body;
        for gone in [
            "c2Vzc2lvbi1vZi1zb21lb25l",
            "bob@",
            "203.0.113.7",
            "203.0.113.8",
            "2001:db8:1::7",
            "c2lnbmF0dXJl",
            "hunter2",
        ] {
            assert!(!recording.to_text().unwrap().contains(gone), "{gone} in {text}");
        }
        for kept in [
            "Ann@site.example",
            "1.2.3.4.5",
            "12:30:45",
            "logo@2x.png",
            "\"few\"",
            "person1@example.org",
            "192.0.2.1",
        ] {
            assert!(text.contains(kept), "{kept} not in {text}");
        }
        assert_eq!(recording.exchanges[0].url, "https://site.example/x?key=KEY");
        assert_eq!(recording.exchanges[1].url, "https://site.example/next?t=scrubbed-token-1");
        let kinds = ["IP addresses", "cookies", "email addresses", "keys", "tokens and session ids"];
        assert_eq!(recording.scrubbed, kinds);
    }

    #[test]
    fn the_addresses_of_a_domain_are_kept() {
        let recording =
            scrubbed("domain", "site.example", r#"{"a": "203.0.113.7", "mail": "info@site.example"}"#);
        assert!(recording.to_text().unwrap().contains("203.0.113.7"));
        assert_eq!(recording.scrubbed, ["cookies", "keys"]);
    }
}
