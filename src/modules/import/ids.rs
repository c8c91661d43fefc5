//! Ids for foreign entries: one rule, the same for every list.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

/// The most bytes of a name's part of an id.
const MAX_BYTES: usize = 48;

/// `Last.fm [FR]` is `last-fm-fr`: ASCII letters (accents off) and digits in lower case, one `-` for
/// whatever stands between them. Empty where nothing is left.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.nfkd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)) {
        if slug.len() >= MAX_BYTES {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// Gives each entry of a list an id of its own.
#[derive(Debug, Default)]
pub(super) struct Ids {
    given: HashSet<String>,
    last: HashMap<String, usize>,
}

impl Ids {
    /// `PREFIX.NAME`; the second one of a name gets `-2`, and so on, in the order of the list. A name
    /// without a letter or digit of ASCII takes the host's.
    pub(super) fn give(&mut self, prefix: &str, name: &str, host: &str) -> String {
        let name = [slug(name), slug(host)].into_iter().find(|slug| !slug.is_empty());
        let plain = format!("{prefix}.{}", name.as_deref().unwrap_or("site"));
        let mut id = plain.clone();
        while !self.given.insert(id.clone()) {
            let number = self.last.entry(plain.clone()).or_insert(1);
            *number += 1;
            id = format!("{plain}-{number}");
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_rule_makes_all_ids() {
        for (name, want) in [
            ("GitHub", "github"),
            ("Last.fm [FR]", "last-fm-fr"),
            ("{username}.tilda.ws", "username-tilda-ws"),
            ("Čsfd — Über", "csfd-uber"),
            ("Вконтакте", ""),
            ("--", ""),
            ("ﬁ①", "fi1"),
        ] {
            assert_eq!(slug(name), want, "{name}");
        }
        assert_eq!(slug(&"a-".repeat(60)).len(), 47);
    }

    #[test]
    fn ids_are_given_once_in_the_order_of_the_list() {
        let mut ids = Ids::default();
        let given: Vec<String> =
            ["A", "a-2", "a!", "A", "Ж", "ж", "Ж"].iter().map(|name| ids.give("x", name, "")).collect();
        assert_eq!(given, ["x.a", "x.a-2", "x.a-3", "x.a-4", "x.site", "x.site-2", "x.site-3"]);
        assert_eq!(ids.give("x", "Ж", "vk.com"), "x.vk-com");
    }

    proptest! {
        #[test]
        fn no_id_is_given_twice(names in prop::collection::vec("[ab](-[123])?|Ж|", 1..40)) {
            let mut ids = Ids::default();
            let given: std::collections::HashSet<String> =
                names.iter().map(|name| ids.give("x", name, "")).collect();
            prop_assert_eq!(given.len(), names.len());
        }
    }
}
