//! The Public Suffix List.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

/// The list as publicsuffix.org publishes it. A newer one only replaces the file.
const LIST: &str = include_str!("public_suffix_list.dat");
/// The line after which the rules are those of private owners.
const BEGIN_PRIVATE: &str = "// ===BEGIN PRIVATE DOMAINS===";

/// The part of the list that has a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// Suffixes of registries.
    Icann,
    /// Suffixes of others, such as `github.io`.
    Private,
}

/// The rules in the form of the DNS. That `*.ck` is a suffix means every name below `ck`, and `!www.ck` that this one is
/// none.
static RULES: LazyLock<HashMap<Cow<'static, str>, Section>> = LazyLock::new(|| {
    let (mut section, mut rules) = (Section::Icann, HashMap::new());
    for line in LIST.lines().map(str::trim) {
        if line == BEGIN_PRIVATE {
            section = Section::Private;
        }
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        let rule = match line.is_ascii() {
            true => line.into(),
            false => idna::domain_to_ascii(line).unwrap_or_default().into(),
        };
        rules.insert(rule, section);
    }
    rules
});

/// The end of a domain name under which names are registered.
pub(super) struct PublicSuffix<'a> {
    /// Such as `co.uk`, without a final dot. For an unknown top-level domain, the last label.
    pub(super) name: &'a str,
    /// The section of the list that has the suffix, or `None` for an unknown top-level domain.
    pub(super) section: Option<Section>,
}

impl<'a> PublicSuffix<'a> {
    /// Returns the suffix of a domain in lower case, which may end in a dot.
    pub(super) fn of(domain: &'a str) -> Option<Self> {
        let mut name = domain.strip_suffix('.').unwrap_or(domain);
        // The longest rule that fits.
        loop {
            let Some((_, parent)) = name.split_once('.') else {
                let section = RULES.get(name).copied();
                return (!name.is_empty()).then_some(Self { name, section });
            };
            if let section @ Some(_) = RULES.get(&*format!("!{name}")).copied() {
                return Some(Self { name: parent, section });
            }
            let below = || RULES.get(&*format!("*.{parent}"));
            if let section @ Some(_) = RULES.get(name).or_else(below).copied() {
                return Some(Self { name, section });
            }
            name = parent;
        }
    }
}

/// Returns the suffix of a domain with the label before it, such as `example.co.uk`. Returns `None` for a suffix alone.
pub(super) fn suffix_with_label(domain: &str) -> Option<&str> {
    let name = domain.strip_suffix('.').unwrap_or(domain);
    let before = name.strip_suffix(PublicSuffix::of(name)?.name)?.strip_suffix('.')?;
    let at = before.rfind('.').map_or(0, |dot| dot + 1);
    (at < before.len()).then_some(&name[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_gives_the_suffix() {
        for (domain, suffix, section, registrable) in [
            ("www.example.co.uk", "co.uk", Some(Section::Icann), Some("example.co.uk")),
            ("example.co.uk.", "co.uk", Some(Section::Icann), Some("example.co.uk")),
            ("co.uk", "co.uk", Some(Section::Icann), None),
            ("uk", "uk", Some(Section::Icann), None),
            ("a.b.github.io", "github.io", Some(Section::Private), Some("b.github.io")),
            ("a.b.c.ck", "c.ck", Some(Section::Icann), Some("b.c.ck")),
            ("a.www.ck", "ck", Some(Section::Icann), Some("www.ck")),
            ("ck", "ck", None, None),
            ("a.xn--55qx5d.cn", "xn--55qx5d.cn", Some(Section::Icann), Some("a.xn--55qx5d.cn")),
            ("a.unknown", "unknown", None, Some("a.unknown")),
            ("a..com", "com", Some(Section::Icann), None),
        ] {
            let found = PublicSuffix::of(domain).unwrap();
            assert_eq!((found.name, found.section), (suffix, section), "{domain}");
            assert_eq!(suffix_with_label(domain), registrable, "{domain}");
        }
        assert!(PublicSuffix::of("").is_none() && PublicSuffix::of(".").is_none());
    }
}
