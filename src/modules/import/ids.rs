//! Ids of imported entries, made by one rule for every list.

use std::collections::{HashMap, HashSet};

use unicode_normalization::UnicodeNormalization;

/// The maximum length of a name's part of an id, in bytes.
const MAX_BYTES: usize = 48;

/// Returns the part of an id for a name, such as `last-fm-fr` for `Last.fm [FR]`. ASCII letters (without
/// accents) and digits are kept in lower case, and everything between them becomes one `-`. The result is
/// empty if nothing is left.
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

/// Gives each entry of a list a unique id.
#[derive(Debug, Default)]
pub(super) struct Ids {
    given: HashSet<String>,
    last: HashMap<String, usize>,
}

impl Ids {
    /// Returns an id such as `PREFIX.NAME`. If a name is repeated, the second entry gets `-2`, and so on, in
    /// the order of the list. If the name has no ASCII letter or digit, the name of the host is used.
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
    fn all_ids_are_made_by_one_rule() {
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
    fn ids_are_assigned_in_the_order_of_the_list() {
        let mut ids = Ids::default();
        let given: Vec<String> =
            ["A", "a-2", "a!", "A", "Ж", "ж", "Ж"].iter().map(|name| ids.give("x", name, "")).collect();
        assert_eq!(given, ["x.a", "x.a-2", "x.a-3", "x.a-4", "x.site", "x.site-2", "x.site-3"]);
        assert_eq!(ids.give("x", "Ж", "vk.com"), "x.vk-com");
    }

    proptest! {
        #[test]
        fn ids_are_unique(names in prop::collection::vec("[ab](-[123])?|Ж|", 1..40)) {
            let mut ids = Ids::default();
            let given: std::collections::HashSet<String> =
                names.iter().map(|name| ids.give("x", name, "")).collect();
            prop_assert_eq!(given.len(), names.len());
        }
    }
}
